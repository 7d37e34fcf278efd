#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

// So that what the macros write means this crate, also in its own tests.
extern crate self as pointsman;

#[macro_use]
mod loom;
mod context;
mod list;
#[doc(hidden)]
pub mod macros;
mod park;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;
mod wake_batch;

pub use pointsman_macros::{main, test};
#[doc(inline)]
pub use task::spawn;

/// The examples of the guides, which are run as those of the crate are.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/runtime.md")]
    mod runtime {}
}
