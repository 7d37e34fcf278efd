//! Models of arming the watchdog while it looks or goes to rest.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
use loom::thread;

use super::super::policy::Duty;
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
                let was_armed = armed.begin_look() == Duty::Queues;
                let before = std::mem::replace(&mut seen, queued.load(Relaxed));
                if seen == 2 {
                    return;
                }
                if seen > before {
                    armed.set(Duty::Queues);
                } else if !was_armed {
                    parker.park(None);
                }
            }
        });
        let (armed, parker, queued) = &*state;
        for number in 1..=2 {
            queued.store(number, Relaxed);
            // Replaces the time that a tick takes.
            fence(SeqCst);
            if !armed.is_set(Duty::Queues) && armed.set(Duty::Queues) < Duty::Queues {
                parker.unpark();
            }
        }
        watchdog.join().unwrap();
    });
}

/// A worker leaves the driver, and another queues a task: a look sees that the driver is left, and the alarm is set for the
/// task although the watchdog was armed for the driver.
#[test]
fn a_driver_that_is_left_while_the_watchdog_looks_is_seen() {
    model(|| {
        let state = Arc::new((Armed::new(), Parker::current(), AtomicUsize::new(0)));
        let its_state = Arc::clone(&state);
        let watchdog = thread::spawn(move || {
            let (armed, alarm, is_left) = &*its_state;
            loop {
                alarm.park(None);
                armed.begin_look();
                if is_left.load(Relaxed) == 1 {
                    return;
                }
            }
        });
        let its_state = Arc::clone(&state);
        let producer = thread::spawn(move || {
            let (armed, alarm, _) = &*its_state;
            if !armed.is_set(Duty::Queues) && armed.set(Duty::Queues) < Duty::Queues {
                alarm.unpark();
            }
        });
        let (armed, alarm, is_left) = &*state;
        is_left.store(1, Relaxed);
        // As in `attend_to_driver`.
        fence(SeqCst);
        if !armed.is_set(Duty::Driver) && armed.set(Duty::Driver) < Duty::Driver {
            alarm.unpark();
        }
        producer.join().unwrap();
        watchdog.join().unwrap();
    });
}
