//! What locks record about their holders without the feature `diagnostics`: nothing.

use std::task::Waker;

use crate::task::activity::WaitKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sync) struct Hold;

impl Hold {
    pub(in crate::sync) const NONE: Self = Self;

    pub(in crate::sync) fn is_unrecorded(self) -> bool {
        false
    }

    pub(in crate::sync) fn keep_one(self) {}

    pub(in crate::sync) fn forget(&mut self) {}
}

#[derive(Debug)]
pub(in crate::sync) struct GrantedHold;

impl GrantedHold {
    pub(in crate::sync) const fn new() -> Self {
        Self
    }

    pub(in crate::sync) fn set(&self, _: Hold) {}

    pub(in crate::sync) fn get(&self) -> Hold {
        Hold
    }
}

#[derive(Debug)]
pub(in crate::sync) struct HolderRecord;

impl HolderRecord {
    pub(in crate::sync) const fn new(_: WaitKind, _: usize) -> Self {
        Self
    }

    pub(in crate::sync) fn is_known(&self) -> bool {
        false
    }

    pub(in crate::sync) fn forget(&self) {}

    #[inline]
    pub(in crate::sync) fn acquired(&self, _: usize) -> Hold {
        Hold
    }

    pub(in crate::sync) fn may_move(&self, _: Hold) {}

    pub(in crate::sync) fn claimed(&self, _: Hold, _: usize) -> Hold {
        Hold
    }

    #[inline]
    pub(in crate::sync) fn released(&self, _: usize, _: Hold) -> bool {
        false
    }

    pub(in crate::sync) fn granted(&self, _: usize, _: Option<&Waker>) -> Hold {
        Hold
    }

    pub(in crate::sync) fn unrecorded_ended(&self) {}

    pub(in crate::sync) fn waiter_came(&self, _: &Waker) {}

    #[inline]
    pub(in crate::sync) fn has_several(&self) -> bool {
        false
    }

    pub(in crate::sync) fn first_is(&self, _: Option<&Waker>, _: usize, _: usize) {}

    pub(in crate::sync) fn no_first(&self) {}

    pub(in crate::sync) fn still_waits(&self, _: &Waker) {}

    pub(in crate::sync) fn waiter_left(&self) {}
}
