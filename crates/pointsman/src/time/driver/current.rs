//! Which driver a thread's timers belong to, and where a timer finds its own again.
//!
//! A timer keeps the number of its driver, which costs nothing to copy. Nearly always it is used where that is
//! the current one, and no reference is counted; elsewhere it is looked up.
//!
//! Invariant: no user's code runs while the current driver is borrowed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Driver;

/// What this thread's timers go by.
enum Current {
    NoRuntime,
    /// A runtime without time.
    NoTime,
    Driver(Arc<Driver>),
}

#[cfg(not(all(test, loom)))]
std::thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::NoRuntime) };
}
#[cfg(all(test, loom))]
loom::thread_local! {
    static CURRENT: RefCell<Current> = RefCell::new(Current::NoRuntime);
}

/// Why there is no current driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::time) enum Missing {
    NoRuntime,
    NoTime,
    ThreadEnds,
}

/// Sets the driver of the runtime that this thread is in. `None`: it is in none; `Some(None)`: in one without
/// time.
pub(crate) fn set_current(runtime: Option<Option<&Arc<Driver>>>) {
    let current = match runtime {
        None => Current::NoRuntime,
        Some(None) => Current::NoTime,
        Some(Some(driver)) => Current::Driver(driver.clone()),
    };
    // The one before may be the last reference: it goes when nothing is borrowed.
    let before = CURRENT.try_with(|cell| cell.replace(current));
    drop(before);
}

/// The number of the current driver.
#[inline]
pub(in crate::time) fn current_id() -> Result<u64, Missing> {
    CURRENT
        .try_with(|current| match &*current.borrow() {
            Current::Driver(driver) => Ok(driver.id),
            Current::NoTime => Err(Missing::NoTime),
            Current::NoRuntime => Err(Missing::NoRuntime),
        })
        .unwrap_or(Err(Missing::ThreadEnds))
}

/// The current driver.
pub(in crate::time) fn current() -> Option<Arc<Driver>> {
    let current = CURRENT.try_with(|current| match &*current.borrow() {
        Current::Driver(driver) => Some(driver.clone()),
        _ => None,
    });
    current.ok().flatten()
}

/// Runs `run`, which runs no user's code, with the driver of this number. `None` if it is gone.
#[inline]
pub(in crate::time) fn with_driver<R>(id: u64, run: impl FnOnce(&Driver) -> R) -> Option<R> {
    let mut run = Some(run);
    let mut run = |driver: &Driver| run.take().map(|run| run(driver));
    let here = CURRENT.try_with(|current| match &*current.borrow() {
        Current::Driver(driver) if driver.id == id => run(driver),
        _ => None,
    });
    match here {
        Ok(Some(result)) => Some(result),
        _ => find(id).and_then(|driver| run(&driver)),
    }
}

/// Tells who waits for the next timer of this driver that there is an earlier one.
#[cold]
pub(in crate::time) fn tell(id: u64) {
    let driver = current().filter(|driver| driver.id == id);
    if let Some(driver) = driver.or_else(|| find(id)) {
        driver.tell();
    }
}

thread_value! {
    /// 0: it has none yet.
    static NUMBER: Cell<usize> = Cell::new(0);
}

/// A number for this thread, so that each has another shard if there are enough. For loom's threads it would not be
/// the same each time.
#[inline]
pub(super) fn thread_sequence() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NUMBER.try_with(|number| {
        if number.get() == 0 && cfg!(not(all(test, loom))) {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    });
    number.unwrap_or(0)
}

static NEXT: AtomicU64 = AtomicU64::new(0);
static DRIVERS: Mutex<BTreeMap<u64, Weak<Driver>>> = Mutex::new(BTreeMap::new());

fn drivers() -> MutexGuard<'static, BTreeMap<u64, Weak<Driver>>> {
    DRIVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that no other driver of the process has or had.
pub(super) fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn add(driver: &Arc<Driver>) {
    drivers().insert(driver.id, Arc::downgrade(driver));
}

pub(super) fn remove(id: u64) {
    drivers().remove(&id);
}

#[cold]
fn find(id: u64) -> Option<Arc<Driver>> {
    drivers().get(&id)?.upgrade()
}
