//! Models of the queue of a slot: the owner pushes while other threads take.

use std::sync::Arc;

use loom::thread;

use super::super::queue::Queue;
use super::{assert_all, is_in_order, model, numbers};
use crate::task::Id;
use crate::task::test_util::Workbench;

fn pop_all(queue: &Queue) -> Vec<Id> {
    numbers(std::iter::from_fn(|| queue.pop()))
}

#[test]
fn loses_no_entry_while_it_grows_and_others_pop() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(4);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || numbers(queue.pop()))
            })
            .collect();
        for entry in entries {
            // SAFETY: this thread is the owner; the others only take.
            unsafe { queue.push(entry) };
        }
        let mut seen = pop_all(&queue);
        assert!(is_in_order(&all, &seen));
        for thread in threads {
            seen.extend(thread.join().unwrap());
        }
        assert_all(seen, all);
        bench.close().check();
    });
}

#[test]
fn a_stolen_entry_has_one_owner() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(5);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let mut entries = entries.into_iter();
        // SAFETY: this thread is the owner; the thief only steals.
        entries.by_ref().take(2).for_each(|entry| unsafe {
            queue.push(entry);
        });
        let victim = Arc::clone(&queue);
        let thief = thread::spawn(move || {
            let own = Queue::new();
            // SAFETY: this thread owns `own`.
            let first = unsafe { victim.steal(&own) };
            let mut stolen = numbers(first);
            stolen.extend(pop_all(&own));
            stolen
        });
        let mut seen = numbers(queue.pop());
        // SAFETY: this thread is the owner; the thief only steals.
        entries.for_each(|entry| unsafe {
            queue.push(entry);
        });
        seen.extend(pop_all(&queue));
        assert!(is_in_order(&all, &seen));
        let stolen = thief.join().unwrap();
        assert!(is_in_order(&all, &stolen));
        seen.extend(stolen);
        assert_all(seen, all);
        bench.close().check();
    });
}

#[test]
fn two_thieves_steal_at_once() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(4);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        for entry in entries {
            // SAFETY: this thread is the owner; the others only take.
            unsafe { queue.push(entry) };
        }
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let victim = Arc::clone(&queue);
                thread::spawn(move || {
                    let own = Queue::new();
                    // SAFETY: this thread owns `own`.
                    let first = unsafe { victim.steal(&own) };
                    let mut stolen = numbers(first);
                    stolen.extend(pop_all(&own));
                    stolen
                })
            })
            .collect();
        let mut seen = pop_all(&queue);
        for thief in thieves {
            let stolen = thief.join().unwrap();
            assert!(is_in_order(&all, &stolen));
            seen.extend(stolen);
        }
        assert_all(seen, all);
        bench.close().check();
    });
}

#[test]
fn a_slot_is_reused_only_after_it_was_read() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(4);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let from = Arc::clone(&queue);
        let taker = thread::spawn(move || {
            let mut taken = numbers(from.pop());
            taken.extend(numbers(from.pop()));
            taken
        });
        let mut seen = Vec::new();
        for entry in entries {
            // SAFETY: this thread is the owner; the others only take.
            unsafe { queue.push(entry) };
            seen.extend(numbers(queue.pop()));
        }
        let taken = taker.join().unwrap();
        assert!(is_in_order(&all, &taken));
        seen.extend(taken);
        assert_all(seen, all);
        bench.close().check();
    });
}
