//! Models of arming the watchdog while it looks or goes to rest.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
use loom::thread;

use super::super::watchdog::{Armed, ArmedLater};
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

/// Each task is seen by a look, although its thread sets the alarm only if no other has set it.
#[test]
fn a_task_queued_while_the_alarm_rings_is_seen() {
    model(|| {
        let state = Arc::new((
            ArmedLater::new(),
            Parker::current(),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        ));
        let its_state = Arc::clone(&state);
        let watchdog = thread::spawn(move || {
            let (armed_later, alarm, first, second) = &*its_state;
            loop {
                alarm.park(None);
                armed_later.begin_look();
                if first.load(Relaxed) + second.load(Relaxed) == 2 {
                    return;
                }
            }
        });
        let its_state = Arc::clone(&state);
        let producer = thread::spawn(move || {
            let (armed_later, alarm, _, second) = &*its_state;
            second.store(1, Relaxed);
            if armed_later.set() {
                alarm.unpark();
            }
        });
        let (armed_later, alarm, first, _) = &*state;
        first.store(1, Relaxed);
        if armed_later.set() {
            alarm.unpark();
        }
        producer.join().unwrap();
        watchdog.join().unwrap();
    });
}
