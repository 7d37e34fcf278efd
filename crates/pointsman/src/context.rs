//! Thread-local state that needs no runtime: whether the thread may block, its number, and random numbers. The current
//! runtime is in `runtime::scheduler::context`, the current task in `task::current`.
//!
//! Invariant: guards restore the previous value, also during a panic, and are dropped in reverse order.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ptr;

/// Whether a thread runs tasks, and so whether it may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The thread runs no tasks and may block.
    None,
    /// The thread runs tasks or a future of `block_on`.
    Runs,
    /// The thread runs tasks or a future of `block_on`, and may call `block_in_place`.
    RunsAndMayBlock,
}

struct Thread {
    work: Cell<Work>,
    random: Cell<u32>,
    /// The state of a second generator, which chooses the order of tasks. 0: the order is not explored.
    #[cfg(feature = "test-util")]
    exploration: Cell<u64>,
}

thread_value! {
    static THREAD: Thread = Thread {
        work: Cell::new(Work::None),
        random: Cell::new(0),
        #[cfg(feature = "test-util")]
        exploration: Cell::new(0),
    };
}

#[inline]
pub(crate) fn work() -> Work {
    THREAD
        .try_with(|thread| thread.work.get())
        .unwrap_or(Work::None)
}

/// Sets the `Work` of this thread while `run` runs.
pub(crate) fn with_work<R>(work: Work, run: impl FnOnce() -> R) -> R {
    struct Reset(Work);
    impl Drop for Reset {
        fn drop(&mut self) {
            let _ = THREAD.try_with(|thread| thread.work.set(self.0));
        }
    }
    let _reset = Reset(THREAD.with(|thread| thread.work.replace(work)));
    run()
}

/// A number of this thread, unique among the threads that are alive.
#[inline]
pub(crate) fn thread_number() -> usize {
    THREAD
        .try_with(|thread| ptr::from_ref(thread).addr())
        .unwrap_or(0)
}

/// A pseudo-random number below `limit` (xorshift), or 0 if there is none.
pub(crate) fn random_below(limit: u32) -> u32 {
    // Without a choice, no number is taken from the sequence: how often a lone worker searches is a matter of chance.
    if limit <= 1 {
        return 0;
    }
    let number = THREAD
        .try_with(|thread| {
            let mut random = thread.random.get();
            if random == 0 {
                // Not 0, which the generator would never leave. A model needs the same numbers in each run.
                random = match cfg!(all(test, loom)) {
                    true => 1,
                    false => RandomState::new().hash_one(0) as u32 | 1,
                };
            }
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            thread.random.set(random);
            random
        })
        .unwrap_or(0);
    ((u64::from(number) * u64::from(limit)) >> 32) as u32
}

/// Restores the random numbers of this thread when it is dropped.
pub(crate) struct SeedGuard {
    random: u32,
    #[cfg(feature = "test-util")]
    exploration: u64,
}

/// Makes the random numbers of this thread depend on `seed` until the guard is dropped, and the order of its tasks on
/// `exploration`, if that is not 0.
pub(crate) fn seed_random(seed: u64, #[cfg(feature = "test-util")] exploration: u64) -> SeedGuard {
    THREAD.with(|thread| SeedGuard {
        random: thread.random.replace(((seed >> 32) as u32).max(1)),
        #[cfg(feature = "test-util")]
        exploration: thread.exploration.replace(exploration),
    })
}

impl Drop for SeedGuard {
    fn drop(&mut self) {
        let _ = THREAD.try_with(|thread| {
            thread.random.set(self.random);
            #[cfg(feature = "test-util")]
            thread.exploration.set(self.exploration);
        });
    }
}

/// Whether this thread runs tasks in an order that is explored.
#[cfg(feature = "test-util")]
#[inline(always)]
pub(crate) fn explores() -> bool {
    THREAD
        .try_with(|thread| thread.exploration.get() != 0)
        .unwrap_or(false)
}

/// A pseudo-random number below `limit` for the exploration of orders. `limit` is not 0.
#[cfg(feature = "test-util")]
pub(crate) fn explore_below(limit: usize) -> usize {
    let number = THREAD.with(|thread| {
        // Splitmix64, without the state that means that nothing is explored.
        let state = thread.exploration.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        thread.exploration.set(state.max(1));
        crate::runtime::mix(state)
    });
    (number % limit as u64) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_below_the_limit_and_cover_the_range() {
        assert_eq!(random_below(0), 0);
        assert_eq!(random_below(1), 0);
        let mut seen = [false; 64];
        for _ in 0..10_000 {
            seen[random_below(64) as usize] = true;
        }
        assert_eq!(seen, [true; 64]);
    }
}
