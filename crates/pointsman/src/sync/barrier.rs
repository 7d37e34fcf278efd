//! The barrier.
//!
//! Invariant: one word counts all arrivals. The count divided by the size is the number of the round, so a
//! round is over exactly when its last task is counted. Counting takes no lock.
//!
//! Cost of the last arrival without waiters: two read-modify-writes.

use crate::loom::sync::atomic::AtomicU64;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::task::activity::WaitKind;
use crate::task::coop::cooperative;

use super::Notify;
use super::spans::BarrierSpan;

/// Makes a number of tasks wait until all of them have arrived.
///
/// A barrier is reusable: when a round is complete, the next begins.
///
/// ```
/// use pointsman::sync::Barrier;
///
/// # futures::executor::block_on(async {
/// let barrier = Barrier::new(2);
/// let (first, second) = futures::join!(barrier.wait(), barrier.wait());
/// assert!(first.is_leader() != second.is_leader());
/// # });
/// ```
#[derive(Debug)]
pub struct Barrier {
    arrived: AtomicU64,
    size: u64,
    complete: Notify,
    span: BarrierSpan,
}

impl Barrier {
    /// Creates a barrier for `n` tasks. Zero counts as one, with which no task waits.
    ///
    /// ```
    /// # use pointsman::sync::Barrier;
    /// # futures::executor::block_on(async {
    /// // The first arrival completes the round.
    /// assert!(Barrier::new(1).wait().await.is_leader());
    /// assert!(Barrier::new(0).wait().await.is_leader());
    /// # });
    /// ```
    #[track_caller]
    pub fn new(n: usize) -> Self {
        let size = n.max(1) as u64;
        Self {
            arrived: AtomicU64::new(0),
            size,
            complete: Notify::of_kind(WaitKind::Barrier),
            span: BarrierSpan::new(size),
        }
    }

    /// Arrives at the barrier, and waits until all tasks of the round have.
    ///
    /// The last task to arrive is the leader of the round. What the tasks did before they arrived is visible
    /// to all of them afterwards.
    ///
    /// # Cancel safety
    /// Not cancel safe: a future that is dropped after its first poll still counts as arrived.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// # use pointsman::sync::Barrier;
    /// # futures::executor::block_on(async {
    /// let (barrier, ready) = (Barrier::new(2), AtomicU32::new(0));
    /// let work = async || {
    ///     ready.fetch_add(1, Relaxed);
    ///     barrier.wait().await;
    ///     ready.load(Relaxed)
    /// };
    /// // Past the barrier, both were ready.
    /// assert_eq!(futures::join!(work(), work()), (2, 2));
    /// # });
    /// ```
    pub async fn wait(&self) -> BarrierWaitResult {
        traced_op!(self.span.span(), "Barrier::wait", "poll", self.meet()).await
    }

    async fn meet(&self) -> BarrierWaitResult {
        // ORDERING: Release pairs with the Acquire of later arrivals and of the load below: they see what
        // this task did before. Acquire pairs with the Release of earlier arrivals.
        let place = self.arrived.fetch_add(1, AcqRel);
        let round = place / self.size;
        if place % self.size == self.size - 1 {
            self.complete.notify_waiters();
            self.span.arrived();
            self.span.leads();
            return BarrierWaitResult(true);
        }
        self.span.arrived();
        cooperative(async {
            loop {
                let complete = self.complete.notified();
                // ORDERING: Acquire pairs with the Release of all arrivals of the round, which form one
                // release sequence.
                if self.arrived.load(Acquire) / self.size > round {
                    return;
                }
                complete.await;
            }
        })
        .await;
        BarrierWaitResult(false)
    }
}

/// Returned by [`Barrier::wait`]: whether the task is the leader of its round.
///
/// ```
/// # use pointsman::sync::{Barrier, BarrierWaitResult};
/// # futures::executor::block_on(async {
/// let result: BarrierWaitResult = Barrier::new(1).wait().await;
/// assert!(result.is_leader());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns whether this task is the leader. Each round has exactly one.
    ///
    /// ```
    /// # use futures::future::join_all;
    /// # use pointsman::sync::Barrier;
    /// # futures::executor::block_on(async {
    /// let barrier = Barrier::new(3);
    /// let results = join_all((0..3).map(|_| barrier.wait())).await;
    /// assert_eq!(results.iter().filter(|result| result.is_leader()).count(), 1);
    /// # });
    /// ```
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Writes its own cell, waits at the barrier, and reads the other cell.
    fn meet(barrier: &Barrier, cells: &[UnsafeCell<u32>; 2], own: usize, round: u32) -> bool {
        // SAFETY: loom's cell fails the model if the other thread accesses it at the same time.
        cells[own].with_mut(|cell| unsafe { *cell = round });
        let leads = block_on(barrier.wait()).is_leader();
        // SAFETY: loom's cell fails the model if another thread writes it at the same time.
        assert_eq!(cells[1 - own].with(|cell| unsafe { *cell }), round);
        leads
    }

    #[test]
    fn tasks_see_what_the_others_did_and_one_leads() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            let other = shared.clone();
            let thread = thread::spawn(move || meet(&other.0, &other.1, 1, 1));
            assert_ne!(meet(&shared.0, &shared.1, 0, 1), thread.join().unwrap());
        });
    }

    #[test]
    fn rounds_follow_each_other() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let twice = |barrier: &Barrier| {
                let first = block_on(barrier.wait()).is_leader();
                [first, block_on(barrier.wait()).is_leader()]
            };
            let other = barrier.clone();
            let thread = thread::spawn(move || twice(&other));
            let here = twice(&barrier);
            let there = thread.join().unwrap();
            assert!(here[0] != there[0] && here[1] != there[1]);
        });
    }
}
