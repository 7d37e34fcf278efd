//! Models of the queues, and of who sleeps and who is woken: every order in which threads can meet.
//!
//! No time passes here: what is woken in the end may not rely on a tick.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;

use super::super::builder::Config;
use super::super::handle::Handle;
use super::inject::Inject;
use super::worker::Role;
use super::*;
use crate::task::workbench::{Drops, Workbench};
use crate::task::{Id, JoinHandle, yield_now};

/// Like `loom::model`, for those that go on for longer.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.check(run);
}

/// Of three threads that all go on for long: their orders are too many, and are tried for some seconds.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.max_duration = Some(Duration::from_secs(4));
    builder.check(run);
}

// --- the queue of a seat ---

/// The numbers of the tasks of these entries, which are given up.
fn numbers(entries: impl IntoIterator<Item = Notified>) -> Vec<Id> {
    let give_up = |entry: Notified| {
        let id = entry.task.id();
        entry.give_up();
        id
    };
    entries.into_iter().map(give_up).collect()
}

fn pop_all(queue: &Queue) -> Vec<Id> {
    numbers(std::iter::from_fn(|| queue.pop()))
}

/// Each number once, in no particular order.
fn assert_all(mut seen: Vec<Id>, mut expected: Vec<Id>) {
    seen.sort_by_key(Id::to_string);
    expected.sort_by_key(Id::to_string);
    assert_eq!(seen, expected);
}

fn is_in_order(all: &[Id], part: &[Id]) -> bool {
    let mut rest = all.iter();
    part.iter().all(|id| rest.any(|other| other == id))
}

