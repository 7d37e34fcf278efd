//! Waiting until a point in time.
//!
//! Invariant: a sleep is in its runtime's wheel only from a pending poll until it ends, is reset or is dropped.
//!
//! Cost: a sleep that is never polled has touched nothing that threads share. It has read the clock once if it was
//! created from a duration.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::loom::thread;
use crate::spans::poll_op;
use crate::task::activity::{WaitKind, note_wait};
use crate::task::coop;

use super::driver::{self, Driver, FollowUp, Missing, Timer, TimerState};
use super::instant::{FAR_FUTURE, Instant};
use super::span::SleepSpans;

// Each message begins as Tokio's, which users search for, and then says that the runtime is one of this crate.
const NO_RUNTIME: &str = "there is no reactor running, must be called from the context of a Tokio 1.x runtime: here of one of \
     pointsman, in a task, in `block_on` or under `Handle::enter`";
const NO_TIME: &str = "A Tokio 1.x context was found, but timers are disabled. \
                       Call `enable_time` on the runtime builder to enable timers. \
                       It is a runtime of pointsman";
const THREAD_ENDS: &str = "The Tokio context thread-local variable has been destroyed: \
                           this thread is ending, and has forgotten its runtime of pointsman";
const SHUT_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown. \
                         It is a runtime of pointsman";

/// Waits until `duration` has elapsed, counted from this call.
///
/// A sleep ends at the first whole millisecond of the runtime's clock at or after its deadline, never earlier. A
/// duration above about thirty years is shortened to that.
///
/// # Panics
/// If called outside of a runtime, or in one without time.
///
/// # Cancel safety
/// Cancel safe: dropping the future ends the wait, without further effect.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{Duration, Instant, sleep};
///
/// let start = Instant::now();
/// sleep(Duration::from_millis(5)).await;
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// # }
/// ```
#[inline]
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let now = Instant::now();
    Sleep::new(now + duration.min(FAR_FUTURE), Some(now))
}

/// Waits until `deadline`. See [`sleep`].
///
/// # Panics
/// If called outside of a runtime, or in one without time.
///
/// # Cancel safety
/// Cancel safe: dropping the future ends the wait, without further effect.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{Duration, Instant, sleep_until};
///
/// let deadline = Instant::now() + Duration::from_millis(5);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # }
/// ```
#[inline]
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline, None)
}

pin_project! {
    /// Future of [`sleep`] and [`sleep_until`].
    ///
    /// To poll it by reference, as `select!` in a loop does, pin it first. After it has ended it may be polled again
    /// and is ready, until it is [`reset`](Self::reset).
    ///
    /// # Panics
    /// If polled after its runtime has shut down, unless it was ready before.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, sleep};
    /// use std::pin::pin;
    ///
    /// let mut sleep = pin!(sleep(Duration::from_millis(1)));
    /// assert!(!sleep.is_elapsed());
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// # }
    /// ```
    #[must_use = "futures do nothing unless they are awaited"]
    pub struct Sleep {
        deadline: Instant,
        // When the sleep was created, if the clock was read for that. Taken when it is registered.
        created: Option<Instant>,
        // The id alone: a reference would have to be counted for each sleep.
        driver: u64,
        #[pin]
        timer: Timer,
        spans: SleepSpans,
    }

    impl PinnedDrop for Sleep {
        fn drop(this: Pin<&mut Self>) {
            if this.timer.state() == TimerState::Waiting {
                this.cancel();
            }
        }
    }
}

impl Sleep {
    #[inline]
    #[track_caller]
    pub(super) fn new(deadline: Instant, created: Option<Instant>) -> Self {
        let driver = match driver::current_id() {
            Ok(driver) => driver,
            Err(Missing::NoRuntime) => panic!("{NO_RUNTIME}"),
            Err(Missing::NoTime) => panic!("{NO_TIME}"),
            Err(Missing::ThreadEnds) => panic!("{THREAD_ENDS}"),
        };
        Self {
            deadline,
            created,
            driver,
            timer: Timer::new(),
            spans: SleepSpans::new(),
        }
    }

