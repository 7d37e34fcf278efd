//! Tasks: where they run, their outputs, and when their values are dropped.

mod common;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::oneshot;
use pointsman::task;

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(Builder::new_current_thread().enable_all().build().unwrap());
        for threads in [1, 3] {
            let mut builder = Builder::new_multi_thread();
            test(
                builder
                    .worker_threads(threads)
                    .enable_all()
                    .build()
                    .unwrap(),
            );
        }
    });
}

#[derive(Clone)]
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn outputs_of_all_sizes_and_alignments_are_returned() {
    #[repr(align(256))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);
    each(|runtime| {
        runtime.block_on(async {
            task::spawn(async {}).await.unwrap();
            assert_eq!(task::spawn(async { [7u8; 3] }).await.unwrap(), [7; 3]);
            let large = task::spawn(async { [9u64; 4_000] }).await.unwrap();
            assert_eq!(large, [9; 4_000]);
            for n in 0..10 {
                let value = Aligned(n);
                let task = task::spawn(async move {
                    let held = value;
                    let address = (&raw const held).addr();
                    task::yield_now().await;
                    assert_eq!((&raw const held).addr(), address);
                    assert_eq!(address % 256, 0);
                    held
                });
                assert_eq!(task.await.unwrap(), value);
            }
        });
    });
}

#[test]
fn a_task_spawns_as_deep_as_it_likes() {
    fn nest(depth: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
        Box::pin(async move {
            match depth {
                0 => 0,
                _ => 1 + task::spawn(nest(depth - 1)).await.unwrap(),
            }
        })
    }
    each(|runtime| assert_eq!(runtime.block_on(nest(500)), 500));
}

#[test]
fn many_tasks_all_run_once() {
    each(|runtime| {
        let count = Arc::new(AtomicUsize::new(0));
        let sum: usize = runtime.block_on(async {
            let tasks: Vec<_> = (0..10_000)
                .map(|n| {
                    let count = Arc::clone(&count);
                    task::spawn(async move {
                        if n % 3 == 0 {
                            task::yield_now().await;
                        }
                        count.fetch_add(1, SeqCst);
                        n
                    })
                })
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, (0..10_000).sum());
        assert_eq!(count.load(SeqCst), 10_000);
    });
}

#[test]
fn a_detached_task_keeps_running() {
    each(|runtime| {
        let (tx, rx) = oneshot::channel();
        runtime.block_on(async {
            drop(task::spawn(async move {
                for _ in 0..10 {
                    task::yield_now().await;
                }
                tx.send(3).unwrap();
            }));
            assert_eq!(rx.await.unwrap(), 3);
        });
    });
}

#[test]
fn a_completed_future_is_dropped_and_its_output_when_detached() {
    each(|runtime| {
        let (future, output) = (Arc::default(), Arc::default());
        let (in_future, in_output) = (OnDrop(Arc::clone(&future)), OnDrop(Arc::clone(&output)));
        runtime.block_on(async {
            let task = task::spawn(async move {
                let _held = in_future;
                in_output
            });
            let value = task.await.unwrap();
            assert_eq!((future.load(SeqCst), output.load(SeqCst)), (1, 0));
            drop(value);
            assert_eq!(output.load(SeqCst), 1);
            // Completed, then detached; and detached, then completed.
            for is_early in [false, true] {
                let before = output.load(SeqCst);
                let value = OnDrop(Arc::clone(&output));
                let (go_on, may_go_on) = oneshot::channel::<()>();
                let task = task::spawn(async move {
                    let _ = may_go_on.await;
                    value
                });
                if is_early {
                    drop(task);
                    go_on.send(()).unwrap();
                } else {
                    go_on.send(()).unwrap();
                    while !task.is_finished() {
                        task::yield_now().await;
                    }
                    assert_eq!(output.load(SeqCst), before);
                    drop(task);
                }
                while output.load(SeqCst) == before {
                    task::yield_now().await;
                }
                assert_eq!(output.load(SeqCst), before + 1);
            }
        });
    });
}

struct Panics(&'static str);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

#[test]
fn panics_are_the_results_of_their_tasks() {
    each(|runtime| {
        runtime.block_on(async {
            let thrown = |text: &'static str| {
                move |panic: Box<dyn std::any::Any + Send>| {
                    panic.downcast_ref::<&str>() == Some(&text)
                        || panic.downcast_ref::<String>().map(String::as_str) == Some(text)
                }
            };
            // At once, later, and in blocking work.
            let result: Result<(), _> = task::spawn(async { panic!("at once") }).await;
            assert!(thrown("at once")(result.unwrap_err().into_panic()));
            let task = task::spawn(async {
                task::yield_now().await;
                panic!("later")
            });
            let result: Result<(), _> = task.await;
            assert!(thrown("later")(result.unwrap_err().into_panic()));
            let result: Result<(), _> = task::spawn_blocking(|| panic!("in a job")).await;
            assert!(thrown("in a job")(result.unwrap_err().into_panic()));
            // A payload that is not a string.
            let result: Result<(), _> =
                task::spawn(async { std::panic::panic_any(vec![1, 2]) }).await;
            let payload = result.unwrap_err().into_panic();
            assert_eq!(payload.downcast_ref::<Vec<i32>>(), Some(&vec![1, 2]));
            // In the drop of the future, after it is ready.
            struct Ready(#[allow(dead_code)] Panics);
            impl Future for Ready {
                type Output = ();
                fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
                    Poll::Ready(())
                }
            }
            let result = task::spawn(Ready(Panics("in drop"))).await;
            assert!(thrown("in drop")(result.unwrap_err().into_panic()));
            // The runtime still works.
            assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
        });
    });
}

#[test]
fn a_panicking_drop_of_a_detached_output_is_caught() {
    each(|runtime| {
        runtime.block_on(async {
            for _ in 0..3 {
                drop(task::spawn(async { Panics("output") }));
                drop(task::spawn_blocking(|| Panics("output of a job")));
            }
            for _ in 0..10 {
                task::yield_now().await;
            }
            // If the task is already complete, dropping the handle drops the output.
            let task = task::spawn(async { Panics("output") });
            while !task.is_finished() {
                task::yield_now().await;
            }
            let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
            assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
        });
    });
}

struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_handle_wakes_the_last_waker() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (tx, rx) = oneshot::channel::<()>();
        let mut task = pin!(runtime.spawn(async { rx.await.unwrap() }));
        let [first, second] = [0, 0].map(|n| Arc::new(Counts(AtomicUsize::new(n))));
        let wakers = [&first, &second].map(|counts| Waker::from(Arc::clone(counts)));
        for waker in [&wakers[0], &wakers[0], &wakers[1]] {
            let mut cx = Context::from_waker(waker);
            assert!(task.as_mut().poll(&mut cx).is_pending());
        }
        tx.send(()).unwrap();
        runtime.block_on(async {
            while !task.is_finished() {
                task::yield_now().await;
            }
        });
        assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (0, 1));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(task.as_mut().poll(&mut cx), Poll::Ready(Ok(()))));
        let again = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx).is_ready()));
        assert!(again.is_err());
    });
}

