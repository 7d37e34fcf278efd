//! Models of the inject queue.

use std::sync::Arc;

use loom::thread;

use super::{assert_all, is_in_order, model, numbers};
use crate::runtime::inject::Inject;
use crate::task::id::Id;
use crate::task::raw::Notified;
use crate::task::test_util::Workbench;

#[test]
fn each_entry_is_taken_once_and_in_order() {
    model(|| {
        let bench = Workbench::new();
        let inject = Arc::new(Inject::new());
        let mut entries = bench.entries(3);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let last = entries.pop().unwrap();
        let to = Arc::clone(&inject);
        let first = thread::spawn(move || {
            entries
                .into_iter()
                .for_each(|entry| to.push(entry).unwrap())
        });
        let to = Arc::clone(&inject);
        let second = thread::spawn(move || to.push(last).unwrap());
        let mut seen = numbers(inject.take());
        first.join().unwrap();
        second.join().unwrap();
        seen.extend(numbers(inject.take()));
        assert!(is_in_order(&seen, &all[..2]));
        assert_all(seen, all);
        assert!(inject.is_empty() && inject.len() == 0);
        bench.close().check();
    });
}

#[test]
fn a_closed_queue_returns_the_entry() {
    model(|| {
        let bench = Workbench::new();
        let inject = Arc::new(Inject::new());
        let entries = bench.entries(2);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let to = Arc::clone(&inject);
        let pushing = thread::spawn(move || {
            let back: Vec<Notified> = entries
                .into_iter()
                .filter_map(|entry| to.push(entry).err())
                .collect();
            numbers(back)
        });
        let from = Arc::clone(&inject);
        let taking = thread::spawn(move || numbers(from.take()));
        let mut seen = numbers(inject.close());
        seen.extend(pushing.join().unwrap());
        seen.extend(taking.join().unwrap());
        assert_all(seen, all);
        assert!(numbers(inject.take()).is_empty());
        bench.close().check();
    });
}
