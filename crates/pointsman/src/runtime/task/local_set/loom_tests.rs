//! A loom model: another thread takes a dump while a local set runs a task and is dropped.

use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Waker};

use loom::thread;

use super::super::super::id::Id;
use super::{LocalSet, list};
use crate::task::arena::FoundTasks;

/// The sets of a thread without a runtime.
const NONE: Id = Id(0);

#[test]
fn a_dump_reads_a_set_that_runs_and_is_dropped_meanwhile() {
    loom::model(|| {
        let mut local = LocalSet::new();
        let first = local.spawn_local(async {}).id();
        let reading = thread::spawn(|| {
            let mut found = FoundTasks::default();
            list::find_tasks(NONE, &mut found);
            found.facts().map(|facts| facts.id).collect::<Vec<_>>()
        });
        let left = local.spawn_local(pending::<()>());
        let second = left.id();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut local).poll(&mut cx).is_pending());
        drop(local);
        assert!(left.is_finished());
        let read = reading.join().unwrap();
        assert!(read.iter().all(|id| [first, second].contains(id)));
        drop(left);
    });
}
