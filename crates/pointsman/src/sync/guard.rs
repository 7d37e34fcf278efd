//! The parts of lock guards: permits that release themselves when they are dropped, and pointers to the data.
//!
//! Invariant: the pointer in a guard is valid, and shared or exclusive as its type says, while the guard
//! holds its permits. The permits have the destructor, not the guard, so that a guard's fields can be moved
//! into another guard.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::holders::Hold;
use super::semaphore::Permits;

/// A type whose data is guarded by permits.
pub(super) trait HasPermits {
    fn permits(&self) -> &Permits;
}

impl HasPermits for Permits {
    fn permits(&self) -> &Permits {
        self
    }
}

/// The only permit of a mutex or a cell, released when this is dropped.
pub(super) struct OnlyPermit<P: Deref<Target: HasPermits>>(pub(super) P);

impl<P: Deref<Target: HasPermits>> Drop for OnlyPermit<P> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits().release(1, Hold::NONE);
        self.0.permits().spans.one_released();
    }
}

/// One permit of several, released when this is dropped.
pub(super) struct OnePermit<P: Deref<Target: HasPermits>> {
    pub(super) owner: P,
    pub(super) hold: Hold,
}

impl<P: Deref<Target: HasPermits>> Drop for OnePermit<P> {
    #[inline]
    fn drop(&mut self) {
        self.owner.permits().release(1, self.hold);
        self.owner.permits().spans.one_released();
    }
}

/// All permits of a lock, released when this is dropped.
pub(super) struct AllPermits<P: Deref<Target: HasPermits>> {
    pub(super) owner: P,
    pub(super) count: u32,
    pub(super) hold: Hold,
}

impl<P: Deref<Target: HasPermits>> Drop for AllPermits<P> {
    #[inline]
    fn drop(&mut self) {
        self.owner.permits().release(self.count as usize, self.hold);
        self.owner.permits().spans.all_released();
    }
}

impl<P: Deref<Target: HasPermits>> AllPermits<P> {
    /// Releases all permits but one.
    pub(super) fn into_one(self) -> OnePermit<P> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `ManuallyDrop` keeps the destructor from running, so `owner` is moved out exactly once.
        let owner = unsafe { std::ptr::read(&this.owner) };
        let hold = this.hold;
        hold.keep_one();
        let permits = owner.permits();
        permits.release(this.count as usize - 1, Hold::NONE);
        permits.spans.all_released();
        permits.spans.one_acquired();
        OnePermit { owner, hold }
    }
}

/// A pointer to data that the guard may read.
pub(super) struct SharedPointer<T: ?Sized>(NonNull<T>);

// SAFETY: this is a `&T` without its lifetime, and `&T` is `Send` if `T: Sync`.
unsafe impl<T: ?Sized + Sync> Send for SharedPointer<T> {}
// SAFETY: this is a `&T` without its lifetime, and `&T` is `Sync` if `T: Sync`.
unsafe impl<T: ?Sized + Sync> Sync for SharedPointer<T> {}

impl<T: ?Sized> SharedPointer<T> {
    /// # Safety
    /// The data is live and not written while this, or a part of it, is used.
    pub(super) unsafe fn new(data: NonNull<T>) -> Self {
        Self(data)
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: the caller of `new` promised live data without writers: the guard holds a permit.
        unsafe { self.0.as_ref() }
    }

    /// Points to a part of the data.
    pub(super) fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> SharedPointer<U> {
        SharedPointer(NonNull::from(choose(self.get())))
    }

    /// Points to a part of the data, if `choose` returns one.
    pub(super) fn try_part<U: ?Sized>(
        &self,
        choose: impl FnOnce(&T) -> Option<&U>,
    ) -> Option<SharedPointer<U>> {
        choose(self.get()).map(|part| SharedPointer(NonNull::from(part)))
    }
}

