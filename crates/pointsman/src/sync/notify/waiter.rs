//! Someone who waits for a notification.
//!
//! Invariant: the links and the waker belong to who holds the lock, until a notice is given. From then on
//! they belong to the waiter's owner, and nobody else touches it.

use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicU8;
use crate::loom::sync::atomic::Ordering::{Acquire, Release};

/// Who of those that wait is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Oldest,
    Newest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    One(End),
    All,
}

const NONE: u8 = 0;
const OLDEST: u8 = 1;
const NEWEST: u8 = 2;
const ALL: u8 = 3;

pub(super) struct Waiter {
    links: Links<Waiter>,
    pub(super) waker: UnsafeCell<Option<Waker>>,
    notice: AtomicU8,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Waiter")
            .field("notice", &self.notice())
            .finish_non_exhaustive()
    }
}

// SAFETY: the links are a field.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the node is live.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: what is shared with other threads is atomic or belongs to who holds the lock.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            links: Links::new(),
            waker: UnsafeCell::new(None),
            notice: AtomicU8::new(NONE),
        }
    }

    pub(super) fn notice(&self) -> Option<Notice> {
        // ORDERING: pairs with the Release of `give`: what was done before the notice is seen, and who gave it
        // is done with the waiter.
        match self.notice.load(Acquire) {
            NONE => None,
            OLDEST => Some(Notice::One(End::Oldest)),
            NEWEST => Some(Notice::One(End::Newest)),
            _ => Some(Notice::All),
        }
    }

    /// Gives a notice. The waiter may be gone from here on.
    ///
    /// # Safety
    /// Whoever calls holds the lock, and has taken the waiter out of its list.
    pub(super) unsafe fn give(&self, notice: Notice) -> Option<Waker> {
        // SAFETY: the lock is held.
        let waker = self.waker.with_mut(|waker| unsafe { (*waker).take() });
        let code = match notice {
            Notice::One(End::Oldest) => OLDEST,
            Notice::One(End::Newest) => NEWEST,
            Notice::All => ALL,
        };
        // ORDERING: pairs with the Acquire of `notice`.
        self.notice.store(code, Release);
        waker
    }
}
