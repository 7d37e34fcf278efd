//! Aborted tasks.

mod common;

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use common::must_end;
use futures::executor;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::oneshot;
use pointsman::{task, time};

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

/// Records the thread on which it was dropped.
struct DroppedIn(mpsc::Sender<thread::ThreadId>);

impl Drop for DroppedIn {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().id());
    }
}

#[test]
fn a_task_is_ended_wherever_it_is() {
    each(|runtime| {
        runtime.block_on(async {
            // At an await.
            let (begun, has_begun) = oneshot::channel();
            let task = task::spawn(async move {
                begun.send(()).unwrap();
                pending::<()>().await;
            });
            has_begun.await.unwrap();
            task.abort();
            let number = task.id();
            let error = task.await.unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert_eq!(error.id(), number);
            assert_eq!(error.to_string(), format!("task {number} was cancelled"));
            // While it loops.
            let task = task::spawn(async {
                loop {
                    task::yield_now().await;
                }
            });
            task::yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            // By itself.
            let (give, get) = oneshot::channel::<task::AbortHandle>();
            let task = task::spawn(async move {
                get.await.unwrap().abort();
                task::yield_now().await;
                unreachable!("it was ended at the await");
            });
            give.send(task.abort_handle()).unwrap();
            assert!(task.await.unwrap_err().is_cancelled());
            // While it sleeps, which cancels the timer too.
            let task = task::spawn(time::sleep(Duration::from_secs(3_600)));
            task::yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_task_that_was_ended_before_it_has_begun_is_never_polled() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let task = runtime.spawn(async { unreachable!("it was ended") });
        task.abort();
        let result: Result<(), _> = runtime.block_on(task);
        assert!(result.unwrap_err().is_cancelled());
    });
}

#[test]
fn an_abort_after_completion_has_no_effect() {
    each(|runtime| {
        runtime.block_on(async {
            let task = task::spawn(async { 5 });
            let abort = task.abort_handle();
            while !task.is_finished() {
                task::yield_now().await;
            }
            assert!(abort.is_finished());
            abort.abort();
            task.abort();
            assert_eq!(abort.id(), task.id());
            assert_eq!(task.await.unwrap(), 5);
            abort.abort();
            assert!(abort.is_finished());
            drop(abort);
        });
    });
}

#[test]
fn a_task_that_completes_though_it_was_aborted_while_it_ran_has_its_result() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let both = Arc::new(Barrier::new(2));
        let meets = Arc::clone(&both);
        let task = runtime.spawn(async move {
            meets.wait();
            meets.wait();
            6
        });
        both.wait();
        task.abort();
        both.wait();
        assert_eq!(executor::block_on(task).unwrap(), 6);
    });
}

#[test]
fn an_aborted_future_is_dropped_by_the_runtime() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let (tx, rx) = mpsc::channel();
        let value = DroppedIn(tx);
        let (begun, has_begun) = mpsc::channel();
        let task = runtime.spawn(async move {
            let _value = value;
            begun.send(()).unwrap();
            pending::<()>().await;
        });
        has_begun.recv().unwrap();
        task.abort();
        assert_ne!(rx.recv().unwrap(), thread::current().id());
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn an_aborted_future_is_dropped_before_the_handle_resolves() {
    each(|runtime| {
        let (tx, rx) = mpsc::channel();
        let value = DroppedIn(tx);
        runtime.block_on(async {
            let task = task::spawn(async move {
                let _value = value;
                pending::<()>().await;
            });
            task::yield_now().await;
            task.abort();
            let _ = task.await;
        });
        assert!(rx.try_recv().is_ok());
    });
}

