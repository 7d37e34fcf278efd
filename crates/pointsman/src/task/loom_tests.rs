//! Loom models of a task: threads that run, wake, cancel and join it.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use loom::future::block_on;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;

#[cfg(feature = "diagnostics")]
use super::inspect::TaskFacts;
use super::test_util::{Drops, WakeCounter, Workbench, poll};
use super::yield_now;

/// A future that is ready when `flags` equals `ready`, and stores its waker in `waker` at each poll.
async fn wait_for(flags: Arc<AtomicUsize>, ready: usize, waker: Arc<Mutex<Option<Waker>>>) {
    poll_fn(|cx| {
        *waker.lock().unwrap() = Some(cx.waker().clone());
        match flags.load(Relaxed) {
            value if value == ready => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
}

#[test]
fn the_next_poll_sees_what_was_written_before_the_wake_up() {
    loom::model(|| {
        let bench = Workbench::new();
        let flags = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(Mutex::new(None));
        let handle = bench.spawn(wait_for(flags.clone(), 2, slot.clone()));
        let runner = bench.runner();
        runner.run_queued();
        let waker = slot.lock().unwrap().take().unwrap();
        let other = waker.clone();
        let (flags_1, flags_2) = (flags.clone(), flags);
        let by_reference = thread::spawn(move || {
            flags_1.fetch_add(1, Relaxed);
            waker.wake_by_ref();
        });
        let by_value = thread::spawn(move || {
            flags_2.fetch_add(1, Relaxed);
            other.wake();
        });
        runner.run_queued();
        by_reference.join().unwrap();
        by_value.join().unwrap();
        runner.run_queued();
        assert!(handle.is_finished(), "a wake-up was lost");
        drop((handle, runner));
        drop(slot.lock().unwrap().take());
        bench.close().check();
    });
}

#[test]
fn a_task_that_yields_loses_no_wake_up() {
    loom::model(|| {
        let bench = Workbench::new();
        let flags = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(Mutex::new(None));
        let waits = wait_for(flags.clone(), 1, slot.clone());
        let handle = bench.spawn(async {
            waits.await;
            yield_now().await;
        });
        let runner = bench.runner();
        runner.run_queued();
        let waker = slot.lock().unwrap().take().unwrap();
        let thread = thread::spawn(move || {
            flags.fetch_add(1, Relaxed);
            waker.wake_by_ref();
            waker.wake();
        });
        runner.run_queued();
        thread.join().unwrap();
        runner.run_queued();
        assert!(handle.is_finished(), "a wake-up was lost");
        drop((handle, runner));
        drop(slot.lock().unwrap().take());
        bench.close().check();
    });
}

#[test]
fn the_join_handle_receives_the_output() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, handle) = bench.make(async move { witness });
        let runner = bench.runner();
        let thread = thread::spawn(move || runner.run(entry));
        let output = block_on(handle).unwrap();
        assert_eq!(drops.count(), 0);
        drop(output);
        thread.join().unwrap();
        assert_eq!((drops.count(), bench.completed()), (1, 1));
        bench.close().check();
    });
}

#[test]
fn a_waker_replaced_during_completion_is_not_lost() {
    loom::model(|| {
        let bench = Workbench::new();
        let (entry, mut handle) = bench.make(async { 7 });
        let (wakes, first) = WakeCounter::new();
        let runner = bench.runner();
        assert!(poll(&mut handle, &first).is_pending());
        let thread = thread::spawn(move || runner.run(entry));
        assert_eq!(block_on(handle).unwrap(), 7);
        thread.join().unwrap();
        drop(first);
        assert_eq!(Arc::strong_count(&wakes), 1, "a waker was kept");
        bench.close().check();
    });
}

#[test]
fn a_handle_dropped_during_completion_leaks_nothing() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, mut handle) = bench.make(async move { witness });
        let (wakes, waker) = WakeCounter::new();
        assert!(poll(&mut handle, &waker).is_pending());
        drop(waker);
        let runner = bench.runner();
        let thread = thread::spawn(move || runner.run(entry));
        drop(handle);
        thread.join().unwrap();
        assert_eq!(drops.count(), 1);
        assert!(wakes.count() <= 1);
        assert_eq!(Arc::strong_count(&wakes), 1, "a waker was kept");
        bench.close().check();
    });
}

