//! What a thread knows of itself: how it works, its number, and random numbers. It knows of no runtime, so that
//! everything can use this; the runtime that is current is in `runtime::context`, the task that runs in
//! `task::current`.
//!
//! Invariant: what is set here is set back in the opposite order, also by a panic.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ptr;

/// How this thread works for a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Not at all: it may block.
    None,
    /// It runs tasks, or a future that it blocks on.
    Runs,
    /// As above, and `block_in_place` may be used.
    RunsAndMayBlock,
}

struct Thread {
    work: Cell<Work>,
    random: Cell<u32>,
}

thread_value! {
    static THREAD: Thread = Thread {
        work: Cell::new(Work::None),
        random: Cell::new(0),
    };
}

#[inline]
pub(crate) fn work() -> Work {
    THREAD
        .try_with(|thread| thread.work.get())
        .unwrap_or(Work::None)
}

/// Sets how this thread works while `run` runs.
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

/// A number that no other thread has at the same time.
#[inline]
pub(crate) fn thread_number() -> usize {
    THREAD
        .try_with(|thread| ptr::from_ref(thread).addr())
        .unwrap_or(0)
}

/// A number below `limit`, of no great quality.
pub(crate) fn random_below(limit: u32) -> u32 {
    let number = THREAD
        .try_with(|thread| {
            let mut random = thread.random.get();
            if random == 0 {
                // Anything but 0, where the generator would stay. Models have to draw the same each time.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_the_limit_and_reach_all_of_it() {
        assert_eq!(random_below(0), 0);
        assert_eq!(random_below(1), 0);
        let mut seen = [false; 64];
        for _ in 0..10_000 {
            seen[random_below(64) as usize] = true;
        }
        assert_eq!(seen, [true; 64]);
    }
}
