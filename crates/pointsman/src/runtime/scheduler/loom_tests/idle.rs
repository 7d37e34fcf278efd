//! Models of sleeping, searching and calling workers.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;

use super::super::idle::{Idle, Searching, WakeReason};
use super::{model, numbers};
use crate::park::ThreadParker;
use crate::runtime::inject::Inject;
use crate::task::test_util::Workbench;

/// Waits to be called, like a worker that finds nothing to do.
fn wait_for_call(idle: &Idle, parker: &ThreadParker) -> Searching {
    loop {
        match idle.take_call(parker) {
            Some(searching) => return searching,
            None => parker.park(None),
        }
    }
}

#[test]
fn a_task_injected_while_the_last_worker_falls_asleep_is_seen() {
    model(|| {
        let idle = Arc::new(Idle::new(2));
        let inject = Arc::new(Inject::new());
        let bench = Workbench::new();
        let entry = bench.entries(1).pop().unwrap();
        idle.inc_awake();
        let (its_idle, its_inject) = (Arc::clone(&idle), Arc::clone(&inject));
        let sleeper = thread::spawn(move || {
            let parker = ThreadParker::current();
            its_idle.sleep(0, &parker, None);
            if its_inject.is_empty() {
                let searching = wait_for_call(&its_idle, &parker);
                its_idle.end_search(searching);
            }
        });
        inject.push(entry).unwrap();
        idle.notify_remote();
        sleeper.join().unwrap();
        numbers(inject.take());
        bench.close().check();
    });
}

#[test]
fn a_worker_called_while_it_wakes_up_is_counted_once() {
    model(|| {
        let idle = Arc::new(Idle::new(2));
        idle.inc_awake();
        let its_idle = Arc::clone(&idle);
        let work = Arc::new(AtomicUsize::new(0));
        let its_work = Arc::clone(&work);
        let sleeper = thread::spawn(move || {
            let parker = ThreadParker::current();
            its_idle.sleep(0, &parker, None);
            let woken = match its_work.load(Relaxed) {
                0 => WakeReason::Notified(wait_for_call(&its_idle, &parker)),
                _ => its_idle.wake(0, &parker),
            };
            if let WakeReason::Notified(searching) = woken {
                its_idle.end_search(searching);
            }
        });
        work.store(1, Relaxed);
        idle.notify_remote();
        sleeper.join().unwrap();
        let workers = idle.workers();
        let counts = (workers.searching, workers.awake, workers.sleeping);
        assert_eq!(counts, (0, 1, 0));
    });
}

/// A worker is called, falls asleep again after its search, and a task is injected meanwhile.
#[test]
fn a_stale_call_does_not_hide_a_later_one() {
    model(|| {
        let idle = Arc::new(Idle::new(2));
        let inject = Arc::new(Inject::new());
        let bench = Workbench::new();
        let entry = bench.entries(1).pop().unwrap();
        idle.inc_awake();
        let (its_idle, its_inject) = (Arc::clone(&idle), Arc::clone(&inject));
        let sleeper = thread::spawn(move || {
            let parker = ThreadParker::current();
            loop {
                its_idle.sleep(0, &parker, None);
                if !its_inject.is_empty() {
                    return;
                }
                let searching = wait_for_call(&its_idle, &parker);
                its_idle.end_search(searching);
                if !its_inject.is_empty() {
                    return;
                }
            }
        });
        let (its_idle, its_inject) = (Arc::clone(&idle), Arc::clone(&inject));
        let producer = thread::spawn(move || {
            its_inject.push(entry).unwrap();
            its_idle.notify_remote();
        });
        idle.call_one();
        producer.join().unwrap();
        sleeper.join().unwrap();
        numbers(inject.take());
        bench.close().check();
    });
}

#[test]
fn one_worker_searches_at_a_time() {
    model(|| {
        let idle = Arc::new(Idle::new(4));
        let count = Arc::new(AtomicUsize::new(0));
        let search = |idle: &Idle, count: &AtomicUsize, searching: Searching| {
            assert_eq!(count.fetch_add(1, Relaxed), 0, "two workers search");
            count.fetch_sub(1, Relaxed);
            idle.end_search(searching);
        };
        (0..3).for_each(|_| idle.inc_awake());
        let parker = ThreadParker::current();
        idle.sleep(0, &parker, None);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (idle, count) = (Arc::clone(&idle), Arc::clone(&count));
                thread::spawn(move || {
                    if let Some(searching) = idle.try_search() {
                        search(&idle, &count, searching);
                    }
                })
            })
            .collect();
        idle.notify_remote();
        if let Some(searching) = idle.take_call(&parker) {
            search(&idle, &count, searching);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(idle.workers().searching, 0);
    });
}
