//! Threads, atomics and cells: those of the standard library, or loom's when models are checked
//! (`--cfg loom`). Everything that threads share goes through here, so that a model sees all of it.

#[cfg(not(loom))]
mod implementation {
    pub(crate) use std::{sync, thread, thread_local};

    pub(crate) mod hint {
        pub(crate) use std::hint::spin_loop;
    }

    pub(crate) mod cell {
        /// `std`'s cell with the access functions of loom's.
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

#[cfg(loom)]
mod implementation {
    pub(crate) use loom::{cell, hint, sync, thread, thread_local};
}

pub(crate) use implementation::*;
