//! Wakers that are collected under a lock and woken without it.
//!
//! Invariant: whoever is in a batch is woken, also if another's waker panics. The first panic goes on when
//! all have been woken. A batch is on the stack and allocates nothing.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// As many as are woken for each time that a lock is taken. In models one, so that they see the lock given up
/// between two.
const CAPACITY: usize = if cfg!(all(test, loom)) { 1 } else { 32 };

pub(crate) struct WakeBatch {
    /// The first `length` are set.
    wakers: [MaybeUninit<Waker>; CAPACITY],
    length: usize,
    panic: Option<Box<dyn Any + Send>>,
}

impl WakeBatch {
    pub(crate) fn new() -> Self {
        Self {
            wakers: [const { MaybeUninit::uninit() }; CAPACITY],
            length: 0,
            panic: None,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.length < CAPACITY
    }

    /// # Panics
    /// If there is no room.
    pub(crate) fn push(&mut self, waker: Waker) {
        self.wakers[self.length].write(waker);
        self.length += 1;
    }

    /// Wakes all, and has room again.
    pub(crate) fn wake_all(&mut self) {
        let length = std::mem::take(&mut self.length);
        for waker in &self.wakers[..length] {
            // SAFETY: the first `length` were set, and are read once since the length is zero now.
            let waker = unsafe { waker.assume_init_read() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                self.panic.get_or_insert(panic);
            }
        }
    }

    /// Wakes all, and lets the first panic go on.
    pub(crate) fn finish(mut self) {
        self.wake_all();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }
}

impl Drop for WakeBatch {
    fn drop(&mut self) {
        self.wake_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Fail;

    impl Wake for Fail {
        fn wake(self: Arc<Self>) {
            panic!("this waker fails");
        }
    }

    #[test]
    fn all_are_woken_though_one_panics() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let mut batch = WakeBatch::new();
        batch.push(count.clone().into());
        batch.push(Arc::new(Fail).into());
        batch.push(count.clone().into());
        let panic = catch_unwind(AssertUnwindSafe(|| batch.finish())).unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "this waker fails");
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn has_room_again_when_all_are_woken() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let mut batch = WakeBatch::new();
        for round in 1..=2 {
            while batch.has_room() {
                batch.push(count.clone().into());
            }
            batch.wake_all();
            assert_eq!(count.0.load(Ordering::Relaxed), round * CAPACITY);
        }
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
