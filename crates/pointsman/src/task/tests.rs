//! Tasks and their memory, small enough for an interpreter that sees every wrong access.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread;

use super::test_util::{Called, Drops, Witness, Workbench, poll};
use super::yield_now;

/// Larger than the largest size class.
type Large = [u64; 200];

#[test]
fn a_task_gives_its_output() {
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
    let (called, waker) = Called::new();
    let (mut handle, mut other) = (handle, other);
    assert!(poll(&mut handle, &waker).is_pending());
    bench.runner().run_queued();
    assert_eq!(called.count(), 1);
    assert!(matches!(poll(&mut handle, &waker), Poll::Ready(Ok(output)) if output == "done"));
    assert!(matches!(poll(&mut other, &waker), Poll::Ready(Ok(output)) if output == large));
    drop((handle, other, waker));
    assert_eq!((Arc::strong_count(&called), bench.completed()), (1, 2));
    bench.close().check();
}

#[test]
fn what_is_thrown_goes_to_the_handle() {
    struct Throws;
    impl Drop for Throws {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("drop"));
        }
    }
    let bench = Workbench::new();
    let runner = bench.runner();
    let mut in_poll = bench.spawn(poll_fn(|_| -> Poll<()> {
        std::panic::resume_unwind(Box::new("poll"))
    }));
    let throws = Throws;
    let mut in_drop = bench.spawn(poll_fn(move |_| {
        let _captured = &throws;
        Poll::Ready(())
    }));
    let throws = Throws;
    // Both the future and the output throw when they are dropped.
    let both = bench.spawn(poll_fn(move |_| {
        let _captured = &throws;
        Poll::Ready(Throws)
    }));
    runner.run_queued();
    let waker = Waker::noop();
    let thrown = |result| match result {
        Poll::Ready(Err(error)) => {
            let error: super::JoinError = error;
            *error.into_panic().downcast::<&str>().unwrap()
        }
        _ => panic!("it has not thrown"),
    };
    assert_eq!(thrown(poll(&mut in_poll, waker)), "poll");
    assert_eq!(thrown(poll(&mut in_drop, waker)), "drop");
    assert!(both.is_finished());
    // What an output throws that nobody takes is lost.
    let output = bench.spawn(async { Throws });
    runner.run_queued();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(output))).is_ok());
    assert_eq!(bench.completed(), 4);
    drop((in_poll, in_drop, both, runner));
    bench.close().check();
}

#[test]
fn a_waker_that_throws_when_it_is_dropped_leaves_nothing_behind() {
    struct Throws;
    impl Wake for Throws {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Throws {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("drop"));
        }
    }
    let bench = Workbench::new();
    let runner = bench.runner();
    let wait = |future: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        let mut handle = bench.spawn(future);
        assert!(poll(&mut handle, &Waker::from(Arc::new(Throws))).is_pending());
        handle
    };
    // The handle goes first; the task does; another waker comes.
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
fn a_future_that_throws_again_while_it_is_dropped_ends_its_task_alone() {
    struct Throws;
    impl Future for Throws {
        type Output = ();
        fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
            std::panic::resume_unwind(Box::new("poll"))
        }
    }
    impl Drop for Throws {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(ThrowsToo));
        }
    }
    struct ThrowsToo;
    impl Drop for ThrowsToo {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("what was thrown"));
        }
    }
    let bench = Workbench::new();
    let mut handle = bench.spawn(Throws);
    let cancelled = bench.spawn(async {
        let _throws = Throws;
        pending::<()>().await;
    });
    bench.runner().run_queued();
    let Poll::Ready(Err(error)) = poll(&mut handle, Waker::noop()) else {
        panic!("it has thrown");
    };
    assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "poll");
    bench.shut_down();
    drop((handle, cancelled));
    bench.close().check();
}

#[test]
fn a_waker_that_throws_when_it_is_woken_does_no_harm() {
    struct Throws;
    impl Wake for Throws {
        fn wake(self: Arc<Self>) {}
        fn wake_by_ref(self: &Arc<Self>) {
            std::panic::resume_unwind(Box::new("wake"));
        }
    }
    let bench = Workbench::new();
    let mut handle = bench.spawn(async {});
    assert!(poll(&mut handle, &Waker::from(Arc::new(Throws))).is_pending());
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
            _ => panic!("it has not ended"),
        }
    }
    drop(abort);
    gone.check();
}

#[test]
fn memory_of_all_sizes_comes_back_from_other_threads() {
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
            // Some are on their way still when the arena closes.
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
fn several_threads_run_wake_and_abort() {
    for _ in 0..5 {
        let bench = Workbench::new();
        let place: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let handles: Vec<_> = (0..6)
            .map(|number| {
                let place = Arc::clone(&place);
                let mut left = number;
                bench.spawn(poll_fn(move |cx| {
                    if left == 0 {
                        return Poll::Ready(number);
                    }
                    left -= 1;
                    place.lock().unwrap().push(cx.waker().clone());
                    Poll::Pending
                }))
            })
            .collect();
        let abort = handles[5].abort_handle();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (place, runner) = (Arc::clone(&place), bench.runner());
                thread::spawn(move || {
                    for _ in 0..20 {
                        runner.run_queued();
                        let wakers = std::mem::take(&mut *place.lock().unwrap());
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
        place.lock().unwrap().clear();
        gone.check();
    }
}
