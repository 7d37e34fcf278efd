//! The runtime: runs tasks, fires timers, and takes blocking work elsewhere.
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

mod blocking;
mod builder;
pub(crate) mod context;
pub(crate) mod driver;
mod handle;
mod inject;
mod local;
mod metrics;
#[expect(clippy::module_inception, reason = "the file of its main type")]
mod runtime;
mod scheduler;
pub(crate) mod task;

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::loom::thread;

pub(crate) use blocking::Refused;
pub use builder::Builder;
pub use handle::{EnterGuard, Handle};
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use runtime::Runtime;

/// What kind of runtime it is.
///
/// ```
/// use pointsman::runtime::{Builder, RuntimeFlavor};
///
/// let runtime = Builder::new_multi_thread().build()?;
/// assert_eq!(runtime.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// Tasks run in the thread that blocks on a future.
    CurrentThread,
    /// Tasks run in several threads.
    MultiThread,
}

/// The number of a runtime, as [`Handle::id`] gives it. No other runtime of the process has or had it.
///
/// ```
/// # use pointsman::runtime::Handle;
/// # #[pointsman::main] async fn main() {
/// let id = Handle::current().id();
/// let task = pointsman::spawn(async { Handle::current().id() });
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

impl Id {
    /// One that no runtime has.
    pub(crate) fn unused() -> Self {
        Self(Self::next())
    }

    fn next() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Relaxed)
    }

    fn new(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which worker this thread is, from 0 on. In a runtime of the current thread it is 0, for whoever runs the tasks.
/// A task may run in another worker after an await.
///
/// `None` in a `block_on` of a runtime of several threads, in blocking work, also in
/// [`block_in_place`](crate::task::block_in_place), and in threads without a runtime. A task that comes back from
/// `block_in_place` and whose worker was replaced meanwhile gets `None` until its next await.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(pointsman::runtime::worker_index(), Some(0));
/// # }
/// ```
pub fn worker_index() -> Option<usize> {
    context::with_current(|handle| handle.shared.worker_index()).flatten()
}

/// There is no current runtime.
///
/// ```
/// let error = pointsman::runtime::Handle::try_current().unwrap_err();
/// assert!(error.to_string().contains("no reactor running"));
/// ```
#[derive(Debug)]
pub struct TryCurrentError {
    is_thread_ending: bool,
}

impl TryCurrentError {
    /// Why there is none in this thread.
    pub(crate) fn now() -> Self {
        Self {
            is_thread_ending: context::is_thread_ending(),
        }
    }

    /// Whether no runtime was entered.
    ///
    /// ```
    /// let error = pointsman::runtime::Handle::try_current().unwrap_err();
    /// assert!(error.is_missing_context());
    /// ```
    pub fn is_missing_context(&self) -> bool {
        !self.is_thread_ending
    }

    /// Whether the thread is ending, and has forgotten its runtime.
    ///
    /// ```
    /// let error = pointsman::runtime::Handle::try_current().unwrap_err();
    /// assert!(!error.is_thread_local_destroyed());
    /// ```
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.is_thread_ending
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each begins as Tokio says it, for those who look for that.
        f.write_str(match self.is_thread_ending {
            false => {
                "there is no reactor running, must be called from the context of a Tokio 1.x runtime: here \
                 of one of pointsman"
            }
            true => {
                "The Tokio context thread-local variable has been destroyed: it was of pointsman"
            }
        })
    }
}

impl std::error::Error for TryCurrentError {}

/// What I/O gives once its runtime has ended.
#[derive(Debug)]
struct ShutdownError;

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("A Tokio 1.x context was found, but it is being shutdown. It is of pointsman")
    }
}

impl std::error::Error for ShutdownError {}

#[cfg(any(feature = "reactor", feature = "fs", feature = "io-std"))]
pub(crate) fn shutdown_error() -> io::Error {
    io::Error::other(ShutdownError)
}

/// Whether an operation of I/O has failed because its runtime has ended, or is ending.
///
/// ```
/// # #[cfg(feature = "net")] {
/// use pointsman::net::TcpListener;
/// use pointsman::runtime::{Runtime, is_rt_shutdown_err};
///
/// let (one, other) = (Runtime::new()?, Runtime::new()?);
/// let listener = one.block_on(TcpListener::bind("127.0.0.1:0"))?;
/// drop(one);
/// let error = other.block_on(listener.accept()).unwrap_err();
/// assert!(is_rt_shutdown_err(&error));
/// # }
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn is_rt_shutdown_err(err: &io::Error) -> bool {
    err.get_ref()
        .is_some_and(|error| error.is::<ShutdownError>())
}

/// Starts a thread of a runtime.
fn start_thread(
    handle: &Handle,
    run: impl FnOnce(&Handle) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let config = &handle.shared.config;
    let mut builder = thread::Builder::new().name((config.thread_name)());
    if let Some(bytes) = config.thread_stack_size {
        builder = builder.stack_size(bytes);
    }
    let handle = handle.clone();
    builder.spawn(move || {
        let config = &handle.shared.config;
        let current = context::set_current(&handle);
        if let Some(start) = &config.on_thread_start {
            // It is counted on already: jobs wait for it, and so does the end of the runtime.
            let _ = catch_unwind(AssertUnwindSafe(|| start()));
        }
        run(&handle);
        if let Some(stop) = &config.on_thread_stop {
            stop();
        }
        drop(current);
    })
}

/// Whether a thread has ended by then.
#[cfg(not(all(test, loom)))]
fn wait_for(worker: &thread::JoinHandle<()>, until: Instant) -> bool {
    let mut pause = std::time::Duration::from_micros(10);
    loop {
        if worker.is_finished() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(std::time::Duration::from_millis(5));
    }
}

/// As above. No time passes in models.
#[cfg(all(test, loom))]
fn wait_for(_: &thread::JoinHandle<()>, _: Instant) -> bool {
    false
}
