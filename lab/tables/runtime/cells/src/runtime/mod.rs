//! The measured runtime, selected by a feature, behind common names.

#[cfg(any(
    all(feature = "pointsman-plain", feature = "tokio"),
    all(feature = "pointsman-plain", feature = "nio"),
    all(feature = "tokio", feature = "nio"),
    not(any(feature = "pointsman-plain", feature = "tokio", feature = "nio")),
))]
compile_error!("expected exactly one of the features pointsman, pointsman-plain, tokio, nio");

#[cfg(feature = "nio")]
mod nio;
#[cfg(feature = "nio")]
pub(crate) use self::nio::*;

#[cfg(not(feature = "nio"))]
mod tokio;
#[cfg(not(feature = "nio"))]
pub(crate) use self::tokio::*;

#[cfg(feature = "pointsman-plain")]
pub(crate) use ::pointsman as subject;
#[cfg(feature = "tokio")]
pub(crate) use ::tokio as subject;

/// The purpose of a runtime, where the document builds it accordingly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The main thread waits inside `block_on`.
    Inside,
    /// The main thread spawns tasks from outside, and waits outside too.
    Outside,
    /// The document builds a different runtime for its timers.
    Timers,
}

/// Returns the value of a task that must not fail.
pub(crate) async fn joined<T>(handle: JoinHandle<T>) -> T {
    handle.await.expect("no task is cancelled")
}
