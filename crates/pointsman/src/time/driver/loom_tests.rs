use std::future::poll_fn;
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

use super::*;

struct Nobody;

impl Waiter for Nobody {
    fn timer_is_earlier(&self) {}
}

fn unpausable() -> Arc<Driver> {
    Driver::unpausable(1, Weak::<Nobody>::new())
}

/// Does what is left to be done.
fn finish(then: Then) {
    if let Then::Wake(waker) = then {
        waker.wake();
    }
}

/// Registers at the tick at first, as a sleep does, and waits for the end.
async fn wait(driver: &Driver, timer: Pin<&Timer>, tick: u64) -> State {
    poll_fn(|cx| {
        match timer.state() {
            State::Idle => match driver.register_tick(timer, tick, 0, cx.waker().clone()) {
                Then::Tell => driver.tell(),
                then => finish(then),
            },
            State::Waiting if !timer.wakes(cx.waker()) => {
                finish(driver.replace_waker(timer, cx.waker().clone()));
            }
            _ => {}
        }
        match timer.state() {
            State::Idle | State::Waiting => Poll::Pending,
            end => Poll::Ready(end),
        }
    })
    .await
}

impl Driver {
    /// For models of those who wait for timers. No time passes there, so it was started an hour ago.
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

    /// Registers a timer that is due, and waits until somebody has seen that.
    pub(crate) async fn wait_for_one_that_is_due(&self) {
        let timer = Box::pin(Timer::new());
        assert_eq!(wait(self, timer.as_ref(), 1).await, State::Fired);
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
        // Either before the wheel has come to 5, or at once.
        assert_eq!(block_on(wait(&driver, timer.as_ref(), 5)), State::Fired);
        firing.join().unwrap();
    });
}

#[test]
fn a_timer_that_goes_is_not_touched() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        if timer.state() == State::Waiting {
            finish(driver.cancel(timer.as_ref()));
        }
        timer.wipe();
        firing.join().unwrap();
    });
}

#[test]
fn a_timer_that_is_put_off_fires_at_its_new_tick_only() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        let is_put_off = timer.put_off(9);
        firing.join().unwrap();
        if is_put_off {
            assert_eq!(timer.state(), State::Waiting);
            driver.fire_until(8);
            assert_eq!(timer.state(), State::Waiting);
            driver.fire_until(9);
        }
        assert_eq!(timer.state(), State::Fired);
    });
}

#[test]
fn a_timer_that_is_moved_forward_is_fired_or_idle() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 9, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(9));
        finish(driver.move_to_tick(timer.as_ref(), 7, 0));
        firing.join().unwrap();
        assert_ne!(timer.state(), State::Waiting);
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
        assert_eq!(block_on(wait(&driver, timer.as_ref(), 5)), State::Fired);
        firing.join().unwrap();
    });
}

#[test]
fn two_that_fire_do_not_fire_twice() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        driver.fire_until(5);
        assert_eq!(timer.state(), State::Fired);
        firing.join().unwrap();
    });
}

#[test]
fn shutdown_wakes_what_is_registered_meanwhile() {
    model(|| {
        let driver = unpausable();
        let other = driver.clone();
        let closing = thread::spawn(move || other.shutdown());
        let timer = Box::pin(Timer::new());
        assert_eq!(block_on(wait(&driver, timer.as_ref(), 5)), State::Closed);
        closing.join().unwrap();
    });
}

#[test]
fn a_fired_timer_may_go_without_the_lock() {
    model(|| {
        let driver = unpausable();
        let timer = Box::pin(Timer::new());
        finish(driver.register_tick(timer.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        while timer.state() == State::Waiting {
            thread::yield_now();
        }
        timer.wipe();
        firing.join().unwrap();
    });
}

#[test]
fn who_sleeps_until_the_next_timer_is_told_of_an_earlier_one() {
    model(|| {
        let driver = Driver::unpausable(2, Weak::<Nobody>::new());
        let first = Box::pin(Timer::new());
        finish(driver.register_tick(first.as_ref(), 5, 0, Waker::noop().clone()));
        let other = driver.clone();
        let firing = thread::spawn(move || other.fire_until(5));
        let other = driver.clone();
        let registering = thread::spawn(move || {
            let second = Box::pin(Timer::new());
            second.set_shard(1);
            let then = other.register_tick(second.as_ref(), 9, 0, Waker::noop().clone());
            (second, matches!(then, Then::Tell))
        });
        let sleeps_until = driver.next.load(Ordering::Relaxed);
        let (second, is_told) = registering.join().unwrap();
        firing.join().unwrap();
        assert!(sleeps_until <= 9 || is_told);
        assert_eq!(driver.next.load(Ordering::Relaxed), 9);
        finish(driver.cancel(second.as_ref()));
    });
}
