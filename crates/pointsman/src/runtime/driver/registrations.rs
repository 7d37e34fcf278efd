//! The entries of all I/O sources that are registered with one reactor.
//!
//! Entries are reused, but never move and are not freed before the set is dropped. So an event finds its entry by index,
//! even if the source has been deregistered meanwhile, and a source keeps a pointer to its entry.
//!
//! Free entries are kept in one list per worker and one for all other threads, so that threads that register at the same
//! time do not contend. An entry returns to the list of its first user.
//!
//! # Invariants
//!
//! - An entry below `used` is either in use or in exactly one free list.
//! - After [`shut_down`](Registrations::shut_down), every entry in use is marked as shut down, and none is acquired.

use std::io;
use std::sync::OnceLock;

use super::super::error::shutdown_error;
use super::scheduled_io::ScheduledIo;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicU32, fence};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The number of entries in the first page; each further page is twice as large.
const FIRST_PAGE: u32 = 32;
/// Enough pages for nearly 2^32 entries, or 2^22 where a token has 32 bits.
const PAGES: usize = if usize::BITS == 64 { 27 } else { 17 };

pub(super) struct Registrations {
    pages: [OnceLock<Box<[Entry]>>; PAGES],
    /// The number of entries that have ever been used.
    used: AtomicU32,
    free: Box<[FreeList]>,
    is_shut_down: AtomicBool,
}

/// Aligned to two cache lines, which processors prefetch together, so that two sources do not share one.
#[repr(align(128))]
pub(super) struct Entry {
    pub(super) io: ScheduledIo,
    pub(super) index: u32,
    /// The free list that the entry returns to.
    home: OnceLock<u32>,
}

#[repr(align(128))]
#[derive(Default)]
struct FreeList(Mutex<Vec<u32>>);

impl Registrations {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            pages: [const { OnceLock::new() }; PAGES],
            used: AtomicU32::new(0),
            free: (0..=workers.max(1)).map(|_| FreeList::default()).collect(),
            is_shut_down: AtomicBool::new(false),
        }
    }

    /// Takes an entry for a source that `worker` registers, or another thread if `None`.
    ///
    /// # Errors
    /// If all entries are in use, or after the shutdown.
    pub(super) fn acquire(&self, worker: Option<usize>) -> io::Result<&Entry> {
        let entry = self
            .take(worker)
            .ok_or_else(|| io::Error::other("too many I/O sources are registered"))?;
        // ORDERING: SeqCst pairs with the fence of `shut_down`: either this thread sees the shutdown, or `shut_down` sees the
        // entry below `used`.
        fence(SeqCst);
        if self.is_shut_down() {
            self.release(entry);
            return Err(shutdown_error());
        }
        Ok(entry)
    }

    fn take(&self, worker: Option<usize>) -> Option<&Entry> {
        let list = worker.map_or(0, |index| index + 1);
        let freed = lock(&self.free[list].0).pop();
        if let Some(index) = freed {
            return Some(self.get(index));
        }
        let index = self.used.fetch_update(Relaxed, Relaxed, |used| {
            (page_of(used.checked_add(1)?).0 < PAGES).then_some(used + 1)
        });
        let entry = self.get(index.ok()?);
        let _ = entry.home.set(list as u32);
        Some(entry)
    }

    /// Resets an entry and makes it available again. The caller has acquired it and does not use it afterwards.
    pub(super) fn release(&self, entry: &Entry) {
        entry.io.reset();
        let home = *entry.home.get().expect("an acquired entry has a home list");
        lock(&self.free[home as usize].0).push(entry.index);
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Relaxed)
    }

    /// Ends all current waits and refuses further entries.
    pub(super) fn shut_down(&self) {
        if self.is_shut_down.swap(true, Relaxed) {
            return;
        }
        // ORDERING: SeqCst pairs with the fence of `acquire`.
        fence(SeqCst);
        for index in 0..self.used.load(Relaxed) {
            self.get(index).io.shut_down();
        }
    }

    pub(super) fn get(&self, index: u32) -> &Entry {
        let (page, offset) = page_of(index);
        let entries = self.pages[page].get_or_init(|| {
            let size = FIRST_PAGE << page;
            let first = size - FIRST_PAGE;
            let entry = |offset| Entry {
                io: ScheduledIo::new(),
                index: first + offset,
                home: OnceLock::new(),
            };
            (0..size).map(entry).collect()
        });
        &entries[offset]
    }
}

fn page_of(index: u32) -> (usize, usize) {
    let index = u64::from(index) + u64::from(FIRST_PAGE);
    let page = index.ilog2() - FIRST_PAGE.ilog2();
    let offset = index - (u64::from(FIRST_PAGE) << page);
    (page as usize, offset as usize)
}
