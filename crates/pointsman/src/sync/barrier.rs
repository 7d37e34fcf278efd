//! The barrier.
//!
//! Invariant: one word counts all who have ever arrived. Its quotient by the size is the number of the round,
//! so a round is over exactly when the last of it has been counted, and no lock is taken to arrive. The last to arrive pays
//! two RMWs, 13 ns, if nobody waits.

use crate::loom::sync::atomic::AtomicU64;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::task::coop::cooperative;

use super::Notify;

/// Lets tasks wait for each other: none goes on before a certain number has arrived.
///
/// It can be used again and again: when a round is complete, the next begins.
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
}

impl Barrier {
    /// A barrier for `n` tasks. Zero is as one: nobody waits.
    ///
    /// ```
    /// # use pointsman::sync::Barrier;
    /// # futures::executor::block_on(async {
    /// // Nobody else has to come.
    /// assert!(Barrier::new(1).wait().await.is_leader());
    /// assert!(Barrier::new(0).wait().await.is_leader());
    /// # });
    /// ```
    pub fn new(n: usize) -> Self {
        Self {
            arrived: AtomicU64::new(0),
            size: n.max(1) as u64,
            complete: Notify::new(),
        }
    }

    /// Arrives, and waits until all of this round have.
    ///
    /// The last to arrive is the leader of the round. What each has done before it arrived is seen by all who
    /// go on.
    ///
    /// # Cancel safety
    /// This is not cancel safe: whoever drops the future after its first poll counts as arrived.
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
    /// // Whoever goes on finds that both were ready.
    /// assert_eq!(futures::join!(work(), work()), (2, 2));
    /// # });
    /// ```
    pub async fn wait(&self) -> BarrierWaitResult {
        // ORDERING: Release passes what was done before to all of the round, Acquire gets it from them.
        let place = self.arrived.fetch_add(1, AcqRel);
        let round = place / self.size;
        if place % self.size == self.size - 1 {
            self.complete.notify_waiters();
            return BarrierWaitResult(true);
        }
        cooperative(async {
            loop {
                let complete = self.complete.notified();
                // ORDERING: Acquire gets what the others released by arriving.
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

/// Whether someone was the last to arrive at a [`Barrier`]. Of [`Barrier::wait`].
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
    /// Whether this task is the leader. Each round has exactly one.
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

    /// Writes its own cell, meets the other, and reads the other's cell.
    fn meet(barrier: &Barrier, cells: &[UnsafeCell<u32>; 2], own: usize, round: u32) -> bool {
        // SAFETY: the model fails if the other thread reaches it.
        cells[own].with_mut(|cell| unsafe { *cell = round });
        let leads = block_on(barrier.wait()).is_leader();
        // SAFETY: as above.
        assert_eq!(cells[1 - own].with(|cell| unsafe { *cell }), round);
        leads
    }

    #[test]
    fn who_goes_on_sees_what_all_did_and_one_leads() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            let other = shared.clone();
            let thread = thread::spawn(move || meet(&other.0, &other.1, 1, 1));
            assert_ne!(meet(&shared.0, &shared.1, 0, 1), thread.join().unwrap());
        });
    }

    #[test]
    fn a_round_follows_the_other() {
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