#[test]
fn a_task_that_is_woken_from_everywhere_is_polled_after_each_wake_up() {
    each(|runtime| {
        let (give, wakers) = mpsc::channel();
        let woken = Arc::new(AtomicUsize::new(0));
        let sees = Arc::clone(&woken);
        let task = runtime.spawn(poll_fn(move |cx| {
            let _ = give.send(cx.waker().clone());
            match sees.load(SeqCst) {
                4_000 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        }));
        let first = thread::spawn(move || wakers.recv().map(|waker| (waker, wakers)));
        let waits = runtime.spawn(task);
        let all = thread::spawn(move || {
            let (waker, _wakers) = first.join().unwrap().unwrap();
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let waker = waker.clone();
                    let woken = Arc::clone(&woken);
                    thread::spawn(move || {
                        for _ in 0..1_000 {
                            woken.fetch_add(1, SeqCst);
                            waker.wake_by_ref();
                        }
                    })
                })
                .collect();
            for other in others {
                other.join().unwrap();
            }
        });
        // All wakeups have arrived, and the last was seen.
        runtime.block_on(waits).unwrap().unwrap();
        all.join().unwrap();
    });
}

#[test]
fn a_task_runs_in_one_thread_at_a_time() {
    each(|runtime| {
        let present = Arc::new(AtomicUsize::new(0));
        let (give, wakers) = mpsc::channel::<Waker>();
        let mut polls = 0;
        let task = runtime.spawn(poll_fn(move |cx| {
            assert_eq!(present.fetch_add(1, SeqCst), 0);
            let _ = give.send(cx.waker().clone());
            thread::yield_now();
            polls += 1;
            present.fetch_sub(1, SeqCst);
            match polls {
                200 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        }));
        let wakes = thread::spawn(move || {
            for waker in wakers {
                let other = waker.clone();
                let also = thread::spawn(move || other.wake());
                waker.wake_by_ref();
                also.join().unwrap();
                waker.wake();
            }
        });
        runtime.block_on(task).unwrap();
        wakes.join().unwrap();
    });
}

// --- ids ---
