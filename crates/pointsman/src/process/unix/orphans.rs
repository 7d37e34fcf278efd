//! Dropped children that still run. Each is reaped when it exits, so that its process id is freed.
//!
//! Invariant: the reaction to `SIGCHLD` is installed first, and the child is checked under the lock before it is added.
//! Either it has exited before the check, or its signal finds it in the list.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::signal::registry;

static ORPHANS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

fn orphans() -> MutexGuard<'static, Vec<Child>> {
    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn adopt(mut child: Child) {
    // If this fails, only a `SIGCHLD` that arrives for another reason can reap the child.
    let _ = registry::react_to(libc::SIGCHLD, reap);
    let mut orphans = orphans();
    if is_running(&mut child) {
        orphans.push(child);
    }
}

fn reap() {
    orphans().retain_mut(is_running);
}

/// A child that cannot be checked was reaped by other code in this process.
fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}