#[test]
fn a_queue_that_grows_while_others_take_loses_nothing() {
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
            // SAFETY: only this thread puts in.
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
fn what_is_stolen_is_nobody_elses() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(5);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let mut entries = entries.into_iter();
        // SAFETY: only this thread puts in.
        entries.by_ref().take(2).for_each(|entry| unsafe {
            queue.push(entry);
        });
        let victim = Arc::clone(&queue);
        let thief = thread::spawn(move || {
            let own = Queue::new();
            // SAFETY: the queue is this thread's.
            let first = unsafe { victim.steal(&own) };
            let mut stolen = numbers(first);
            stolen.extend(pop_all(&own));
            stolen
        });
        let mut seen = numbers(queue.pop());
        // SAFETY: as above.
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
fn two_may_steal_at_once() {
    model(|| {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entries = bench.entries(4);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        for entry in entries {
            // SAFETY: only this thread puts in.
            unsafe { queue.push(entry) };
        }
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let victim = Arc::clone(&queue);
                thread::spawn(move || {
                    let own = Queue::new();
                    // SAFETY: the queue is this thread's.
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
fn a_slot_is_not_used_again_before_it_was_read() {
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
            // SAFETY: only this thread puts in.
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

// --- what comes from outside ---

#[test]
fn what_is_brought_is_taken_once_and_in_order() {
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
fn what_comes_when_it_is_closed_is_given_back() {
    model(|| {
        let bench = Workbench::new();
        let inject = Arc::new(Inject::new());
        let entries = bench.entries(2);
        let all: Vec<Id> = entries.iter().map(|entry| entry.task.id()).collect();
        let to = Arc::clone(&inject);
        let bringing = thread::spawn(move || {
            let back: Vec<Notified> = entries
                .into_iter()
                .filter_map(|entry| to.push(entry).err())
                .collect();
            numbers(back)
        });
        let from = Arc::clone(&inject);
        let taking = thread::spawn(move || numbers(from.take()));
        let mut seen = numbers(inject.close());
        seen.extend(bringing.join().unwrap());
        seen.extend(taking.join().unwrap());
        assert_all(seen, all);
        assert!(numbers(inject.take()).is_empty());
        bench.close().check();
    });
}

// --- a runtime ---

/// Ends the runtime as its owner does, whose workers these are.
struct Running {
    handle: Handle,
    workers: Vec<thread::JoinHandle<()>>,
}

impl Running {
    fn new(workers: usize) -> Self {
        let config = Config::of_model(workers, 1, Duration::ZERO);
        let handle = Handle {
            shared: Shared::new(1, config, |_| None),
        };
        let workers = (0..workers)
            .map(|index| {
                let handle = handle.clone();
                thread::spawn(move || run_worker(&handle, index))
            })
            .collect();
        Self { handle, workers }
    }

    fn end(self) {
        let shared = Arc::downgrade(&self.handle.shared);
        self.handle.shared.begin_shutdown();
        self.handle.shared.blocking.begin_shutdown();
        for worker in self.workers {
            worker.join().unwrap();
        }
        self.handle.shared.finish_shutdown();
        self.handle.shared.blocking.wait(None);
        drop(self.handle);
        assert_eq!(shared.strong_count(), 0, "the runtime is still there");
    }
}

/// Waits without a runtime.
fn wait<T>(handle: JoinHandle<T>) -> T {
    match loom::future::block_on(handle) {
        Ok(output) => output,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_task_that_is_brought_from_outside_is_not_slept_on() {
    model(|| {
        let runtime = Running::new(1);
        assert_eq!(wait(runtime.handle.spawn(async { 7 })), 7);
        runtime.end();
    });
}

#[test]
fn two_that_are_brought_at_once_are_not_slept_on() {
    large_model(|| {
        let runtime = Running::new(1);
        let handle = runtime.handle.clone();
        let other = thread::spawn(move || wait(handle.spawn(async { 7 })));
        assert_eq!(wait(runtime.handle.spawn(async { 8 })), 8);
        assert_eq!(other.join().unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn a_task_is_woken_from_outside() {
    model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let task = runtime.handle.spawn(async move { rx.await.unwrap() });
        tx.send(7).unwrap();
        assert_eq!(wait(task), 7);
        runtime.end();
    });
}

#[test]
fn a_runtime_ends_while_a_task_is_brought() {
    model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let witness = drops.witness();
        let handle = runtime.handle.clone();
        let bringing = thread::spawn(move || {
            drop(handle.spawn(async move {
                yield_now().await;
                drop(witness);
            }));
        });
        runtime.handle.shared.begin_shutdown();
        bringing.join().unwrap();
        runtime.end();
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn whoever_blocks_on_a_future_runs_tasks_and_is_woken() {
    model(|| {
        let runtime = Running::new(0);
        let handle = runtime.handle.clone();
        let outside = thread::spawn(move || drop(handle.spawn(async {})));
        let shared = &runtime.handle.shared;
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let result = shared.block_on(async move {
            handle.spawn(async move { tx.send(7).unwrap() });
            rx.await.unwrap()
        });
        assert_eq!(result, 7);
        outside.join().unwrap();
        runtime.end();
    });
}

#[test]
fn whoever_blocks_on_a_future_and_leaves_lets_a_worker_do_what_was_brought() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let outside = thread::spawn(move || {
            let task = handle.spawn(async {});
            tx.send(()).unwrap();
            task
        });
        runtime.handle.shared.block_on(rx).unwrap();
        let task = outside.join().unwrap();
        wait(task);
        runtime.end();
    });
}

#[test]
fn a_seat_that_is_left_goes_to_one_that_stands() {
    model(|| {
        let runtime = Running::new(0);
        let shared = Arc::clone(&runtime.handle.shared);
        let (tx, rx) = crate::sync::oneshot::channel();
        let task = runtime.handle.spawn(rx);
        let other = thread::spawn(move || shared.block_on(task).unwrap().unwrap());
        runtime.handle.shared.block_on(async move {
            yield_now().await;
            tx.send(7).unwrap();
        });
        assert_eq!(other.join().unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn one_that_is_offered_a_seat_and_leaves_offers_it_to_the_next() {
    model(|| {
        let runtime = Running::new(0);
        let shared = &runtime.handle.shared;
        // The seat is held by this thread, and two stand or are about to.
        let seat = shared.take_seat().unwrap();
        let (tx, rx) = crate::sync::oneshot::channel::<()>();
        let on = Arc::clone(shared);
        let leaving = thread::spawn(move || on.block_on(rx).unwrap());
        let task = runtime.handle.spawn(async { 7 });
        let on = Arc::clone(shared);
        let last = thread::spawn(move || on.block_on(task).unwrap());
        shared.leave_seat(seat);
        tx.send(()).unwrap();
        leaving.join().unwrap();
        assert_eq!(last.join().unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn whoever_waits_for_a_thread_that_is_aside_gets_a_substitute() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let shared = Arc::clone(&runtime.handle.shared);
        let aside = runtime.handle.spawn(async move {
            shared.step_aside(|| loom::future::block_on(rx).unwrap());
        });
        let other = runtime.handle.spawn(async move { tx.send(()).unwrap() });
        wait(other);
        wait(aside);
        runtime.end();
    });
}

#[test]
fn a_thread_is_back_before_its_substitute_has_come() {
    large_model(|| {
        let runtime = Running::new(1);
        let shared = Arc::clone(&runtime.handle.shared);
        let aside = runtime
            .handle
            .spawn(async move { shared.step_aside(|| ()) });
        let other = runtime.handle.spawn(async {});
        wait(aside);
        wait(other);
        runtime.end();
    });
}

#[test]
fn what_a_thread_has_queued_and_another_does_not_take_is_ticked_for() {
    model(|| {
        let idle = Arc::new(Idle::new(2));
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let entry = bench.entries(1).pop().unwrap();
        idle.came();
        idle.came();
        let (its_idle, its_queue) = (Arc::clone(&idle), Arc::clone(&queue));
        let sleeper = thread::spawn(move || {
            let parker = ThreadParker::current();
            its_idle.sleep(1, &parker, Role::Worker, false);
            !its_queue.is_empty()
        });
        // SAFETY: only this thread puts in.
        let waiting = unsafe { queue.push(entry) };
        idle.queued(waiting);
        let is_seen = sleeper.join().unwrap();
        // Now this thread may block.
        assert!(is_seen || idle.is_ticking());
        numbers(queue.pop());
        bench.close().check();
    });
}

#[test]
fn one_that_is_called_and_wakes_by_itself_is_awake_once() {
    model(|| {
        let idle = Arc::new(Idle::new(2));
        idle.came();
        let its_idle = Arc::clone(&idle);
        let work = Arc::new(AtomicUsize::new(0));
        let its_work = Arc::clone(&work);
        let sleeper = thread::spawn(move || {
            let parker = ThreadParker::current();
            its_idle.sleep(0, &parker, Role::Worker, false);
            let woken = match its_work.load(Relaxed) {
                0 => loop {
                    parker.park(None);
                    if parker.take_called() {
                        break idle::Woken::Called;
                    }
                },
                _ => its_idle.wake(0, &parker),
            };
            if woken == idle::Woken::Called {
                its_idle.found();
            }
        });
        work.store(1, Relaxed);
        idle.brought();
        sleeper.join().unwrap();
        assert!(idle.try_search(false), "somebody is said to look for work");
        idle.found();
        assert!(!idle.has_worker());
    });
}

#[test]
fn a_guest_is_no_keeper_where_a_worker_sleeps() {
    model(|| {
        let idle = Idle::new(3);
        let parkers = [(); 3].map(|()| ThreadParker::current());
        parkers.iter().for_each(|_| idle.came());
        idle.sleep(0, &parkers[0], Role::Worker, false);
        idle.sleep(1, &parkers[1], Role::Worker, false);
        // The keeper has not found anything yet.
        idle.wake(0, &parkers[0]);
        idle.sleep(2, &parkers[2], Role::Guest, false);
        idle.queued(1);
        // Now it may block.
        assert!(idle.is_keeper(1) && idle.is_ticking());
    });
}

#[test]
fn one_that_ceases_to_tick_stops_no_other() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let idle = Arc::new(Idle::new(3));
        idle.came();
        idle.came();
        let parker = ThreadParker::current();
        idle.sleep(0, &parker, Role::Guest, false);
        idle.left();
        assert!(idle.is_keeper(0) && idle.is_ticking());
        let its_idle = Arc::clone(&idle);
        let guest = thread::spawn(move || {
            let mut quiet = 0;
            (0..10).for_each(|_| its_idle.ticked(&mut quiet));
        });
        idle.came();
        idle.came();
        idle.sleep(1, &parker, Role::Worker, false);
        assert!(idle.is_keeper(1) && idle.is_ticking());
        guest.join().unwrap();
    });
}
