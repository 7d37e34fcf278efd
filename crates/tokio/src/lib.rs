#![doc = include_str!("../README.md")]

// `pointsman` reports its own unsupported features in the same way.
#[cfg(all(
    target_family = "wasm",
    not(target_os = "emscripten"),
    feature = "rt-multi-thread"
))]
compile_error!("Only features sync,macros,io-util,rt,time are supported on wasm.");

/// The runtime under its own name, which Tokio does not have: with `use tokio::pointsman as _;` a program does not
/// compile without the patch.
#[doc(no_inline)]
pub use pointsman;
pub use pointsman::*;
// Replaces those of `pointsman`: their code finds the runtime in this crate.
pub use pointsman_macros::{tokio_main as main, tokio_test as test};

/// The guides' examples, run as doc tests. They are included here because this package is not published: a published
/// package cannot include files outside of its folder.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../site/pages/home.md")]
    mod home {}
    #[doc = include_str!("../../../docs/runtime.md")]
    mod runtime {}
    #[doc = include_str!("../../../docs/runtime-diagnostics.md")]
    mod runtime_diagnostics {}
    #[doc = include_str!("../../../docs/how-to/deterministic-tests.md")]
    mod deterministic_tests {}
}
