//! `LocalSet`: dropping it, panics, and its place beside other tasks.

mod common;

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use common::must_end;
use futures::executor;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::{Mutex, oneshot};
use pointsman::task::{self, LocalSet};
use pointsman::time;

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

#[test]
fn a_task_that_is_dropped_with_its_set_may_wake_others_of_it() {
    each(|runtime| {
        let local = LocalSet::new();
        let (first, waits_first) = oneshot::channel::<()>();
        let (second, waits_second) = oneshot::channel::<()>();
        local.spawn_local(async move {
            let _ = waits_second.await;
        });
        local.spawn_local(async move {
            let _ = waits_first.await;
            second.send(()).unwrap();
        });
        local.spawn_local(async move {
            pending::<()>().await;
            first.send(()).unwrap();
        });
        let lock = Rc::new(Mutex::new(()));
        for _ in 0..3 {
            let lock = Rc::clone(&lock);
            local.spawn_local(async move {
                let _guard = lock.lock().await;
                pending::<()>().await;
            });
        }
        local.block_on(&runtime, task::yield_now());
        drop(local);
        assert_eq!(Rc::strong_count(&lock), 1);
    });
}

#[test]
fn values_dropped_with_the_set_may_spawn_in_it() {
    struct Spawns(Rc<Cell<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let dropped = Rc::clone(&self.0);
            struct Counts(Rc<Cell<u32>>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.set(self.0.get() + 1);
                }
            }
            let counts = Counts(dropped);
            task::spawn_local(async move { drop(counts) });
        }
    }
    each(|runtime| {
        let count = Rc::new(Cell::new(0));
        let local = LocalSet::new();
        for _ in 0..3 {
            let spawns = Spawns(Rc::clone(&count));
            local.spawn_local(async move {
                let _spawns = spawns;
                pending::<()>().await;
            });
        }
        local.block_on(&runtime, task::yield_now());
        drop(local);
        assert_eq!(count.get(), 3);
    });
}

#[test]
fn a_set_may_be_dropped_by_one_of_its_own_tasks() {
    each(|runtime| {
        let local = Rc::new(LocalSet::new());
        let held = Rc::clone(&local);
        let task = local.spawn_local(async move {
            task::yield_now().await;
            drop(held);
            pending::<()>().await;
        });
        let run = Rc::clone(&local);
        drop(local);
        runtime.block_on(async {
            // The last reference but one is dropped within the task, the last with the future.
            run.run_until(async {
                for _ in 0..5 {
                    task::yield_now().await;
                }
            })
            .await;
        });
        drop(run);
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn panics_stay_in_their_task() {
    each(|runtime| {
        let local = LocalSet::new();
        let error = local.block_on(&runtime, async {
            let panics = task::spawn_local(async { panic!("local") });
            let other = task::spawn_local(async { 3 });
            let error: Result<(), _> = panics.await;
            assert_eq!(other.await.unwrap(), 3);
            error.unwrap_err()
        });
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"local"));
    });
}

#[test]
fn other_tasks_run_beside_a_busy_set() {
    each(|runtime| {
        let local = LocalSet::new();
        let is_over = Rc::new(Cell::new(false));
        for _ in 0..5 {
            let is_over = Rc::clone(&is_over);
            local.spawn_local(async move {
                while !is_over.get() {
                    task::yield_now().await;
                }
            });
        }
        local.block_on(&runtime, async {
            task::spawn(async { task::yield_now().await })
                .await
                .unwrap();
            time::sleep(Duration::from_millis(2)).await;
            task::spawn_blocking(|| ()).await.unwrap();
        });
        is_over.set(true);
        runtime.block_on(local);
    });
}

#[test]
fn the_thread_of_a_set_cannot_be_blocked_in_place() {
    struct Blocks;
    impl Drop for Blocks {
        fn drop(&mut self) {
            task::block_in_place(|| {});
        }
    }
    const TEXT: &str = "can call blocking only when running on the multi-threaded runtime";
    each(|runtime| {
        let local = LocalSet::new();
        let task = local.spawn_local(async { task::block_in_place(|| {}) });
        let error = local.block_on(&runtime, task).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&TEXT));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            local.block_on(&runtime, async { task::block_in_place(|| {}) });
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&TEXT));
        let task = local.spawn_local(async {
            let _blocks = Blocks;
            pending::<()>().await;
        });
        let error = runtime.block_on(async move {
            local.run_until(task::yield_now()).await;
            drop(local);
            task.await.unwrap_err()
        });
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&TEXT));
    });
}