#[test]
fn an_output_is_taken_or_dropped_once() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, mut handle) = bench.make(async move { witness });
        let (wakes, waker) = WakeCounter::new();
        let runner = bench.runner();
        let thread = thread::spawn(move || runner.run(entry));
        let first = poll(&mut handle, &waker);
        let second = match first {
            Poll::Ready(_) => Poll::Pending,
            Poll::Pending => poll(&mut handle, &waker),
        };
        drop((first, second, handle, waker));
        thread.join().unwrap();
        assert_eq!(drops.count(), 1);
        assert_eq!(Arc::strong_count(&wakes), 1, "a waker was kept");
        bench.close().check();
    });
}

#[test]
fn an_aborted_task_completes_once() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, handle) = bench.make(async move {
            yield_now().await;
            drop(witness);
        });
        let abort = handle.abort_handle();
        let runner = bench.runner();
        let aborting = thread::spawn(move || abort.abort());
        let running = runner.clone();
        let thread = thread::spawn(move || {
            running.run(entry);
            running.run_queued();
        });
        aborting.join().unwrap();
        thread.join().unwrap();
        runner.run_queued();
        assert!(handle.is_finished());
        let result = block_on(handle);
        assert!(result.is_ok() || result.is_err_and(|error| error.is_cancelled()));
        assert_eq!((drops.count(), bench.completed()), (1, 1));
        drop(runner);
        bench.close().check();
    });
}

#[test]
fn an_idle_task_is_aborted_or_woken() {
    loom::model(|| {
        let bench = Workbench::new();
        let flags = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(Mutex::new(None));
        let handle = bench.spawn(wait_for(flags.clone(), 1, slot.clone()));
        let runner = bench.runner();
        runner.run_queued();
        let waker = slot.lock().unwrap().take().unwrap();
        let abort = handle.abort_handle();
        let aborting = thread::spawn(move || {
            abort.abort();
            abort.abort();
        });
        let waking = thread::spawn(move || {
            flags.store(1, Relaxed);
            waker.wake();
        });
        runner.run_queued();
        aborting.join().unwrap();
        waking.join().unwrap();
        runner.run_queued();
        assert!(handle.is_finished(), "an abort was lost");
        drop((handle, runner));
        drop(slot.lock().unwrap().take());
        bench.close().check();
    });
}

#[test]
fn a_task_is_cancelled_while_it_runs() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, handle) = bench.make(async move {
            let _witness = witness;
            pending::<()>().await;
        });
        let runner = bench.runner();
        let thread = thread::spawn(move || {
            runner.run(entry);
            runner.run_queued();
        });
        bench.shut_down();
        assert!(block_on(handle).unwrap_err().is_cancelled());
        thread.join().unwrap();
        assert_eq!((drops.count(), bench.completed()), (1, 1));
        bench.close().check();
    });
}

#[test]
fn a_task_is_cancelled_while_it_yields() {
    loom::model(|| {
        let bench = Workbench::new();
        let drops = Drops::default();
        let witness = drops.witness();
        let (entry, handle) = bench.make(async move {
            yield_now().await;
            yield_now().await;
            witness
        });
        let runner = bench.runner();
        let thread = thread::spawn(move || {
            // Discards the entry instead of queueing it again, as a thread does at shutdown.
            if let Some(again) = entry.run()
                && let Some(again) = again.run()
            {
                again.give_up();
            }
            drop(runner);
        });
        bench.shut_down();
        thread.join().unwrap();
        assert!(block_on(handle).unwrap_err().is_cancelled());
        assert_eq!((drops.count(), bench.completed()), (1, 1));
        bench.close().check();
    });
}

#[test]
fn a_task_is_cancelled_while_it_is_woken() {
    loom::model(|| {
        let bench = Workbench::new();
        let flags = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(Mutex::new(None));
        let handle = bench.spawn(wait_for(flags, 1, slot.clone()));
        let runner = bench.runner();
        runner.run_queued();
        let waker = slot.lock().unwrap().take().unwrap();
        let waking = thread::spawn(move || {
            waker.wake();
            runner.run_queued();
        });
        bench.shut_down();
        waking.join().unwrap();
        assert!(handle.is_finished());
        drop(handle);
        drop(slot.lock().unwrap().take());
        bench.close().check();
    });
}

