//! A batch of wakers, collected under a lock and woken without it. It is on the stack and does not allocate.
//!
//! Invariant: every waker in a batch is woken, even if another one panics. The first panic resumes after all have been
//! woken.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// The number of wakers per acquisition of the lock, as in Tokio. It is 1 in models, so that they see the lock released
/// between two wakers.
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
    /// If the batch is full.
    pub(crate) fn push(&mut self, waker: Waker) {
        self.wakers[self.length].write(waker);
        self.length += 1;
    }

    /// Wakes all wakers and empties the batch.
    pub(crate) fn wake_all(&mut self) {
        let length = std::mem::take(&mut self.length);
        for waker in &self.wakers[..length] {
            // SAFETY: `push` has written the first `length` wakers. Each is read once, since `self.length` is 0 now, even if
            // a waker panics.
            let waker = unsafe { waker.assume_init_read() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                self.panic.get_or_insert(panic);
            }
        }
    }

    /// Wakes all wakers and resumes the first panic.
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
    fn a_panic_does_not_keep_other_wakers_from_being_woken() {
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
    fn the_batch_is_empty_after_waking() {
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
