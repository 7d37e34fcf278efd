//! Tests of tasks and their memory, small enough for Miri.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread;

use super::test_util::{Drops, WakeCounter, Witness, Workbench, poll};
use super::yield_now;

/// Larger than the largest size class.
type Large = [u64; 200];

#[test]
fn a_task_returns_its_output() {
    let bench = Workbench::new();
    let handle = bench.spawn(async {
        yield_now().await;
        String::from("done")
    });
    let large: Large = [7; 200];
    let other = bench.spawn(async move {
        yield_now().await;
        large
    });
    let (wakes, waker) = WakeCounter::new();
    let (mut handle, mut other) = (handle, other);
    assert!(poll(&mut handle, &waker).is_pending());
    bench.runner().run_queued();
    assert_eq!(wakes.count(), 1);
    assert!(matches!(poll(&mut handle, &waker), Poll::Ready(Ok(output)) if output == "done"));
    assert!(matches!(poll(&mut other, &waker), Poll::Ready(Ok(output)) if output == large));
    drop((handle, other, waker));
    assert_eq!((Arc::strong_count(&wakes), bench.completed()), (1, 2));
    bench.close().check();
}

#[test]
fn the_join_handle_reports_panics() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("drop"));
        }
    }
    let bench = Workbench::new();
    let runner = bench.runner();
    let mut in_poll = bench.spawn(poll_fn(|_| -> Poll<()> {
        std::panic::resume_unwind(Box::new("poll"))
    }));
    let panics = Panics;
    let mut in_drop = bench.spawn(poll_fn(move |_| {
        let _captured = &panics;
        Poll::Ready(())
    }));
    let panics = Panics;
    // Both the future and the output panic when they are dropped.
    let both = bench.spawn(poll_fn(move |_| {
        let _captured = &panics;
        Poll::Ready(Panics)
    }));
    runner.run_queued();
    let waker = Waker::noop();
    let payload = |result| match result {
        Poll::Ready(Err(error)) => {
            let error: super::JoinError = error;
            *error.into_panic().downcast::<&str>().unwrap()
        }
        _ => panic!("the task did not panic"),
    };
    assert_eq!(payload(poll(&mut in_poll, waker)), "poll");
    assert_eq!(payload(poll(&mut in_drop, waker)), "drop");
    assert!(both.is_finished());
    // A panic of an output that is never taken is ignored.
    let output = bench.spawn(async { Panics });
    runner.run_queued();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(output))).is_ok());
    assert_eq!(bench.completed(), 4);
    drop((in_poll, in_drop, both, runner));
    bench.close().check();
}

#[test]
fn a_waker_that_panics_when_dropped_leaks_nothing() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("drop"));
        }
    }
    let bench = Workbench::new();
    let runner = bench.runner();
    let wait = |future: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        let mut handle = bench.spawn(future);
        assert!(poll(&mut handle, &Waker::from(Arc::new(Panics))).is_pending());
        handle
    };
    // First the handle is dropped before the task completes, then after it; last, another waker replaces this
    // one.
    drop(wait(Box::pin(pending())));
    let handle = wait(Box::pin(async {}));
    runner.run_queued();
    drop(handle);
    let mut handle = wait(Box::pin(async {}));
    assert!(poll(&mut handle, Waker::noop()).is_pending());
    runner.run_queued();
    assert!(poll(&mut handle, Waker::noop()).is_ready());
    drop((handle, runner));
    bench.close().check();
}

#[test]
fn a_future_that_panics_in_poll_and_in_drop_ends_only_its_task() {
    struct Panics;
    impl Future for Panics {
        type Output = ();
        fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
            std::panic::resume_unwind(Box::new("poll"))
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(PanicsToo));
        }
    }
    struct PanicsToo;
    impl Drop for PanicsToo {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("payload"));
        }
    }
    let bench = Workbench::new();
    let mut handle = bench.spawn(Panics);
    let cancelled = bench.spawn(async {
        let _throws = Panics;
        pending::<()>().await;
    });
    bench.runner().run_queued();
    let Poll::Ready(Err(error)) = poll(&mut handle, Waker::noop()) else {
        panic!("the join handle did not report the panic");
    };
    assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "poll");
    bench.shut_down();
    drop((handle, cancelled));
    bench.close().check();
}

