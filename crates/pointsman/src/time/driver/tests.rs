use std::sync::Mutex;
use std::task::Wake;

use proptest::prelude::*;

use super::*;

fn waiter() -> Weak<dyn Waiter> {
    struct NoopWaiter;
    impl Waiter for NoopWaiter {
        fn timer_is_earlier(&self) {}
    }
    Weak::<NoopWaiter>::new()
}

fn unpausable() -> Arc<Driver> {
    Driver::unpausable(2, waiter())
}

/// Performs a follow-up, and returns whether the waiter is to be notified.
fn finish(then: FollowUp) -> bool {
    match then {
        FollowUp::Wake(waker) => waker.wake(),
        FollowUp::NotifyWaiter => return true,
        FollowUp::Nothing | FollowUp::Drop(_) => {}
    }
    false
}

/// Logs its number when it is woken.
struct LoggingWaker {
    number: usize,
    log: Arc<Mutex<Vec<usize>>>,
}

impl Wake for LoggingWaker {
    fn wake(self: Arc<Self>) {
        self.log.lock().unwrap().push(self.number);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Cancel(usize),
    Move(usize, u64),
    Advance(u64),
    /// The clock advances, and nothing is due.
    Pass(u64),
}

/// A distance of any magnitude.
fn distance() -> impl Strategy<Value = u64> {
    (0..40u32, any::<u64>()).prop_map(|(bits, number)| number & ((1 << bits) - 1))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => distance().prop_map(Step::Insert),
        1 => any::<usize>().prop_map(Step::Cancel),
        2 => (any::<usize>(), distance()).prop_map(|(which, by)| Step::Move(which, by)),
        2 => distance().prop_map(Step::Advance),
        2 => distance().prop_map(Step::Pass),
    ]
}

/// A timer, and the tick at which it is due while it waits.
type Notified = (Pin<Box<Timer>>, Option<u64>);

#[derive(Default)]
struct Bench {
    entries: Vec<Notified>,
    log: Arc<Mutex<Vec<usize>>>,
    now: u64,
}

impl Bench {
    fn run(&mut self, driver: &Driver, step: Step) {
        match step {
            Step::Insert(by) => {
                let timer = Box::pin(Timer::new());
                timer.set_shard(self.entries.len() % driver.shards.len());
                let waker = LoggingWaker {
                    number: self.entries.len(),
                    log: self.log.clone(),
                };
                let tick = self.now + by;
                finish(driver.register_tick(
                    timer.as_ref(),
                    tick,
                    self.now,
                    Arc::new(waker).into(),
                ));
                let waits = by > 0;
                assert_eq!(timer.state() == TimerState::Waiting, waits);
                self.entries.push((timer, waits.then_some(tick)));
            }
            Step::Cancel(which) if !self.entries.is_empty() => {
                let which = which % self.entries.len();
                let (timer, tick) = &mut self.entries[which];
                finish(driver.cancel(timer.as_ref()));
                *tick = None;
            }
            Step::Move(which, by) if !self.entries.is_empty() => {
                let which = which % self.entries.len();
                let (timer, tick) = &mut self.entries[which];
                if tick.is_some() {
                    let to = self.now + by;
                    if !timer.postpone(to) {
                        finish(driver.move_to_tick(timer.as_ref(), to, self.now));
                    }
                    *tick = (by > 0).then_some(to);
                    if by == 0 {
                        assert_eq!(self.log.lock().unwrap().pop(), Some(which));
                    }
                }
            }
            Step::Cancel(_) | Step::Move(..) => {}
            Step::Pass(by) => {
                let next = driver.next.load(Ordering::Relaxed);
                self.now += by.min(next.saturating_sub(self.now + 1));
            }
            Step::Advance(by) => {
                self.now += by;
                driver.fire_until(self.now);
                self.check_fired();
            }
        }
        let earliest = self.entries.iter().filter_map(|entry| entry.1).min();
        let next = driver.next.load(Ordering::Relaxed);
        assert!(next <= earliest.unwrap_or(NEVER));
    }