/// A pointer to data that the guard may write.
pub(super) struct ExclusivePointer<T: ?Sized> {
    data: NonNull<T>,
    /// Makes `T` invariant, as for `&mut T`.
    _invariant: PhantomData<*mut T>,
}

// SAFETY: this is a `&mut T` without its lifetime, and `&mut T` is `Send` if `T: Send`.
unsafe impl<T: ?Sized + Send> Send for ExclusivePointer<T> {}
// SAFETY: this is a `&mut T` without its lifetime, and `&mut T` is `Sync` if `T: Sync`.
unsafe impl<T: ?Sized + Sync> Sync for ExclusivePointer<T> {}

impl<T: ?Sized> ExclusivePointer<T> {
    /// # Safety
    /// The data is live and not accessed otherwise while this, or a part of it, is used.
    pub(super) unsafe fn new(data: NonNull<T>) -> Self {
        Self {
            data,
            _invariant: PhantomData,
        }
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: the caller of `new` promised live data without other access: the guard holds all permits.
        unsafe { self.data.as_ref() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut T {
        // SAFETY: the caller of `new` promised live data without other access, and this is borrowed
        // exclusively.
        unsafe { self.data.as_mut() }
    }

    /// Points to a part of the data. The caller does not use `self` again.
    pub(super) fn part<U: ?Sized>(
        &mut self,
        choose: impl FnOnce(&mut T) -> &mut U,
    ) -> ExclusivePointer<U> {
        let data = NonNull::from(choose(self.get_mut()));
        // SAFETY: the part belongs to data that `self` has exclusively, and `self` is not used again.
        unsafe { ExclusivePointer::new(data) }
    }

    /// Points to a part of the data, if `choose` returns one. The caller does not use `self` again then.
    pub(super) fn try_part<U: ?Sized>(
        &mut self,
        choose: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Option<ExclusivePointer<U>> {
        let data = NonNull::from(choose(self.get_mut())?);
        // SAFETY: the part belongs to data that `self` has exclusively, and `self` is not used again.
        Some(unsafe { ExclusivePointer::new(data) })
    }

    /// Points to a part of the data for reading. The caller does not use `self` again.
    pub(super) fn shared_part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> SharedPointer<U> {
        SharedPointer(NonNull::from(choose(self.get())))
    }

    /// Points to a part of the data for reading, if `choose` returns one. The caller does not use `self`
    /// again then.
    pub(super) fn try_shared_part<U: ?Sized>(
        &self,
        choose: impl FnOnce(&T) -> Option<&U>,
    ) -> Option<SharedPointer<U>> {
        choose(self.get()).map(|part| SharedPointer(NonNull::from(part)))
    }

    /// Points to the same data for reading.
    pub(super) fn into_shared(self) -> SharedPointer<T> {
        SharedPointer(self.data)
    }
}

/// Implements `Deref`, `Debug` and `Display` for a guard.
macro_rules! deref_guard {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        impl<$($parameters)*> std::ops::Deref for $guard {
            type Target = $target;

            #[inline]
            fn deref(&self) -> &$target {
                self.data.get()
            }
        }

        crate::sync::guard::fmt_guard!([$($parameters)*] $guard => $target);
    };
}

/// Implements `Deref`, `DerefMut`, `Debug` and `Display` for a guard.
macro_rules! deref_mut_guard {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        crate::sync::guard::deref_guard!([$($parameters)*] $guard => $target);

        impl<$($parameters)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut $target {
                self.data.get_mut()
            }
        }
    };
}

/// Implements `Debug` and `Display` for a guard by those of its data.
macro_rules! fmt_guard {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        impl<$($parameters)*> std::fmt::Debug for $guard
        where
            $target: std::fmt::Debug,
        {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, formatter)
            }
        }

        impl<$($parameters)*> std::fmt::Display for $guard
        where
            $target: std::fmt::Display,
        {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, formatter)
            }
        }
    };
}

pub(super) use {deref_guard, deref_mut_guard, fmt_guard};
