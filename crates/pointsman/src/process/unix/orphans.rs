//! Children that were dropped and have yet to end. Each is asked for its end then, so that its number is given back.
//!
//! Invariant: a child is asked under the lock before it is put in, and the signal that it has ended is reacted to
//! before that. So it ends before it is asked, or its signal finds it here.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::signal::registry;

static ORPHANS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

fn orphans() -> MutexGuard<'static, Vec<Child>> {
    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn adopt(mut child: Child) {
    // If the system does not let it, nothing but the next signal that it lets through can help.
    let _ = registry::react_to(libc::SIGCHLD, reap);
    let mut orphans = orphans();
    if is_running(&mut child) {
        orphans.push(child);
    }
}

fn reap() {
    orphans().retain_mut(is_running);
}

/// What can't be asked was asked by something else of this program.
fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}
