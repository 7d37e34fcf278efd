//! Waiting until a point in time.
//!
//! Invariant: a sleep is in its runtime's wheel only between a poll that was pending and its end, its
//! reset or its drop.
//!
//! Cost: a sleep that is never polled has read the clock once, if it is made of a duration, and has touched
//! nothing that threads share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::loom::thread;
use crate::task::coop;

use super::driver::{self, Driver, Missing, State, Then, Timer};
use super::instant::{FAR, Instant};

// Each begins as Tokio says it, for those who look for that, and goes on with which runtime is meant.
const NO_RUNTIME: &str = "there is no reactor running, must be called from the context of a Tokio 1.x runtime: here of one of \
     pointsman, in a task, in `block_on` or under `Handle::enter`";
const NO_TIME: &str = "A Tokio 1.x context was found, but timers are disabled. \
                       Call `enable_time` on the runtime builder to enable timers. \
                       It is a runtime of pointsman";
const THREAD_ENDS: &str = "The Tokio context thread-local variable has been destroyed: \
                           this thread is ending, and has forgotten its runtime of pointsman";
const SHUT_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown. \
                         It is a runtime of pointsman";

/// Waits for `duration`, counted from this call.
///
/// Time is kept in milliseconds: a sleep ends at the first whole millisecond of its runtime's clock that
/// is not before its deadline, and never before. More than about thirty years are taken for thirty years.
///
/// # Panics
/// Outside of a runtime, and in one without time.
///
/// # Cancel safety
/// Dropping it ends the wait, without further effect.
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
    Sleep::new(now + duration.min(FAR), Some(now))
}

/// Waits until `deadline`. See [`sleep`].
///
/// # Panics
/// Outside of a runtime, and in one without time.
///
/// # Cancel safety
/// Dropping it ends the wait, without further effect.
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
    /// To poll it by reference, as `select!` in a loop does, pin it first. It can be polled again after
    /// its end and is ready then, until it is [`reset`](Self::reset).
    ///
    /// # Panics
    /// If it is polled after its runtime has ended, and was not ready before.
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
        // When it was made, if the clock was read for that, until it is registered.
        made: Option<Instant>,
        // Its number alone: a reference would be counted for each sleep.
        driver: u64,
        #[pin]
        timer: Timer,
    }

    impl PinnedDrop for Sleep {
        fn drop(this: Pin<&mut Self>) {
            if this.timer.state() == State::Waiting {
                this.cancel();
            }
        }
    }
}

impl Sleep {
    #[inline]
    #[track_caller]
    pub(super) fn new(deadline: Instant, made: Option<Instant>) -> Self {
        let driver = match driver::current_id() {
            Ok(driver) => driver,
            Err(Missing::NoRuntime) => panic!("{NO_RUNTIME}"),
            Err(Missing::NoTime) => panic!("{NO_TIME}"),
            Err(Missing::ThreadEnds) => panic!("{THREAD_ENDS}"),
        };
        Self {
            deadline,
            made,
            driver,
            timer: Timer::new(),
        }
    }

    /// When the wait ends or has ended.
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

    /// Whether the wait has ended. False before the first poll, and before the first poll after a
    /// [`reset`](Self::reset). True also if the runtime has ended while it waited.
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
        matches!(self.timer.state(), State::Fired | State::Closed)
    }

    /// Changes when the wait ends, whether it has ended already or not.
    ///
    /// A task that waits for it goes on waiting, until the new deadline: it need not poll again. To put a
    /// waiting sleep off takes no lock, so that this suits a timeout that every event starts anew.
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
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        *this.made = None;
        let timer = this.timer.into_ref();
        match timer.state() {
            State::Idle => {}
            State::Fired | State::Closed => timer.rewind(),
            State::Waiting => {
                with_driver(*this.driver, |driver| driver.move_to(timer, deadline));
            }
        }
    }

    fn register(self: Pin<&mut Self>, waker: &Waker) {
        let this = self.project();
        let timer = this.timer.into_ref();
        let (deadline, made, waker) = (*this.deadline, this.made.take(), waker.clone());
        let found = with_driver(*this.driver, |driver| {
            driver.register(timer, deadline, made, waker)
        });
        if found.is_none() {
            panic!("{SHUT_DOWN}");
        }
    }

    /// Takes the timer out of the wheel.
    #[cold]
    fn cancel(self: Pin<&mut Self>) {
        let this = self.as_ref().project_ref();
        let found = with_driver(*this.driver, |driver| driver.cancel(this.timer));
        if found.is_none() {
            // A driver that goes takes out all timers, and does so now.
            while this.timer.state() == State::Waiting {
                thread::yield_now();
            }
        }
    }
}

/// Runs `run` with the driver of this number, and does what it leaves to be done. `None` if the driver is gone.
#[inline]
fn with_driver(id: u64, run: impl FnOnce(&Driver) -> Then) -> Option<()> {
    match driver::with_driver(id, run)? {
        Then::Nothing => {}
        Then::Drop(waker) => drop(waker),
        Then::Wake(waker) => waker.wake(),
        Then::Tell => driver::tell(id),
    }
    Some(())
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let proceed = ready!(coop::poll_proceed(cx));
        let waker = cx.waker();
        match self.timer.state() {
            State::Idle => self.as_mut().register(waker),
            State::Waiting if !self.timer.wakes(waker) => {
                let this = self.as_ref().project_ref();
                let waker = waker.clone();
                with_driver(*this.driver, |driver| {
                    driver.replace_waker(this.timer, waker)
                });
            }
            _ => {}
        }
        match self.timer.state() {
            State::Idle | State::Waiting => Poll::Pending,
            State::Fired => {
                proceed.made_progress();
                Poll::Ready(())
            }
            State::Closed => panic!("{SHUT_DOWN}"),
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
