//! The runtime: runs tasks, drives timers and I/O, and runs blocking work on a thread pool.
//!
//! ```
//! let runtime = pointsman::runtime::Runtime::new()?;
//! let sum = runtime.block_on(async {
//!     let task = pointsman::spawn(async { 1 + 1 });
//!     task.await.unwrap()
//! });
//! assert_eq!(sum, 2);
//! # Ok::<_, std::io::Error>(())
//! ```

// From the lowest layer to the highest: `driver` and `blocking` know nothing of the scheduler, and the scheduler knows
// nothing of `Handle`.
mod config;
mod counter;
mod error;
mod histogram;
mod hooks;
mod id;
mod inject;
mod random;

mod blocking;
pub(crate) mod driver;
#[cfg(feature = "diagnostics")]
pub mod dump;

mod scheduler;

#[cfg(feature = "diagnostics")]
mod stall;

mod builder;
mod handle;
mod local;
mod metrics;
#[expect(clippy::module_inception, reason = "the file of its main type")]
mod runtime;
pub(crate) mod task;

pub(crate) use blocking::Refused;
pub use builder::Builder;
#[cfg(feature = "diagnostics")]
pub use dump::Dump;
#[cfg(any(feature = "reactor", feature = "fs", feature = "io-std"))]
pub(crate) use error::shutdown_error;
pub use error::{TryCurrentError, is_rt_shutdown_err};
pub use handle::{EnterGuard, Handle, RuntimeFlavor};
pub use histogram::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram,
    LogHistogramBuilder,
};
pub use hooks::{TaskMeta, UnhandledPanic};
pub use id::Id;
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use random::RngSeed;
#[cfg(feature = "test-util")]
pub(crate) use random::mix;
pub use runtime::Runtime;
#[cfg(feature = "diagnostics")]
pub use stall::{StackFrame, Stall, StallKind};

/// Returns the index, from 0, of the worker that runs on this thread. In a current-thread runtime it is 0 for the thread
/// that runs the tasks. After an `.await` a task may run on another worker.
///
/// Returns `None` in the `block_on` of a multi-thread runtime, in blocking work including
/// [`block_in_place`](crate::task::block_in_place), and on threads without a runtime. After `block_in_place` a task whose
/// worker was replaced gets `None` until its next `.await`.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(pointsman::runtime::worker_index(), Some(0));
/// # }
/// ```
pub fn worker_index() -> Option<usize> {
    scheduler::context::with_current(|shared| shared.worker_index()).flatten()
}
