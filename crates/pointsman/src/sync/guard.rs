//! What guards are made of: permits that are given back when they are dropped, and the way to the data.
//!
//! Invariant: a pointer of a guard is valid, and shared or exclusive as its type says, for as long as the
//! guard that holds it has its permits. Permits have their own destructor, so that a guard has none and can
//! be taken apart into another.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::semaphore::Permits;

/// Something that permits guard.
pub(super) trait Guarded {
    fn permits(&self) -> &Permits;
}

impl Guarded for Permits {
    fn permits(&self) -> &Permits {
        self
    }
}

/// One permit.
pub(super) struct Held<P: Deref<Target: Guarded>>(pub(super) P);

impl<P: Deref<Target: Guarded>> Drop for Held<P> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits().release(1);
    }
}

/// All permits.
pub(super) struct HeldAll<P: Deref<Target: Guarded>> {
    pub(super) owner: P,
    pub(super) count: u32,
}

impl<P: Deref<Target: Guarded>> Drop for HeldAll<P> {
    #[inline]
    fn drop(&mut self) {
        self.owner.permits().release(self.count as usize);
    }
}

impl<P: Deref<Target: Guarded>> HeldAll<P> {
    /// Keeps one and gives the others back.
    pub(super) fn into_one(self) -> Held<P> {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once, as the destructor of the whole does not run.
        let one = Held(unsafe { std::ptr::read(&this.owner) });
        one.0.permits().release(this.count as usize - 1);
        one
    }
}

/// Data that may be read.
pub(super) struct Shared<T: ?Sized>(NonNull<T>);

// SAFETY: it is a reference in all but its lifetime.
unsafe impl<T: ?Sized + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Shared<T> {}

impl<T: ?Sized> Shared<T> {
    /// # Safety
    /// Nobody writes to the data while this is used.
    pub(super) unsafe fn new(data: NonNull<T>) -> Self {
        Self(data)
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: whoever made this keeps writers away.
        unsafe { self.0.as_ref() }
    }

    /// Another part of the same data.
    pub(super) fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Shared<U> {
        Shared(NonNull::from(choose(self.get())))
    }

    /// Another part of the same data, if there is one.
    pub(super) fn try_part<U: ?Sized>(
        &self,
        choose: impl FnOnce(&T) -> Option<&U>,
    ) -> Option<Shared<U>> {
        choose(self.get()).map(|part| Shared(NonNull::from(part)))
    }
}

/// Data that may be written to.
pub(super) struct Exclusive<T: ?Sized> {
    data: NonNull<T>,
    /// What can be written to has no other type than its own.
    _invariant: PhantomData<*mut T>,
}

// SAFETY: it is an exclusive reference in all but its lifetime.
unsafe impl<T: ?Sized + Send> Send for Exclusive<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Exclusive<T> {}

impl<T: ?Sized> Exclusive<T> {
    /// # Safety
    /// Nobody else reads the data or writes to it while this is used.
    pub(super) unsafe fn new(data: NonNull<T>) -> Self {
        Self {
            data,
            _invariant: PhantomData,
        }
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: whoever made this keeps all others away.
        unsafe { self.data.as_ref() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is borrowed exclusively.
        unsafe { self.data.as_mut() }
    }

    /// Another part of the same data. This must not be used again.
    pub(super) fn part<U: ?Sized>(
        &mut self,
        choose: impl FnOnce(&mut T) -> &mut U,
    ) -> Exclusive<U> {
        let data = NonNull::from(choose(self.get_mut()));
        // SAFETY: of what this kept others away from.
        unsafe { Exclusive::new(data) }
    }

    /// Another part of the same data, if there is one. Then this must not be used again.
    pub(super) fn try_part<U: ?Sized>(
        &mut self,
        choose: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Option<Exclusive<U>> {
        let data = NonNull::from(choose(self.get_mut())?);
        // SAFETY: of what this kept others away from.
        Some(unsafe { Exclusive::new(data) })
    }

    /// A part of the same data, to read only. Then this must not be used again.
    pub(super) fn shared_part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Shared<U> {
        Shared(NonNull::from(choose(self.get())))
    }

    /// A part of the same data to read, if there is one. Then this must not be used again.
    pub(super) fn try_shared_part<U: ?Sized>(
        &self,
        choose: impl FnOnce(&T) -> Option<&U>,
    ) -> Option<Shared<U>> {
        choose(self.get()).map(|part| Shared(NonNull::from(part)))
    }

    /// The same data, to read only.
    pub(super) fn into_shared(self) -> Shared<T> {
        Shared(self.data)
    }
}

/// Makes a guard give the data, and show itself as the data.
macro_rules! deref_guard {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        impl<$($parameters)*> std::ops::Deref for $guard {
            type Target = $target;

            #[inline]
            fn deref(&self) -> &$target {
                self.data.get()
            }
        }

        crate::sync::held::show_guard!([$($parameters)*] $guard => $target);
    };
}

/// Makes a guard give the data to write to.
macro_rules! deref_mut_guard {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        crate::sync::held::deref_guard!([$($parameters)*] $guard => $target);

        impl<$($parameters)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut $target {
                self.data.get_mut()
            }
        }
    };
}

/// Makes a guard show itself as the data.
macro_rules! show_guard {
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

pub(super) use {deref_guard, deref_mut_guard, show_guard};
