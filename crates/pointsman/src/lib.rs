//! Coordination for concurrent work: an async runtime with its own scheduler, timers, blocking pool and
//! synchronization, whose names and behaviour are those of Tokio.

#![cfg_attr(docsrs, feature(doc_cfg))]

// So that what the macros write means this crate, also in its own tests.
extern crate self as pointsman;

#[macro_use]
mod loom;
mod list;
#[doc(hidden)]
pub mod macros;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;

pub use pointsman_macros::{main, test};
#[doc(inline)]
pub use task::spawn;
