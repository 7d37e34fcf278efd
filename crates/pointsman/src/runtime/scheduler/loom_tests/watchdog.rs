//! A model of the watchdog's rest.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
use loom::thread;

use super::super::watchdog::Armed;
use super::model;
use crate::loom::Parker;

/// A task is queued twice, and the watchdog sees it each time.
#[test]
fn a_task_queued_while_the_watchdog_goes_to_rest_is_seen() {
    model(|| {
        let state = Arc::new((Armed::new(), Parker::current(), AtomicUsize::new(0)));
        let its_state = Arc::clone(&state);
        let watchdog = thread::spawn(move || {
            let (armed, parker, queued) = &*its_state;
            // The first task arms and wakes the watchdog.
            parker.park(None);
            let mut seen = 0;
            loop {
                let before = std::mem::replace(&mut seen, queued.load(Relaxed));
                if seen == 2 {
                    return;
                }
                if armed.may_rest(seen > before) {
                    parker.park(None);
                }
            }
        });
        let (armed, parker, queued) = &*state;
        for number in 1..=2 {
            queued.store(number, Relaxed);
            // Replaces the time that a tick takes.
            fence(SeqCst);
            if !armed.is_set() && !armed.set() {
                parker.unpark();
            }
        }
        watchdog.join().unwrap();
    });
}
