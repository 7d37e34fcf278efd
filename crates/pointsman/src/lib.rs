#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// An internal feature: the items that need it name the public features that enable it.
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature, values("reactor")))))]
// Some internal items are used only with certain features.
#![cfg_attr(
    not(all(feature = "full", feature = "diagnostics")),
    allow(dead_code, unused_imports)
)]

// The same check as Tokio's. Dependencies that do not build there are excluded, so that this is the first error.
#[cfg(all(
    target_family = "wasm",
    any(
        feature = "net",
        feature = "process",
        feature = "signal",
        all(not(target_os = "emscripten"), any(feature = "fs", feature = "io-std"))
    )
))]
compile_error!("Only features sync,macros,io-util,rt,time are supported on wasm.");

// The macros expand to paths of this crate, which must also resolve in its own tests.
extern crate self as pointsman;

#[macro_use]
mod loom;
#[macro_use]
mod spans;
#[cfg(feature = "reactor")]
mod atomic_waker;
mod context;
#[cfg(feature = "fs")]
pub mod fs;
pub mod io;
mod list;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "net")]
pub mod net;
mod park;
#[cfg(all(unix, feature = "net"))]
mod peer;
#[cfg(feature = "process")]
pub mod process;
pub mod runtime;
#[cfg(feature = "signal")]
pub mod signal;
/// Child processes use the signal driver without the public module.
#[cfg(all(unix, feature = "process", not(feature = "signal")))]
mod signal;
pub mod sync;
pub mod task;
#[cfg(feature = "test-util")]
pub mod test_util;
pub mod time;
mod wake_batch;

pub use pointsman_macros::{main, test};
#[doc(inline)]
pub use task::spawn;
