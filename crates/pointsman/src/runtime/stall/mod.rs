//! Reports of stalls: polls that do not return, and the work that they block.
//!
//! One thread per process, the [`monitor`], checks all runtimes a few times a second while any of them works, and
//! sleeps while none does. It only reports; the [watchdog](super::scheduler) of a multi-thread runtime makes other
//! threads run the tasks behind a stuck one.
//!
//! Cost: a store per poll and a load when a worker wakes up. Nothing without the feature `diagnostics`.

mod monitor;
mod stack;
mod text;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(all(unix, feature = "net"))]
pub(super) use self::monitor::polls_since;
pub(super) use self::monitor::{arm, forget, is_armed, register};
use self::stack::Stack;
pub use self::stack::StackFrame;
#[cfg(feature = "stall-backtrace")]
pub(super) use self::stack::this_thread;
use super::dump::Task;

/// The default of [`Builder::stall_threshold`](super::Builder::stall_threshold).
const DEFAULT_THRESHOLD: Duration = Duration::from_secs(1);

/// The environment variable that sets the threshold of all runtimes, or turns their reports off.
const VARIABLE: &str = "POINTSMAN_STALL";

/// A hook that is called with each stall.
pub(super) type StallHook = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The part of a runtime's configuration that concerns stalls.
#[derive(Clone)]
pub(super) struct StallConfig {
    /// Zero turns the reports off.
    pub(super) threshold: Duration,
    pub(super) hook: Option<StallHook>,
}

impl Default for StallConfig {
    fn default() -> Self {
        Self {
            threshold: DEFAULT_THRESHOLD,
            hook: None,
        }
    }
}

impl StallConfig {
    /// Applies the environment variable, which has precedence over the builder. An empty value counts as none: shells and
    /// container managers set it for a variable without a value.
    #[track_caller]
    pub(super) fn with_environment(mut self) -> Self {
        if let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            self.threshold = value.to_str().and_then(parse).unwrap_or_else(|| {
                panic!(
                    "\"{VARIABLE}\" must be `off` or a time such as `500ms` or `2s`, not {value:?}"
                )
            });
        }
        self
    }
}

/// Parses the environment variable. `off` is zero.
fn parse(value: &str) -> Option<Duration> {
    if value == "off" || value == "0" {
        return Some(Duration::ZERO);
    }
    let unit_at = value.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = value.split_at(unit_at);
    let number = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// A part of a runtime that makes no progress, passed to the hook of [`Builder::on_stall`](super::Builder::on_stall).
/// [`Display`](fmt::Display) formats the report that is printed without a hook: a line, and the stack if it is known.
#[derive(Debug)]
pub struct Stall {
    kind: StallKind,
    runtime: Option<Arc<str>>,
    duration: Duration,
    worker: Option<usize>,
    task: Option<Task>,
    waiting: usize,
    stack: Stack,
}

/// The part of a runtime that makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StallKind {
    /// The poll of a task does not return.
    Task,
    /// The poll of the future of `block_on` does not return, in a current-thread runtime.
    BlockOn,
    /// A worker does not return from a hook, from a waker that a timer or the I/O driver calls, or from the system.
    Worker,
    /// All threads of the blocking pool are busy, and none has taken a waiting function.
    BlockingPool,
    /// A timer is due, and no thread fires it.
    Timer,
    /// I/O events wait, and no thread polls for them, for example because a waker that the last poll called does not
    /// return. Not reported on Windows.
    Io,
    /// A task was spawned on a current-thread runtime while no thread was in its `block_on`, and none has been there for
    /// ten times the threshold. Tasks and timers that `block_on` leaves behind are not reported: they continue in the
    /// next call.
    Unattended,
}

impl Stall {
    fn new(kind: StallKind, runtime: Option<Arc<str>>, duration: Duration) -> Self {
        Self {
            kind,
            runtime,
            duration,
            worker: None,
            task: None,
            waiting: 0,
            stack: Stack::default(),
        }
    }

    /// Returns the part of the runtime that makes no progress.
    #[must_use]
    pub fn kind(&self) -> StallKind {
        self.kind
    }

    /// Returns the name of the runtime, which [`Builder::name`](super::Builder::name) sets.
    #[must_use]
    pub fn runtime(&self) -> Option<&str> {
        self.runtime.as_deref()
    }

    /// Returns how long there has been no progress, at least.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns the index of the worker that does not return.
    #[must_use]
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// Returns the task whose poll does not return.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns the number of tasks that are queued at the worker, or of functions that wait for a thread.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the stack of the thread that does not return, from the function that it runs to the one that the poll
    /// called. Includes functions that the compiler inlined.
    ///
    /// Empty without the feature `stall-backtrace`, on systems other than Linux on x86-64 and AArch64, and if the
    /// thread does not answer a signal. The first call looks the names up, which reads the debug information of the
    /// program.
    #[must_use]
    pub fn stack(&self) -> &[StackFrame] {
        self.stack.frames()
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_variable_has_a_unit_or_is_off() {
        for (value, expected) in [
            ("off", Some(Duration::ZERO)),
            ("0", Some(Duration::ZERO)),
            ("500ms", Some(Duration::from_millis(500))),
            ("2s", Some(Duration::from_secs(2))),
            ("2", None),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("1 s", None),
            ("1m", None),
            ("99999999999999999999s", None),
        ] {
            assert_eq!(parse(value), expected, "{value}");
        }
    }
}
