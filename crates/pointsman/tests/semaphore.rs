//! `Semaphore`.

#![cfg(not(loom))]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use futures::executor::block_on;
use pointsman::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use proptest::prelude::*;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};

/// How often threads meet; fewer times where each step is checked (miri).
const ROUNDS: usize = if cfg!(miri) { 10 } else { 500 };

#[test]
fn permits_are_given_out_and_back() {
    let semaphore = Semaphore::new(2);
    let first = assert_ready_ok!(spawn(semaphore.acquire()).poll());
    let second = semaphore.try_acquire().unwrap();
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::NoPermits
    );
    drop((first, second));
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn waiters_are_woken_in_order() {
    let semaphore = Semaphore::new(0);
    let mut first = spawn(semaphore.acquire());
    let mut second = spawn(semaphore.acquire());
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    semaphore.add_permits(1);
    assert!(first.is_woken());
    assert!(!second.is_woken());
    assert_pending!(second.poll());
    let permit = assert_ready_ok!(first.poll());
    drop(permit);
    assert!(second.is_woken());
    assert_ready_ok!(second.poll()).forget();
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn a_large_request_is_not_overtaken() {
    let semaphore = Semaphore::new(3);
    let mut large = spawn(semaphore.acquire_many(5));
    assert_pending!(large.poll());
    assert_eq!(semaphore.available_permits(), 0);
    assert!(semaphore.try_acquire().is_err());
    let mut small = spawn(semaphore.acquire());
    assert_pending!(small.poll());
    semaphore.add_permits(1);
    assert!(!large.is_woken() && !small.is_woken());
    semaphore.add_permits(1);
    assert!(large.is_woken() && !small.is_woken());
    drop(assert_ready_ok!(large.poll()));
    assert!(small.is_woken());
    drop(assert_ready_ok!(small.poll()));
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
fn a_cancelled_waiter_leaves_its_permits_to_the_next() {
    let semaphore = Semaphore::new(1);
    let mut large = spawn(semaphore.acquire_many(2));
    assert_pending!(large.poll());
    let mut small = spawn(semaphore.acquire());
    assert_pending!(small.poll());
    drop(large);
    assert!(small.is_woken());
    drop(small);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn a_cancelled_waiter_in_the_middle_of_the_queue_is_skipped() {
    let semaphore = Semaphore::new(0);
    let mut waiting: Vec<_> = (0..3).map(|_| spawn(semaphore.acquire())).collect();
    for acquire in &mut waiting {
        assert_pending!(acquire.poll());
    }
    drop(waiting.remove(1));
    semaphore.add_permits(2);
    for acquire in &mut waiting {
        assert_ready_ok!(acquire.poll()).forget();
    }
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn a_future_that_was_never_polled_takes_nothing() {
    let semaphore = Semaphore::new(1);
    drop(semaphore.acquire());
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn a_waiter_wakes_the_task_that_polled_last() {
    let semaphore = Semaphore::new(0);
    let mut acquire = Box::pin(semaphore.acquire());
    let mut first = spawn(());
    let mut second = spawn(());
    first.enter(|cx, _| assert_pending!(acquire.as_mut().poll(cx)));
    second.enter(|cx, _| assert_pending!(acquire.as_mut().poll(cx)));
    semaphore.add_permits(1);
    assert!(!first.is_woken());
    assert!(second.is_woken());
}

#[test]
fn closing_lets_all_go_and_takes_no_permit_away() {
    let semaphore = Semaphore::new(1);
    let mut waiting: Vec<_> = (0..100).map(|_| spawn(semaphore.acquire_many(2))).collect();
    for acquire in &mut waiting {
        assert_pending!(acquire.poll());
    }
    semaphore.close();
    assert!(semaphore.is_closed());
    for acquire in &mut waiting {
        assert!(acquire.is_woken());
        let error: AcquireError = assert_ready_err!(acquire.poll());
        assert_eq!(error.to_string(), "semaphore closed");
    }
    drop(waiting);
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::Closed
    );
    semaphore.add_permits(1);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn permits_granted_before_close_are_returned() {
    let semaphore = Semaphore::new(0);
    let mut acquire = spawn(semaphore.acquire());
    assert_pending!(acquire.poll());
    semaphore.add_permits(1);
    semaphore.close();
    assert_ready_err!(acquire.poll());
    drop(acquire);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn no_permits_are_had_at_once_though_others_wait() {
    let semaphore = Semaphore::new(0);
    let mut waiting = spawn(semaphore.acquire());
    assert_pending!(waiting.poll());
    assert_eq!(
        assert_ready_ok!(spawn(semaphore.acquire_many(0)).poll()).num_permits(),
        0
    );
    assert!(semaphore.try_acquire_many(0).is_ok());
}

#[test]
fn permits_are_forgotten_only_if_they_are_there() {
    let semaphore = Semaphore::new(3);
    assert_eq!(semaphore.forget_permits(0), 0);
    assert_eq!(semaphore.forget_permits(2), 2);
    let mut waiting = spawn(semaphore.acquire_many(2));
    assert_pending!(waiting.poll());
    assert_eq!(semaphore.forget_permits(5), 0);
    semaphore.add_permits(1);
    drop(assert_ready_ok!(waiting.poll()));
    assert_eq!(semaphore.forget_permits(5), 2);
}

#[test]
fn permits_are_split_and_merged() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut permit = semaphore.clone().try_acquire_many_owned(4).unwrap();
    let mut two = permit.split(2).unwrap();
    assert!(two.split(3).is_none());
    drop(permit);
    assert_eq!(semaphore.available_permits(), 3);
    two.merge(semaphore.clone().try_acquire_owned().unwrap());
    assert_eq!(two.num_permits(), 3);
    assert!(Arc::ptr_eq(two.semaphore(), &semaphore));
    two.forget();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn too_many_permits_are_refused() {
    const MOST: usize = Semaphore::MAX_PERMITS;
    assert!(catch_unwind(|| Semaphore::new(MOST + 1)).is_err());
    let semaphore = Semaphore::new(MOST);
    for added in [1, MOST, MOST + 1, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(added))).is_err());
        assert_eq!(semaphore.available_permits(), MOST);
    }
    assert!(!semaphore.is_closed());
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    let mut permit = one.try_acquire().unwrap();
    let foreign = other.try_acquire().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| permit.merge(foreign))).is_err());
    drop(permit);
    assert_eq!((one.available_permits(), other.available_permits()), (1, 1));
}

