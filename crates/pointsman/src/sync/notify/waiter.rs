//! The node of a task that waits for a notification.
//!
//! Invariant: until a notice is given, the lock of the `Notify` guards the links and the waker. From then on
//! they belong to the waiter's future, and no other thread uses the node.

use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicU8;
use crate::loom::sync::atomic::Ordering::{Acquire, Release};

/// Which waiter `notify_one` and `notify_last` notify.
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

// SAFETY: `links` returns the address of a field of the node.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the caller passes a live node, so the address of its field is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: the links and the waker are used under the lock before the notice, and by the future alone after
// it. The notice is atomic.
unsafe impl Send for Waiter {}
// SAFETY: the same lock guards access through shared references.
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
        // ORDERING: Acquire pairs with the Release of `give`: what came before the notification is visible,
        // and the notifier no longer uses the waiter.
        match self.notice.load(Acquire) {
            NONE => None,
            OLDEST => Some(Notice::One(End::Oldest)),
            NEWEST => Some(Notice::One(End::Newest)),
            _ => Some(Notice::All),
        }
    }

    /// Gives the waiter a notice and returns its waker. The waiter may be dropped afterwards.
    ///
    /// # Safety
    /// The caller holds the lock and has taken the waiter out of its list.
    pub(super) unsafe fn give(&self, notice: Notice) -> Option<Waker> {
        // SAFETY: the caller holds the lock, which guards the waker, and the waiter has no notice yet.
        let waker = self.waker.with_mut(|waker| unsafe { (*waker).take() });
        let code = match notice {
            Notice::One(End::Oldest) => OLDEST,
            Notice::One(End::Newest) => NEWEST,
            Notice::All => ALL,
        };
        // ORDERING: Release pairs with the Acquire of `notice`. This is the last access to the waiter.
        self.notice.store(code, Release);
        waker
    }
}