#[test]
fn many_abort_and_wake_one_task_at_once() {
    each(|runtime| {
        for _ in 0..50 {
            let polls = Arc::new(AtomicUsize::new(0));
            let counts = Arc::clone(&polls);
            let (give, wakers) = mpsc::channel();
            let task = runtime.spawn(poll_fn(move |cx| {
                counts.fetch_add(1, SeqCst);
                let _ = give.send(cx.waker().clone());
                Poll::<()>::Pending
            }));
            runtime.block_on(async {
                while polls.load(SeqCst) == 0 {
                    task::yield_now().await;
                }
            });
            let waker = wakers.recv().unwrap();
            let others: Vec<_> = (0..4)
                .map(|n| {
                    let abort = task.abort_handle();
                    let waker = waker.clone();
                    thread::spawn(move || {
                        waker.wake_by_ref();
                        if n % 2 == 0 {
                            abort.abort();
                        }
                        waker.wake();
                    })
                })
                .collect();
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
            for other in others {
                other.join().unwrap();
            }
        }
    });
}

#[test]
fn an_abort_wakes_the_waiter() {
    each(|runtime| {
        let task = runtime.spawn(pending::<()>());
        let abort = task.abort_handle();
        let waits = runtime.spawn(async move { task.await.unwrap_err().is_cancelled() });
        let aborts = thread::spawn(move || abort.abort());
        assert!(runtime.block_on(waits).unwrap());
        aborts.join().unwrap();
    });
}

#[test]
fn a_panic_in_the_drop_of_an_aborted_future_is_its_result() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    each(|runtime| {
        runtime.block_on(async {
            let panics = Panics;
            let task = task::spawn(async move {
                let _panics = panics;
                pending::<()>().await;
            });
            task::yield_now().await;
            task.abort();
            let error = task.await.unwrap_err();
            assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"in drop"));
            // Other tasks are not affected.
            assert_eq!(task::spawn(async { 2 }).await.unwrap(), 2);
        });
    });
}

#[test]
fn a_future_may_abort_its_own_task_while_it_is_dropped() {
    struct Aborts(Option<task::AbortHandle>);
    impl Drop for Aborts {
        fn drop(&mut self) {
            if let Some(abort) = self.0.take() {
                abort.abort();
                assert!(!abort.is_finished());
            }
        }
    }
    struct Waits(Aborts, oneshot::Receiver<task::AbortHandle>);
    impl Future for Waits {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if self.0.0.is_none()
                && let Poll::Ready(abort) = Pin::new(&mut self.1).poll(cx)
            {
                self.0.0 = Some(abort.unwrap());
            }
            Poll::Pending
        }
    }
    each(|runtime| {
        let (give, get) = oneshot::channel();
        let task = runtime.spawn(Waits(Aborts(None), get));
        give.send(task.abort_handle()).unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                task::yield_now().await;
            }
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn abort_cancels_only_blocking_work_that_has_not_begun() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let first = runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            1
        });
        let has_run = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&has_run);
        let second = runtime.spawn_blocking(move || runs.store(true, SeqCst));
        has_begun.recv().unwrap();
        first.abort();
        second.abort();
        go_on.send(()).unwrap();
        assert_eq!(executor::block_on(first).unwrap(), 1);
        assert!(executor::block_on(second).unwrap_err().is_cancelled());
        drop(runtime);
        assert!(!has_run.load(SeqCst));
    });
}

#[test]
fn errors_describe_the_cause() {
    each(|runtime| {
        runtime.block_on(async {
            let task = task::spawn(async { panic!("a text") });
            let number = task.id();
            let error: task::JoinError = {
                let result: Result<(), _> = task.await;
                result.unwrap_err()
            };
            assert_eq!(
                error.to_string(),
                format!("task {number} panicked with message \"a text\"")
            );
            assert!(format!("{error:?}").starts_with("JoinError::Panic(Id("));
            assert!(std::io::Error::from(error).to_string().contains("panicked"));
            let task = task::spawn(async { std::panic::panic_any(42) });
            let number = task.id();
            let result: Result<(), _> = task.await;
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), format!("task {number} panicked"));
            assert_eq!(error.try_into_panic().unwrap().downcast_ref(), Some(&42));
            let task = task::spawn(pending::<()>());
            task.abort();
            let error = task.await.unwrap_err();
            assert!(format!("{error:?}").starts_with("JoinError::Cancelled(Id("));
            assert!(error.try_into_panic().unwrap_err().is_cancelled());
        });
    });
}