    /// Checks that exactly the timers that were due have fired, those of each shard in the order of their ticks.
    fn check_fired(&mut self) {
        let fired = std::mem::take(&mut *self.log.lock().unwrap());
        let mut before = [0; 2];
        for number in fired {
            let (timer, tick) = &mut self.entries[number];
            let tick = tick.take().expect("fires once");
            let before = &mut before[timer.shard()];
            assert!(*before <= tick && tick <= self.now);
            assert_eq!(timer.state(), TimerState::Fired);
            *before = tick;
        }
        for (timer, tick) in &self.entries {
            assert!(
                tick.is_none_or(|tick| tick > self.now && timer.state() == TimerState::Waiting)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: if cfg!(miri) { 4 } else { 512 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn fires_exactly_the_due_timers_in_order(
        shards in 1..=2_usize,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let driver = Driver::unpausable(shards, waiter());
        let mut bench = Bench::default();
        for step in steps {
            bench.run(&driver, step);
        }
        for (timer, _) in &bench.entries {
            finish(driver.cancel(timer.as_ref()));
        }
        prop_assert_eq!(driver.update_next(), NEVER);
    }
}

fn bench_of(driver: &Driver, ticks: impl IntoIterator<Item = u64>) -> Bench {
    let mut bench = Bench::default();
    for tick in ticks {
        bench.run(driver, Step::Insert(tick));
    }
    bench
}

#[test]
fn one_call_fires_more_than_a_batch() {
    let driver = unpausable();
    let mut bench = bench_of(&driver, (0..1_000).map(|number| number % 7 + 1));
    bench.run(&driver, Step::Advance(10));
    assert!(bench.entries.iter().all(|entry| entry.1.is_none()));
}

#[test]
fn a_panicking_waker_does_not_stop_the_others() {
    struct Fails;
    impl Wake for Fails {
        fn wake(self: Arc<Self>) {
            panic!("this waker panics");
        }
    }
    let driver = unpausable();
    let fails = Box::pin(Timer::new());
    finish(driver.register_tick(fails.as_ref(), 5, 0, Arc::new(Fails).into()));
    let mut bench = bench_of(&driver, [5, 5]);
    bench.run(&driver, Step::Advance(10));
    assert_eq!(fails.state(), TimerState::Fired);
    assert!(bench.entries.iter().all(|entry| entry.1.is_none()));
}

#[test]
fn shutdown_wakes_all_and_closes_later_timers() {
    let driver = unpausable();
    let mut bench = bench_of(&driver, (1..100).map(|number| number * number * number));
    driver.shutdown();
    assert_eq!(bench.log.lock().unwrap().len(), 99);
    assert!(
        bench
            .entries
            .iter()
            .all(|entry| entry.0.state() == TimerState::Closed)
    );
    let late = Box::pin(Timer::new());
    finish(driver.register_tick(late.as_ref(), 5, 0, Waker::noop().clone()));
    assert_eq!(late.state(), TimerState::Closed);
    assert_eq!(driver.until_next(), None);
    bench.entries.clear();
}

#[test]
fn reports_whether_a_timer_became_the_earliest() {
    let driver = unpausable();
    let timers: Vec<_> = (0..3).map(|_| Box::pin(Timer::new())).collect();
    let register = |which: usize, tick| {
        finish(driver.register_tick(timers[which].as_ref(), tick, 0, Waker::noop().clone()))
    };
    assert!(register(0, 50));
    assert!(!register(1, 60));
    assert!(register(2, 40));
    assert!(!finish(driver.move_to_tick(timers[2].as_ref(), 39, 45)));
    assert_eq!(timers[2].state(), TimerState::Fired);
    // The waiter still wakes at 40 and finds the timer gone.
    driver.fire_until(45);
    assert!(finish(driver.move_to_tick(timers[1].as_ref(), 48, 45)));
    finish(driver.cancel(timers[1].as_ref()));
    finish(driver.cancel(timers[0].as_ref()));
    driver.fire_until(100);
    assert_eq!(driver.next.load(Ordering::Relaxed), NEVER);
}

#[test]
fn deadlines_are_rounded_up_and_the_clock_down() {
    let driver = Driver::new(true, waiter());
    let start = driver.start;
    for (nanoseconds, up) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
        assert_eq!(
            driver.tick_of(start + Duration::from_nanos(nanoseconds)),
            up
        );
        let down = nanoseconds / 1_000_000;
        assert_eq!(
            driver.last_tick_at(start + Duration::from_nanos(nanoseconds)),
            down
        );
    }
    assert_eq!(driver.tick_of(start - Duration::from_millis(3)), 0);
    assert_eq!(ticks(Duration::MAX, NANOSECONDS_PER_TICK - 1), LAST_TICK);
}

#[test]
fn a_paused_clock_advances_to_the_next_timer() {
    let driver = Driver::new(true, waiter());
    let timer = Box::pin(Timer::new());
    assert!(!driver.auto_advance());
    let deadline = driver.start + Duration::from_secs(100);
    finish(driver.register(timer.as_ref(), deadline, None, Waker::noop().clone()));
    assert_eq!(driver.until_next(), None);
    assert!(!driver.next_is_due());
    while timer.state() == TimerState::Waiting {
        assert!(driver.auto_advance());
    }
    assert_eq!(driver.clock.now(), deadline);
    assert!(!driver.auto_advance());
}

#[test]
fn a_real_clock_does_not_advance_by_itself() {
    let driver = Driver::new(false, waiter());
    let timer = Box::pin(Timer::new());
    let deadline = driver.start + Duration::from_secs(100);
    finish(driver.register(timer.as_ref(), deadline, None, Waker::noop().clone()));
    assert!(!driver.auto_advance());
    let until = driver.until_next().unwrap();
    assert!(until <= Duration::from_secs(100));
    finish(driver.cancel(timer.as_ref()));
}

#[test]
fn a_paused_clock_does_not_advance_to_a_cancelled_timer() {
    let driver = Driver::new(true, waiter());
    let timer = Box::pin(Timer::new());
    let deadline = driver.start + Duration::from_secs(100);
    finish(driver.register(timer.as_ref(), deadline, None, Waker::noop().clone()));
    finish(driver.cancel(timer.as_ref()));
    assert!(!driver.auto_advance());
    assert_eq!(driver.clock.now(), driver.start);
}

#[test]
fn registered_and_cancelled_timeouts_notify_once() {
    let driver = unpausable();
    let timer = Box::pin(Timer::new());
    let register =
        |tick| finish(driver.register_tick(timer.as_ref(), tick, 0, Waker::noop().clone()));
    assert!(register(50));
    finish(driver.cancel(timer.as_ref()));
    assert!(!register(51));
    finish(driver.cancel(timer.as_ref()));
}
