//! The clock of a runtime: the operating system's, or one that a test holds and moves.
//!
//! Invariant: a clock that was never paused shows the operating system's time, and none ever goes
//! backwards. As long as no clock of the process was ever paused, asking for the time costs one relaxed
//! load more than asking the operating system.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::loom::lock;
use crate::loom::sync::Mutex;

use super::Instant;
use super::driver::{self, Driver};

/// Set before the first clock is paused, never cleared. Not loom's: it is a static, and only tells
/// whether the lock of a clock has to be taken.
static ANY_CLOCK_WAS_PAUSED: AtomicBool = AtomicBool::new(false);

// The messages are Tokio's: tests expect panics by their message.
const NO_CLOCK: &str = "time cannot be frozen from outside the Tokio runtime";
pub(crate) const CANNOT_PAUSE: &str = "`time::pause()` requires the `current_thread` Tokio runtime. \
                                       This is the default Runtime used by `#[tokio::test].";
const IS_PAUSED: &str = "time is already frozen";
const IS_RUNNING: &str = "time is not frozen";
const TOO_FAR: &str = "overflow when adding duration to instant";

/// Whether all clocks show the operating system's time. Who pauses a clock does so in its own runtime's
/// only thread, so that this needs no ordering.
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
    face: Mutex<Face>,
}

#[derive(Debug)]
struct Face {
    /// What the clock showed when it was last started, stopped or moved.
    shown: std::time::Instant,
    /// When it was last started; `None` while it is paused.
    running_since: Option<std::time::Instant>,
}

impl Face {
    fn now(&self) -> std::time::Instant {
        match self.running_since {
            Some(start) => self.shown + start.elapsed(),
            None => self.shown,
        }
    }
}

impl Clock {
    /// A clock that shows the operating system's time for ever.
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
            face: Mutex::new(Face {
                shown: now,
                running_since: Some(now),
            }),
        }
    }

    pub(super) fn now(&self) -> Instant {
        if !self.can_pause || all_are_real() {
            return Instant::from_std(std::time::Instant::now());
        }
        Instant::from_std(lock(&self.face).now())
    }

    pub(super) fn is_paused(&self) -> bool {
        self.can_pause && !all_are_real() && lock(&self.face).running_since.is_none()
    }

    fn pause(&self) -> Result<(), &'static str> {
        if !self.can_pause {
            return Err(CANNOT_PAUSE);
        }
        ANY_CLOCK_WAS_PAUSED.store(true, Ordering::Relaxed);
        let mut face = lock(&self.face);
        if face.running_since.is_none() {
            return Err(IS_PAUSED);
        }
        face.shown = face.now();
        face.running_since = None;
        Ok(())
    }

    fn resume(&self) -> Result<(), &'static str> {
        let mut face = lock(&self.face);
        if face.running_since.is_some() {
            return Err(IS_RUNNING);
        }
        face.running_since = Some(std::time::Instant::now());
        Ok(())
    }

    /// Moves a paused clock forward.
    pub(super) fn advance(&self, duration: Duration) -> Result<(), &'static str> {
        let mut face = lock(&self.face);
        if face.running_since.is_some() {
            return Err(IS_RUNNING);
        }
        face.shown = face.shown.checked_add(duration).ok_or(TOO_FAR)?;
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

/// Stops the clock of the current runtime, for tests.
///
/// [`Instant::now`] shows the same time from then on, until [`advance`] moves the clock or [`resume`]
/// starts it again. `std`'s clock is not touched. A runtime whose clock is to be paused from the start
/// is built with `start_paused = true`.
///
/// If all tasks wait, and nothing else could wake one of them, the clock jumps to the deadline of the
/// next timer. So a test that sleeps for an hour takes no time, and always measures the same.
///
/// # Panics
/// Outside of a runtime, in one without time, in one of the `multi_thread` flavor, and if the clock is
/// paused already.
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

/// Starts the paused clock of the current runtime again, at the time that it shows.
///
/// # Panics
/// Outside of a runtime, in one without time, and if the clock is not paused.
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

/// Moves the paused clock of the current runtime forward, fires all timers that are due by then, in the
/// order of their deadlines, and lets other tasks run once.
///
/// The clock makes one jump: all these tasks see the new time. It does not wait until they have done
/// their work. To let each timer happen at its own time, [`sleep`](super::sleep()) instead.
///
/// # Panics
/// Outside of a runtime, in one without time, if the clock is not paused, and if it cannot show a time so
/// far away.
///
/// # Cancel safety
/// The clock has moved once this was polled, whether it is dropped then or not.
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