    /// Returns the instant at which the sleep ends or has ended.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, Instant, sleep_until};
    ///
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// # }
    /// ```
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the sleep has ended. False before the first poll, and before the first poll after a
    /// [`reset`](Self::reset). True also if the runtime has shut down while the sleep waited.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// let mut sleep = pin!(sleep(Duration::from_secs(1)));
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// sleep.as_mut().reset(Instant::now() + Duration::from_secs(1));
    /// assert!(!sleep.is_elapsed());
    /// # }
    /// ```
    pub fn is_elapsed(&self) -> bool {
        matches!(self.timer.state(), TimerState::Fired | TimerState::Closed)
    }

    /// Sets another deadline, whether the sleep has ended or not.
    ///
    /// A waiting task keeps waiting until the new deadline and need not poll again. Postponing a waiting sleep takes no
    /// lock, which suits a timeout that is restarted by each event.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// let start = Instant::now();
    /// let mut sleep = pin!(sleep(Duration::from_secs(1)));
    /// sleep.as_mut().reset(start + Duration::from_secs(5));
    /// sleep.await;
    /// assert_eq!(start.elapsed(), Duration::from_secs(5));
    /// # }
    /// ```
    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.as_mut().project().spans.reset(deadline);
        self.restart(deadline);
    }

    /// Like [`reset`](Self::reset), for the next tick of an interval.
    pub(super) fn restart(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        *this.created = None;
        let timer = this.timer.into_ref();
        match timer.state() {
            TimerState::Idle => {}
            TimerState::Fired | TimerState::Closed => timer.rewind(),
            TimerState::Waiting => {
                with_driver(*this.driver, |driver| driver.move_to(timer, deadline));
            }
        }
    }

    #[cold]
    fn cancel(self: Pin<&mut Self>) {
        let this = self.as_ref().project_ref();
        let found = with_driver(*this.driver, |driver| driver.cancel(this.timer));
        if found.is_none() {
            // The driver is being dropped, which removes all timers at this moment.
            while this.timer.state() == TimerState::Waiting {
                thread::yield_now();
            }
        }
    }
}

/// Runs `run` with the driver of this id, and performs its follow-up. Returns `None` if the driver is gone.
#[inline]
fn with_driver(id: u64, run: impl FnOnce(&Driver) -> FollowUp) -> Option<()> {
    match driver::with_driver(id, run)? {
        FollowUp::Nothing => {}
        FollowUp::Drop(waker) => drop(waker),
        FollowUp::Wake(waker) => waker.wake(),
        FollowUp::NotifyWaiter => driver::notify_waiter(id),
    }
    Some(())
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let timer = this.timer.into_ref();
        let _entered = this.spans.enter();
        let proceed = ready!(poll_op("poll_elapsed", coop::poll_proceed(cx)));
        match timer.state() {
            TimerState::Idle => {
                let (deadline, created, waker) =
                    (*this.deadline, this.created.take(), cx.waker().clone());
                this.spans.started(deadline);
                let found = with_driver(*this.driver, |driver| {
                    driver.register(timer, deadline, created, waker)
                });
                if found.is_none() {
                    panic!("{SHUT_DOWN}");
                }
            }
            TimerState::Waiting if !timer.wakes(cx.waker()) => {
                let waker = cx.waker().clone();
                with_driver(*this.driver, |driver| driver.replace_waker(timer, waker));
            }
            _ => {}
        }
        match timer.state() {
            TimerState::Idle | TimerState::Waiting => {
                let address = std::ptr::from_ref(timer.get_ref()).addr();
                note_wait(WaitKind::Timer, address, cx.waker());
                poll_op("poll_elapsed", Poll::Pending)
            }
            TimerState::Fired => {
                proceed.made_progress();
                poll_op("poll_elapsed", Poll::Ready(()))
            }
            TimerState::Closed => panic!("{SHUT_DOWN}"),
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sleep")
            .field("deadline", &self.deadline())
            .field("is_elapsed", &self.is_elapsed())
            .finish()
    }
}
