//! The current timer driver of a thread, and the lookup of a driver by its id.
//!
//! A timer stores its driver's id, which costs nothing to copy. It is nearly always used where that driver is current,
//! so no reference is counted; elsewhere the driver is looked up.
//!
//! Invariant: no user code runs while the current driver is borrowed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Driver;

enum CurrentDriver {
    NoRuntime,
    /// A runtime without time enabled.
    NoTime,
    Driver(Arc<Driver>),
}

#[cfg(not(all(test, loom)))]
std::thread_local! {
    static CURRENT: RefCell<CurrentDriver> = const { RefCell::new(CurrentDriver::NoRuntime) };
}
#[cfg(all(test, loom))]
loom::thread_local! {
    static CURRENT: RefCell<CurrentDriver> = RefCell::new(CurrentDriver::NoRuntime);
}

/// Why a thread has no current driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::time) enum Missing {
    NoRuntime,
    NoTime,
    ThreadEnds,
}

/// Sets the driver of the runtime that this thread is in. `None`: in no runtime; `Some(None)`: in one without time.
pub(crate) fn set_current(runtime: Option<Option<&Arc<Driver>>>) {
    let current = match runtime {
        None => CurrentDriver::NoRuntime,
        Some(None) => CurrentDriver::NoTime,
        Some(Some(driver)) => CurrentDriver::Driver(driver.clone()),
    };
    // The previous value may be the last reference; it is dropped after the borrow has ended.
    let before = CURRENT.try_with(|cell| cell.replace(current));
    drop(before);
}

/// Returns the id of the current driver.
#[inline]
pub(in crate::time) fn current_id() -> Result<u64, Missing> {
    CURRENT
        .try_with(|current| match &*current.borrow() {
            CurrentDriver::Driver(driver) => Ok(driver.id),
            CurrentDriver::NoTime => Err(Missing::NoTime),
            CurrentDriver::NoRuntime => Err(Missing::NoRuntime),
        })
        .unwrap_or(Err(Missing::ThreadEnds))
}

pub(in crate::time) fn current() -> Option<Arc<Driver>> {
    let current = CURRENT.try_with(|current| match &*current.borrow() {
        CurrentDriver::Driver(driver) => Some(driver.clone()),
        _ => None,
    });
    current.ok().flatten()
}

/// Runs `run`, which must not run user code, with the driver of this id. Returns `None` if the driver is gone.
#[inline]
pub(in crate::time) fn with_driver<R>(id: u64, run: impl FnOnce(&Driver) -> R) -> Option<R> {
    let mut run = Some(run);
    let mut run = |driver: &Driver| run.take().map(|run| run(driver));
    let here = CURRENT.try_with(|current| match &*current.borrow() {
        CurrentDriver::Driver(driver) if driver.id == id => run(driver),
        _ => None,
    });
    match here {
        Ok(Some(result)) => Some(result),
        _ => find(id).and_then(|driver| run(&driver)),
    }
}

/// Notifies the waiter of this driver that the next timer has become earlier.
#[cold]
pub(in crate::time) fn notify_waiter(id: u64) {
    let driver = current().filter(|driver| driver.id == id);
    if let Some(driver) = driver.or_else(|| find(id)) {
        driver.notify_waiter();
    }
}

thread_value! {
    /// 0: not yet assigned.
    static NUMBER: Cell<usize> = Cell::new(0);
}

/// A sequence number of this thread, so that threads use different shards if there are enough. Always 0 under loom,
/// whose executions must be deterministic.
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

/// An id that no other driver of the process has or had.
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