#[test]
fn threads_never_have_more_than_the_permits() {
    let semaphore = Arc::new(Semaphore::new(3));
    let out = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (semaphore, out) = (&semaphore, &out);
            scope.spawn(move || {
                for round in 0..ROUNDS as u32 {
                    let count = (thread + round) % 3 + 1;
                    let permit = if round % 2 == 0 {
                        block_on(semaphore.acquire_many(count)).unwrap()
                    } else {
                        semaphore.blocking_acquire_many(count).unwrap()
                    };
                    let before = out.fetch_add(permit.num_permits(), Ordering::Relaxed);
                    assert!(before + permit.num_permits() <= 3);
                    out.fetch_sub(permit.num_permits(), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(semaphore.available_permits(), 3);
}

#[derive(Debug, Clone)]
enum Step {
    Acquire(u32),
    TryAcquire(u32),
    Add(usize),
    Forget(usize),
    /// Drops the future or permit at this index.
    Drop(prop::sample::Index),
    PollAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..5_u32).prop_map(Step::Acquire),
        1 => (0..5_u32).prop_map(Step::TryAcquire),
        2 => (0..4_usize).prop_map(Step::Add),
        1 => (0..3_usize).prop_map(Step::Forget),
        4 => any::<prop::sample::Index>().prop_map(Step::Drop),
        2 => Just(Step::PollAll),
    ];
    prop::collection::vec(step, 0..60)
}

/// The law: FIFO, and the first waiter reserves available permits.
#[derive(Default)]
struct Law {
    available: usize,
    /// Index, permits requested, and permits missing.
    queue: VecDeque<(usize, usize, usize)>,
}

impl Law {
    fn add(&mut self, mut count: usize) {
        while let Some(first) = self.queue.front_mut() {
            let given = count.min(first.2);
            first.2 -= given;
            count -= given;
            if first.2 > 0 {
                return;
            }
            self.queue.pop_front();
        }
        self.available += count;
    }

    fn try_acquire(&mut self, count: usize) -> bool {
        let there_are = count == 0 || self.queue.is_empty() && self.available >= count;
        if there_are {
            self.available -= count;
        }
        there_are
    }

    fn acquire(&mut self, number: usize, count: usize) {
        if !self.try_acquire(count) {
            let lacks = count - std::mem::take(&mut self.available);
            self.queue.push_back((number, count, lacks));
        }
    }

    fn cancel(&mut self, number: usize, count: usize) {
        let place = self.queue.iter().position(|entry| entry.0 == number);
        let has = match place.and_then(|place| self.queue.remove(place)) {
            Some((_, count, lacks)) => count - lacks,
            None => count,
        };
        self.add(has);
    }

    fn waits(&self, number: usize) -> bool {
        self.queue.iter().any(|entry| entry.0 == number)
    }
}

type Acquiring = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>>>>;

enum Asked {
    Waits(Spawn<Acquiring>),
    Has(OwnedSemaphorePermit),
}

proptest! {
    #[test]
    fn permits_go_to_the_first(start in 0..4_usize, steps in steps()) {
        let semaphore = Arc::new(Semaphore::new(start));
        let mut law = Law { available: start, ..Law::default() };
        // Index, permits requested, and the outcome.
        let mut asked: Vec<(usize, usize, Asked)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Acquire(count) => {
                    law.acquire(number, count as usize);
                    let future: Acquiring = Box::pin(semaphore.clone().acquire_many_owned(count));
                    let mut future = spawn(future);
                    let what = match future.poll() {
                        std::task::Poll::Ready(permit) => {
                            prop_assert!(!law.waits(number));
                            Asked::Has(permit.unwrap())
                        }
                        std::task::Poll::Pending => {
                            prop_assert!(law.waits(number));
                            Asked::Waits(future)
                        }
                    };
                    asked.push((number, count as usize, what));
                }
                Step::TryAcquire(count) => {
                    let permit = semaphore.clone().try_acquire_many_owned(count);
                    prop_assert_eq!(permit.is_ok(), law.try_acquire(count as usize));
                    if let Ok(permit) = permit {
                        asked.push((number, count as usize, Asked::Has(permit)));
                    }
                }
                Step::Add(count) => {
                    law.add(count);
                    semaphore.add_permits(count);
                }
                Step::Forget(count) => {
                    let forgotten = count.min(law.available);
                    law.available -= forgotten;
                    prop_assert_eq!(semaphore.forget_permits(count), forgotten);
                }
                Step::Drop(place) if !asked.is_empty() => {
                    let (number, count, what) = asked.remove(place.index(asked.len()));
                    law.cancel(number, count);
                    drop(what);
                }
                Step::Drop(_) => {}
                Step::PollAll => {
                    for (number, _, what) in &mut asked {
                        if let Asked::Waits(future) = what {
                            match future.poll() {
                                std::task::Poll::Ready(permit) => *what = Asked::Has(permit.unwrap()),
                                std::task::Poll::Pending => prop_assert!(law.waits(*number)),
                            }
                        }
                    }
                }
            }
            prop_assert_eq!(semaphore.available_permits(), law.available);
            for (number, count, what) in &asked {
                match what {
                    Asked::Waits(future) => prop_assert_eq!(future.is_woken(), !law.waits(*number)),
                    Asked::Has(permit) => prop_assert_eq!(permit.num_permits(), *count),
                }
            }
        }
    }
}

/// Releases a permit when it is dropped.
struct Last(Arc<Semaphore>);

impl Wake for Last {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[test]
fn a_waker_may_release_a_permit_when_replaced() {
    let semaphore = Arc::new(Semaphore::new(0));
    let mut acquire = Box::pin(semaphore.acquire());
    let waker = Waker::from(Arc::new(Last(semaphore.clone())));
    assert_pending!(acquire.as_mut().poll(&mut Context::from_waker(&waker)));
    drop(waker);
    let mut task = spawn(acquire);
    assert_pending!(task.poll());
    assert!(task.is_woken());
    assert_ready_ok!(task.poll()).forget();
}