#[test]
fn the_last_reference_frees_the_task() {
    loom::model(|| {
        let bench = Workbench::new();
        let slot = Arc::new(Mutex::new(None));
        let (entry, handle) = bench.make(wait_for(Arc::new(AtomicUsize::new(1)), 1, slot.clone()));
        let runner = bench.runner();
        runner.run(entry);
        let waker = slot.lock().unwrap().take().unwrap();
        let abort = handle.abort_handle();
        let with_waker = thread::spawn(move || waker.wake());
        let with_abort = thread::spawn(move || drop(abort));
        drop((handle, runner));
        with_waker.join().unwrap();
        with_abort.join().unwrap();
        bench.close().check();
    });
}

#[test]
fn memory_is_returned_while_the_arena_allocates_and_closes() {
    loom::model(|| {
        let bench = Workbench::new();
        let runner = bench.runner();
        let (handles, others): (Vec<_>, Vec<_>) = (0..2)
            .map(|_| (bench.spawn(async {}), bench.spawn(async {})))
            .unzip();
        runner.run_queued();
        let threads: Vec<_> = handles
            .into_iter()
            .map(|handle| thread::spawn(move || drop(handle)))
            .collect();
        let (entry, handle) = bench.make(async {});
        runner.run(entry);
        drop((handle, others, runner));
        let gone = bench.close();
        for thread in threads {
            thread.join().unwrap();
        }
        gone.check();
    });
}

#[test]
fn tasks_are_found_while_the_owner_spawns_and_frees() {
    loom::model(|| {
        let bench = Workbench::new();
        let runner = bench.runner();
        let drops = Drops::default();
        let make = || {
            let witness = drops.witness();
            bench.make(async move {
                yield_now().await;
                drop(witness);
            })
        };
        let (entry, handle) = make();
        let find = bench.finder();
        let finding = thread::spawn(|| find().shut_down());
        runner.run(entry);
        runner.run_queued();
        // Frees the slot, which the next task may take.
        drop(handle);
        let (entry, handle) = make();
        runner.run(entry);
        finding.join().unwrap();
        runner.run_queued();
        assert!(handle.is_finished());
        drop((handle, runner));
        assert_eq!((drops.count(), bench.completed()), (2, 2));
        bench.close().check();
    });
}

#[test]
fn a_dump_reads_tasks_that_complete_and_are_freed_meanwhile() {
    loom::model(|| {
        let bench = Workbench::new();
        let (entry, handle) = bench.make(async {});
        let first = handle.id();
        drop(handle);
        let find = bench.finder();
        let reading = thread::spawn(move || {
            let found = find();
            found.facts().map(|facts| facts.id).collect::<Vec<_>>()
        });
        let runner = bench.runner();
        runner.run(entry);
        // May have the memory of the first.
        let (entry, handle) = bench.make(async {});
        let second = handle.id();
        runner.run(entry);
        let read = reading.join().unwrap();
        assert!(read.iter().all(|id| [first, second].contains(id)));
        drop((handle, runner));
        bench.close().check();
    });
}

#[cfg(feature = "diagnostics")]
#[test]
fn a_dump_reads_the_name_of_a_task_that_is_freed_meanwhile() {
    loom::model(|| {
        let bench = Workbench::new();
        let (entry, handle) = bench.make_named("first", async {});
        let first = handle.id();
        drop(handle);
        let find = bench.finder();
        let reading = thread::spawn(move || {
            let found = find();
            let origin = |facts: TaskFacts| (facts.id, facts.origin.unwrap().name);
            found.facts().map(origin).collect::<Vec<_>>()
        });
        let runner = bench.runner();
        runner.run(entry);
        // May have the memory of the first.
        let (entry, handle) = bench.make(async {});
        runner.run(entry);
        for (id, name) in reading.join().unwrap() {
            assert_eq!(name.as_deref(), (id == first).then_some("first"));
        }
        drop((handle, runner));
        bench.close().check();
    });
}
