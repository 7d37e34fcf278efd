//! Models of the stall monitor's reads of a slot while its worker continues.

use std::sync::Arc;

use loom::thread;

use super::super::slot::{Current, Slot};
use super::model;
use crate::runtime::config::Config;
use crate::task::test_util::Workbench;
use std::time::Duration;

/// While the number of steps is that of a poll, the monitor does not see the task of a later poll.
#[test]
fn a_later_task_is_not_taken_for_the_one_that_is_stuck() {
    model(|| {
        let bench = Workbench::new();
        let entries = bench.entries(2);
        let tasks = [entries[0].task, entries[1].task];
        let slot = Arc::new(Slot::new(0, &Config::for_model(1, 1, Duration::ZERO)));
        slot.begin_poll(tasks[0]);
        let stuck = slot.steps();
        let its_slot = Arc::clone(&slot);
        let later = tasks[1].as_ptr().addr();
        let monitor = thread::spawn(move || {
            let current = its_slot.current();
            let is_later = current == Current::Task(later);
            assert!(!is_later || its_slot.steps() != stuck);
        });
        slot.begin_poll(tasks[1]);
        slot.end_polls();
        monitor.join().unwrap();
        super::numbers(entries);
        bench.close().check();
    });
}
