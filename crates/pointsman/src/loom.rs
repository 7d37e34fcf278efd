//! Threads, atomics, locks and cells: those of the standard library, or loom's in models (`--cfg loom`). All state that
//! threads share uses them, so that loom sees it.

#[cfg(not(all(test, loom)))]
mod parker;

#[cfg(not(all(test, loom)))]
#[macro_use]
mod implementation {
    pub(crate) use std::{sync, thread};

    /// A thread-local value without a destructor.
    macro_rules! thread_value {
        ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
            std::thread_local! { $(#[$attribute])* static $name: $type = const { $value } }
        };
    }

    pub(crate) mod hint {
        pub(crate) use std::hint::spin_loop;
    }

    pub(crate) use super::parker::Parker;

    pub(crate) mod cell {
        /// `std`'s cell with the interface of loom's.
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

        impl<T> UnsafeCell<T> {
            pub(crate) const fn new(value: T) -> Self {
                Self(std::cell::UnsafeCell::new(value))
            }

            #[inline(always)]
            pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
                read(self.0.get())
            }

            #[inline(always)]
            pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
                write(self.0.get())
            }
        }
    }
}

#[cfg(all(test, loom))]
#[macro_use]
mod implementation {
    pub(crate) use loom::{cell, hint, sync, thread};

    /// The parker of a model, in which no time passes: only a timeout of zero ends a wait. It does not use loom's `unpark`,
    /// which would also wake a thread that waits for a lock.
    pub(crate) struct Parker(sync::Notify);

    impl Parker {
        pub(crate) fn current() -> Self {
            Self(sync::Notify::new())
        }

        pub(crate) fn park(&self, timeout: Option<std::time::Duration>) {
            if timeout != Some(std::time::Duration::ZERO) {
                self.0.wait();
            }
        }

        #[cfg(feature = "reactor")]
        pub(crate) fn park_in(&self, _: &std::task::Waker, _: impl FnOnce()) {
            self.0.wait();
        }

        #[cfg(feature = "reactor")]
        pub(crate) fn forget_reactor(&self) {}

        pub(crate) fn unpark(&self) {
            self.0.notify();
        }
    }

    macro_rules! thread_value {
        ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
            loom::thread_local! { $(#[$attribute])* static $name: $type = $value; }
        };
    }
}

pub(crate) use implementation::*;

/// Locks a mutex and ignores poisoning: no critical section of this crate leaves its data inconsistent if it panics.
pub(crate) fn lock<T: ?Sized>(mutex: &sync::Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// As [`lock`], unless another thread holds the lock.
#[cfg(feature = "reactor")]
pub(crate) fn try_lock<T: ?Sized>(mutex: &sync::Mutex<T>) -> Option<sync::MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(std::sync::TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => None,
    }
}
