//! The runtimes that there are, by number. A timer keeps the number of its runtime, which costs nothing to
//! copy, and finds the runtime here if it is polled outside of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::handle::Handle;
use super::scheduler::Shared;

static NEXT: AtomicU64 = AtomicU64::new(1);
static RUNTIMES: Mutex<BTreeMap<u64, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// A number that no other runtime has.
pub(super) fn next_id() -> u64 {
    NEXT.fetch_add(1, Relaxed)
}

pub(super) fn add(shared: &Arc<Shared>) {
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.insert(shared.id, Arc::downgrade(shared));
}

pub(super) fn remove(id: u64) {
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.remove(&id);
}

pub(super) fn find(id: u64) -> Option<Handle> {
    let runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = runtimes.get(&id)?.upgrade()?;
    Some(Handle { shared })
}
