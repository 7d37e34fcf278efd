//! The clock of a runtime: the operating system's, or a paused one that a test advances.
//!
//! Invariant: a clock that was never paused shows the operating system's time, and no clock goes backwards. While no
//! clock of the process was ever paused, reading the time costs one relaxed load more than reading the system's clock.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::loom::lock;
use crate::loom::sync::Mutex;

use super::Instant;
use super::driver::{self, Driver};

/// Set before the first clock is paused, never cleared. A std atomic, as loom's cannot be in a static; it only decides
/// whether a clock's lock must be taken.
static ANY_CLOCK_WAS_PAUSED: AtomicBool = AtomicBool::new(false);

// The messages are Tokio's: tests expect panics by their message.
const NO_CLOCK: &str = "time cannot be frozen from outside the Tokio runtime";
pub(crate) const CANNOT_PAUSE: &str = "`time::pause()` requires the `current_thread` Tokio runtime. \
                                       This is the default Runtime used by `#[tokio::test].";
const IS_PAUSED: &str = "time is already frozen";
const IS_RUNNING: &str = "time is not frozen";
const TOO_FAR: &str = "overflow when adding duration to instant";

/// Whether all clocks show the operating system's time. Needs no ordering: a clock is paused on the only thread of its
/// runtime, which then reads its own store.
#[inline(always)]
pub(super) fn all_are_real() -> bool {
    !ANY_CLOCK_WAS_PAUSED.load(Ordering::Relaxed)
}

#[inline(always)]
pub(super) fn now() -> Instant {
    if all_are_real() {
        Instant::from_std(std::time::Instant::now())
    } else {
        of_current_runtime()
    }
}

#[cold]
fn of_current_runtime() -> Instant {
    match driver::current() {
        Some(driver) => driver.clock().now(),
        None => Instant::from_std(std::time::Instant::now()),
    }
}

#[derive(Debug)]
pub(super) struct Clock {
    can_pause: bool,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    /// The time shown when the clock was last resumed, paused or advanced.
    shown: std::time::Instant,
    /// When the clock was last resumed; `None` while it is paused.
    running_since: Option<std::time::Instant>,
}

impl ClockState {
    fn now(&self) -> std::time::Instant {
        match self.running_since {
            Some(start) => self.shown + start.elapsed(),
            None => self.shown,
        }
    }
}

impl Clock {
    /// A clock that cannot be paused.
    pub(super) fn real() -> Self {
        Self::new(false)
    }

    pub(super) fn pausable(start_paused: bool) -> Self {
        let clock = Self::new(true);
        if start_paused {
            clock.pause().expect("a new clock runs");
        }
        clock
    }

    fn new(can_pause: bool) -> Self {
        let now = std::time::Instant::now();
        Self {
            can_pause,
            state: Mutex::new(ClockState {
                shown: now,
                running_since: Some(now),
            }),
        }
    }

    pub(super) fn now(&self) -> Instant {
        if !self.can_pause || all_are_real() {
            return Instant::from_std(std::time::Instant::now());
        }
        Instant::from_std(lock(&self.state).now())
    }

    pub(super) fn is_paused(&self) -> bool {
        self.can_pause && !all_are_real() && lock(&self.state).running_since.is_none()
    }

    fn pause(&self) -> Result<(), &'static str> {
        if !self.can_pause {
            return Err(CANNOT_PAUSE);
        }
        ANY_CLOCK_WAS_PAUSED.store(true, Ordering::Relaxed);
        let mut state = lock(&self.state);
        if state.running_since.is_none() {
            return Err(IS_PAUSED);
        }
        state.shown = state.now();
        state.running_since = None;
        Ok(())
    }

    fn resume(&self) -> Result<(), &'static str> {
        let mut state = lock(&self.state);
        if state.running_since.is_some() {
            return Err(IS_RUNNING);
        }
        state.running_since = Some(std::time::Instant::now());
        Ok(())
    }

    /// Advances a paused clock.
    pub(super) fn advance(&self, duration: Duration) -> Result<(), &'static str> {
        let mut state = lock(&self.state);
        if state.running_since.is_some() {
            return Err(IS_RUNNING);
        }
        state.shown = state.shown.checked_add(duration).ok_or(TOO_FAR)?;
        Ok(())
    }
}

#[track_caller]
fn with_current_driver(run: impl FnOnce(&Driver) -> Result<(), &'static str>) {
    let outcome = match driver::current() {
        Some(driver) => run(&driver),
        None => Err(NO_CLOCK),
    };
    if let Err(message) = outcome {
        panic!("{message}");
    }
}

/// Pauses the clock of the current runtime, for tests.
///
/// [`Instant::now`] returns the same time until [`advance`] moves the clock or [`resume`] resumes it. The clock of
/// `std` is not affected. To pause the clock from the start, build the runtime with `start_paused = true`.
///
/// When the runtime has nothing to do, the clock advances to the deadline of the next timer. A test that sleeps for an
/// hour thus takes no time and is deterministic.
///
/// # Panics
/// If called outside of a runtime, in one without time, in one of the `multi_thread` flavor, or if the clock is already
/// paused.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{self, Duration, Instant};
///
/// time::pause();
/// let start = Instant::now();
/// time::sleep(Duration::from_millis(500)).await;
/// assert!(start.elapsed() >= Duration::from_millis(500));
/// # }
/// ```
#[track_caller]
pub fn pause() {
    with_current_driver(|driver| driver.clock().pause());
}

/// Resumes the paused clock of the current runtime, at the time that it shows.
///
/// # Panics
/// If called outside of a runtime, in one without time, or if the clock is not paused.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{self, Instant};
///
/// let start = Instant::now();
/// time::resume();
/// while start.elapsed().is_zero() {
///     std::thread::yield_now();
/// }
/// # }
/// ```
#[track_caller]
pub fn resume() {
    with_current_driver(|driver| driver.clock().resume());
}

/// Advances the paused clock of the current runtime, fires all timers that are then due, in the order of their
/// deadlines, and yields once to other tasks.
///
/// The clock advances in one step: the woken tasks see the new time. `advance` does not wait until they have finished
/// their work. To fire each timer at its own time, use [`sleep`](super::sleep()) instead.
///
/// # Panics
/// If called outside of a runtime, in one without time, if the clock is not paused, or if the new time overflows.
///
/// # Cancel safety
/// The clock has advanced after the first poll, even if the future is then dropped.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{self, Duration, Instant};
///
/// let start = Instant::now();
/// time::advance(Duration::from_micros(1_500)).await;
/// assert_eq!(start.elapsed(), Duration::from_micros(1_500));
/// # }
/// ```
pub async fn advance(duration: Duration) {
    with_current_driver(|driver| {
        driver.clock().advance(duration)?;
        driver.fire();
        Ok(())
    });
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