#[test]
fn a_waker_that_panics_when_woken_does_not_stop_the_task() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
        fn wake_by_ref(self: &Arc<Self>) {
            std::panic::resume_unwind(Box::new("wake"));
        }
    }
    let bench = Workbench::new();
    let mut handle = bench.spawn(async {});
    assert!(poll(&mut handle, &Waker::from(Arc::new(Panics))).is_pending());
    bench.runner().run_queued();
    assert!(handle.is_finished());
    drop(handle);
    bench.close().check();
}

#[test]
fn handles_and_wakers_outlive_the_arena() {
    let bench = Workbench::new();
    let drops = Drops::default();
    let (taken, wakers) = mpsc::channel();
    let make = |witness: Witness| {
        let taken = taken.clone();
        bench.spawn(poll_fn(move |cx| {
            let _captured = &witness;
            taken.send(cx.waker().clone()).unwrap();
            Poll::<()>::Pending
        }))
    };
    let mut handles: Vec<_> = (0..70).map(|_| make(drops.witness())).collect();
    bench.runner().run_queued();
    let abort = handles[0].abort_handle();
    handles.truncate(40);
    let gone = bench.close();
    assert_eq!(drops.count(), 70);
    abort.abort();
    assert!(abort.is_finished());
    drop(taken);
    for waker in wakers {
        waker.wake_by_ref();
        let other = waker.clone();
        waker.wake();
        drop(other);
    }
    for mut handle in handles {
        match poll(&mut handle, Waker::noop()) {
            Poll::Ready(Err(error)) => assert!(error.is_cancelled()),
            _ => panic!("the task was not cancelled"),
        }
    }
    drop(abort);
    gone.check();
}

#[test]
fn other_threads_return_memory_of_all_sizes() {
    let bench = Workbench::new();
    let runner = bench.runner();
    let drops = Drops::default();
    let mut late = None;
    for round in 0..4 {
        let (to, from) = mpsc::channel();
        let other = thread::spawn(move || from.into_iter().for_each(drop));
        for _ in 0..40 {
            let (small, middle, large) = (drops.witness(), drops.witness(), drops.witness());
            let (words, most): ([u64; 60], Large) = ([round; 60], [round; 200]);
            let handles = (
                bench.spawn(async move { small }),
                bench.spawn(async move { (middle, words) }),
                bench.spawn(async move { (large, most) }),
            );
            runner.run_queued();
            if round % 2 == 0 {
                to.send(handles).unwrap();
            }
        }
        drop(to);
        match round {
            // Some handles are dropped after the arena closed.
            2 => late = Some(other),
            _ => other.join().unwrap(),
        }
    }
    let handle = bench.spawn(pending::<()>());
    drop((handle, runner));
    let gone = bench.close();
    late.unwrap().join().unwrap();
    assert_eq!(drops.count(), 480);
    gone.check();
}

#[test]
fn several_threads_run_wake_and_abort_tasks() {
    for _ in 0..5 {
        let bench = Workbench::new();
        let slot: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let handles: Vec<_> = (0..6)
            .map(|number| {
                let slot = Arc::clone(&slot);
                let mut left = number;
                bench.spawn(poll_fn(move |cx| {
                    if left == 0 {
                        return Poll::Ready(number);
                    }
                    left -= 1;
                    slot.lock().unwrap().push(cx.waker().clone());
                    Poll::Pending
                }))
            })
            .collect();
        let abort = handles[5].abort_handle();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (slot, runner) = (Arc::clone(&slot), bench.runner());
                thread::spawn(move || {
                    for _ in 0..20 {
                        runner.run_queued();
                        let wakers = std::mem::take(&mut *slot.lock().unwrap());
                        wakers.into_iter().for_each(Waker::wake);
                    }
                })
            })
            .collect();
        abort.abort();
        drop(abort);
        for thread in threads {
            thread.join().unwrap();
        }
        let gone = bench.close();
        for mut handle in handles {
            assert!(poll(&mut handle, Waker::noop()).is_ready());
        }
        slot.lock().unwrap().clear();
        gone.check();
    }
}
