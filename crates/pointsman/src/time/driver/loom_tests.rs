use std::future::poll_fn;
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

use super::*;

struct NoopWaiter;

impl Waiter for NoopWaiter {
    fn timer_is_earlier(&self) {}
}

fn unpausable() -> Arc<Driver> {
    Driver::unpausable(1, Weak::<NoopWaiter>::new())
}

fn finish(then: FollowUp) {
    if let FollowUp::Wake(waker) = then {
        waker.wake();
    }
}

/// Registers the timer at the first poll, as a sleep does, and waits until it has ended.
async fn wait(driver: &Driver, timer: Pin<&Timer>, tick: u64) -> TimerState {
    poll_fn(|cx| {
        match timer.state() {
            TimerState::Idle => match driver.register_tick(timer, tick, 0, cx.waker().clone()) {
                FollowUp::NotifyWaiter => driver.notify_waiter(),
                then => finish(then),
            },
            TimerState::Waiting if !timer.wakes(cx.waker()) => {
                finish(driver.replace_waker(timer, cx.waker().clone()));
            }
            _ => {}
        }
        match timer.state() {
            TimerState::Idle | TimerState::Waiting => Poll::Pending,
            end => Poll::Ready(end),
        }
    })
    .await
}

impl Driver {
    /// For models of a driver's waiters. No time passes in a model, so the driver was started an hour ago.
    pub(crate) fn of_model(waiter: Weak<dyn Waiter>) -> Arc<Self> {
        let clock = Clock::real();
        Arc::new(Self {
            id: current::next_id(),
            waiter,
            start: clock.now() - Duration::from_secs(3600),
            clock,
            next: AtomicU64::new(NEVER),
            is_closed: AtomicBool::new(false),
            shards: Box::new([Shard(Mutex::new(Wheel::new()))]),
        })
    }

    /// Registers a timer that is due, and waits until it is fired.
    pub(crate) async fn wait_for_one_that_is_due(&self) {
        let timer = Box::pin(Timer::new());
        assert_eq!(wait(self, timer.as_ref(), 1).await, TimerState::Fired);
    }
}

fn model(run: impl Fn() + Sync + Send + 'static) {
    loom::model(run);
}

#[test]
fn a_registered_timer_is_fired() {
    model(|| {
        let driver = unpausable();
        let other = driver.clone();
        let firing = thread::spawn(move || {
            other.fire_until(5);
        });
        let timer = Box::pin(Timer::new());
        // Registered either before the wheel has reached 5, or afterwards and fired at once.
        assert_eq!(
            block_on(wait(&driver, timer.as_ref(), 5)),
            TimerState::Fired
        );
        firing.join().unwrap();
    });
}

#[test]
fn a_cancelled_timer_is_not_accessed() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        if timer.state() == TimerState::Waiting {
            finish(driver.cancel(timer.as_ref()));
        }
        timer.wipe();
        firing.join().unwrap();
    });
}

#[test]
fn a_timer_that_is_postpone_fires_at_its_new_tick_only() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        let is_postpone = timer.postpone(9);
        firing.join().unwrap();
        if is_postpone {
            assert_eq!(timer.state(), TimerState::Waiting);
            driver.fire_until(8);
            assert_eq!(timer.state(), TimerState::Waiting);
            driver.fire_until(9);
        }
        assert_eq!(timer.state(), TimerState::Fired);
    });
}

#[test]
fn a_timer_moved_to_an_earlier_tick_is_fired_or_idle() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 9, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(9));
        finish(driver.move_to_tick(timer.as_ref(), 7, 0));
        firing.join().unwrap();
        assert_ne!(timer.state(), TimerState::Waiting);
    });
}

#[test]
fn the_last_waker_is_woken() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        assert_eq!(
            block_on(wait(&driver, timer.as_ref(), 5)),
            TimerState::Fired
        );
        firing.join().unwrap();
    });
}

#[test]
fn concurrent_firing_does_not_fire_twice() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        driver.fire_until(5);
        assert_eq!(timer.state(), TimerState::Fired);
        firing.join().unwrap();
    });
}

#[test]
fn shutdown_wakes_a_timer_registered_concurrently() {
    model(|| {
        let driver = unpausable();
        let other = driver.clone();
        let closing = thread::spawn(move || other.shutdown());
        let timer = Box::pin(Timer::new());
        assert_eq!(
            block_on(wait(&driver, timer.as_ref(), 5)),
            TimerState::Closed
        );
        closing.join().unwrap();
    });
}

#[test]
fn a_fired_timer_may_be_freed_without_the_lock() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        while timer.state() == TimerState::Waiting {
            thread::yield_now();
        }
        timer.wipe();
        firing.join().unwrap();
    });
}

#[test]
fn a_sleeping_waiter_is_notified_of_an_earlier_timer() {
    model(|| {
        let driver = Driver::unpausable(2, Weak::<NoopWaiter>::new());
        let first = Box::pin(Timer::new());
        finish(driver.register_tick(first.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        let other = driver.clone();
        let registering = thread::spawn(move || {
            let second = Box::pin(Timer::new());
            second.set_shard(1);
            let then = other.register_tick(second.as_ref(), 9, 0, Waker::noop().clone());
            (second, matches!(then, FollowUp::NotifyWaiter))
        });
        let sleeps_until = driver.next.load(Ordering::Relaxed);
        let (second, is_notified) = registering.join().unwrap();
        firing.join().unwrap();
        assert!(sleeps_until <= 9 || is_notified);
        assert_eq!(driver.next.load(Ordering::Relaxed), 9);
        finish(driver.cancel(second.as_ref()));
    });
}
