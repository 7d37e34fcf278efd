//! Where what is known of each source of I/O is kept.
//!
//! Places never move and are never given back while the reactor lives, so that an event finds its place by its number
//! alone, also if the source has gone meanwhile; they are used again. Free places are kept in parts, by who used them
//! first: threads that register at the same time don't wait for each other, and a place that another thread frees comes
//! back to where it is needed.
//!
//! Invariant: a place is in use, or in one list of free ones, or beyond `used`.

use std::sync::OnceLock;

use super::readiness::Readiness;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

/// The first page has so many places, each next one twice as many.
const FIRST_PAGE: u32 = 32;
/// Fewer than 2^32 places; with 32 bits, 2^22.
const PAGES: usize = if usize::BITS == 64 { 27 } else { 17 };

pub(super) struct Slab {
    pages: [OnceLock<Box<[Place]>>; PAGES],
    /// How many places were ever used.
    used: AtomicU32,
    free: Box<[Free]>,
}

/// Two cache lines, which are fetched together, so that the tasks of two sources don't disturb each other.
#[repr(align(128))]
struct Place {
    readiness: Readiness,
    /// The list that it comes back to.
    home: OnceLock<u32>,
}

#[repr(align(128))]
#[derive(Default)]
struct Free(Mutex<Vec<u32>>);

impl Slab {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            pages: [const { OnceLock::new() }; PAGES],
            used: AtomicU32::new(0),
            free: (0..=workers.max(1)).map(|_| Free::default()).collect(),
        }
    }

    /// A place that is the caller's until it is [released](Self::release). Each worker has a part; all other threads
    /// share one. `None` if all are in use.
    pub(super) fn acquire(&self, worker: Option<usize>) -> Option<u32> {
        let part = worker.map_or(0, |index| index + 1);
        let freed = lock(&self.free[part].0).pop();
        if freed.is_some() {
            return freed;
        }
        // ORDERING: SeqCst: who ends the reactor sees the place, or it is seen that it has ended.
        let index = self.used.fetch_update(SeqCst, SeqCst, |used| {
            (page_of(used.checked_add(1)?).0 < PAGES).then_some(used + 1)
        });
        let index = index.ok()?;
        let _ = self.place(index).home.set(part as u32);
        Some(index)
    }

    pub(super) fn get(&self, index: u32) -> &Readiness {
        &self.place(index).readiness
    }

    pub(super) fn release(&self, index: u32) {
        let place = self.place(index);
        place.readiness.forget();
        let home = *place.home.get().expect("it was acquired");
        lock(&self.free[home as usize].0).push(index);
    }

    /// All places that were ever used.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Readiness> {
        // ORDERING: see `acquire`.
        (0..self.used.load(SeqCst)).map(|index| self.get(index))
    }

    fn place(&self, index: u32) -> &Place {
        let (page, offset) = page_of(index);
        let places = self.pages[page].get_or_init(|| {
            let place = |_| Place {
                readiness: Readiness::new(),
                home: OnceLock::new(),
            };
            (0..FIRST_PAGE << page).map(place).collect()
        });
        &places[offset]
    }
}

/// The page that an index is in, and where.
fn page_of(index: u32) -> (usize, usize) {
    let index = u64::from(index) + u64::from(FIRST_PAGE);
    let page = index.ilog2() - FIRST_PAGE.ilog2();
    let offset = index - (u64::from(FIRST_PAGE) << page);
    (page as usize, offset as usize)
}
