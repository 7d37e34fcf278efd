//! Work that a leaving thread leaves behind is taken over by another.

use std::future::poll_fn;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use pointsman::runtime::{Builder, Handle, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::block_in_place;

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a test on its own thread, and fails if it hangs.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(run()));
    result.recv_timeout(PATIENCE).expect("it hangs")
}

#[test]
fn a_thread_that_is_called_for_a_task_and_leaves_lets_another_do_it() {
    in_time(|| {
        for _ in 0..200 {
            let runtime = multi_thread(1);
            let (leave, left) = oneshot::channel();
            let handle = runtime.handle().clone();
            let (ran, has_run) = mpsc::channel();
            let outside = thread::spawn(move || {
                thread::sleep(Duration::from_millis(1));
                handle.spawn(async move { ran.send(()) });
                leave.send(()).unwrap();
            });
            runtime.block_on(left).unwrap();
            has_run
                .recv_timeout(PATIENCE)
                .expect("the task was stranded");
            outside.join().unwrap();
        }
    });
}

#[test]
fn a_thread_that_looks_for_work_and_then_blocks_lets_another_do_it() {
    in_time(|| {
        for _ in 0..200 {
            let runtime = multi_thread(1);
            let (go, gone) = oneshot::channel();
            let handle = runtime.handle().clone();
            let (ran, has_run) = mpsc::channel();
            let outside = thread::spawn(move || {
                go.send(()).unwrap();
                handle.spawn(async move { ran.send(()) });
            });
            runtime.block_on(async move {
                gone.await.unwrap();
                has_run
                    .recv_timeout(PATIENCE)
                    .expect("the task was stranded");
            });
            outside.join().unwrap();
        }
    });
}

#[test]
fn a_seat_offered_to_a_leaving_thread_goes_to_the_next() {
    in_time(|| {
        for _ in 0..100 {
            let runtime = Arc::new(current_thread());
            let place: Arc<Mutex<Vec<Waker>>> = Arc::default();
            let (first, first_gone) = oneshot::channel::<()>();
            let (second, second_gone) = oneshot::channel::<()>();
            let task = runtime.spawn(async move {
                second_gone.await.unwrap();
                7
            });
            let on = Arc::clone(&runtime);
            // Three block at once. The first two leave together; the third needs the worker's seat for the task.
            let (sat, is_sitting) = mpsc::channel();
            let holder = thread::spawn(move || {
                on.block_on(async move {
                    pointsman::task::yield_now().await;
                    sat.send(()).unwrap();
                    first_gone.await.unwrap();
                });
            });
            is_sitting.recv().unwrap();
            let on = Arc::clone(&runtime);
            let place_2 = Arc::clone(&place);
            let leaver = thread::spawn(move || {
                let mut polled = 0;
                on.block_on(poll_fn(|cx| {
                    polled += 1;
                    if polled > 1 {
                        return Poll::Ready(());
                    }
                    place_2.lock().unwrap().push(cx.waker().clone());
                    Poll::Pending
                }));
            });
            while place.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            thread::sleep(Duration::from_micros(300));
            let on = Arc::clone(&runtime);
            let last = thread::spawn(move || on.block_on(task).unwrap());
            thread::sleep(Duration::from_micros(300));
            first.send(()).unwrap();
            place.lock().unwrap().pop().unwrap().wake();
            second.send(()).unwrap();
            assert_eq!(last.join().unwrap(), 7);
            holder.join().unwrap();
            leaver.join().unwrap();
        }
    });
}

#[test]
fn a_worker_that_steps_aside_does_not_count_on_one_that_may_leave() {
    in_time(|| {
        let runtime = multi_thread(1);
        let (begun, has_begun) = oneshot::channel();
        let (ran, has_run) = mpsc::channel();
        let (sat, is_sitting) = mpsc::channel();
        let asleep = thread::spawn(|| thread::sleep(Duration::from_millis(20)));
        let aside = runtime.spawn(async move {
            sat.send(()).unwrap();
            asleep.join().unwrap();
            block_in_place(|| {
                begun.send(()).unwrap();
                has_run
                    .recv_timeout(PATIENCE)
                    .expect("the task was stranded");
            });
        });
        is_sitting.recv().unwrap();
        runtime.block_on(has_begun).unwrap();
        thread::sleep(Duration::from_millis(5));
        runtime.spawn(async move { ran.send(()) });
        while !aside.is_finished() {
            thread::yield_now();
        }
        runtime.block_on(aside).unwrap();
    });
}

#[test]
fn block_in_place_may_block_on_a_future() {
    in_time(|| {
        let runtime = multi_thread(2);
        let task = runtime.spawn(async {
            block_in_place(|| {
                Handle::current().block_on(async { pointsman::spawn(async { 7 }).await.unwrap() })
            })
        });
        assert_eq!(runtime.block_on(task).unwrap(), 7);
        let in_main = runtime.block_on(async {
            block_in_place(|| {
                Handle::current().block_on(async { pointsman::spawn(async { 8 }).await.unwrap() })
            })
        });
        assert_eq!(in_main, 8);
    });
}

/// Spawns a task of another runtime when it is dropped.
struct SpawnOnDrop(Handle, mpsc::Sender<()>);

impl Drop for SpawnOnDrop {
    fn drop(&mut self) {
        let ran = self.1.clone();
        self.0.spawn(async move { ran.send(()) });
    }
}

#[test]
fn a_dropped_task_may_spawn_in_the_runtime_that_drops_it() {
    in_time(|| {
        let runtime = current_thread();
        let (ran, has_run) = mpsc::channel();
        let main = runtime.handle().clone();
        let other = current_thread();
        other.block_on(async {
            for _ in 0..2 {
                let last = SpawnOnDrop(main.clone(), ran.clone());
                pointsman::spawn(async move {
                    let _last = last;
                    std::future::pending::<()>().await;
                });
            }
        });
        runtime.block_on(async move {
            other.shutdown_background();
            for _ in 0..10 {
                pointsman::task::yield_now().await;
            }
            assert_eq!(has_run.try_iter().count(), 2);
            assert_eq!(pointsman::spawn(async { 7 }).await.unwrap(), 7);
        });
        assert_eq!(runtime.block_on(runtime.spawn(async { 8 })).unwrap(), 8);
    });
}

#[test]
fn a_job_submitted_as_the_last_thread_exits_is_run() {
    in_time(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_keep_alive(Duration::from_micros(20))
            .build()
            .unwrap();
        for round in 0..3_000_u64 {
            let (ran, has_run) = mpsc::channel();
            runtime.spawn_blocking(move || ran.send(()));
            has_run
                .recv_timeout(PATIENCE)
                .expect("the job was stranded");
            let pause = Duration::from_micros(60 + round % 90);
            let until = std::time::Instant::now() + pause;
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
        }
    });
}

#[test]
fn blocking_work_does_not_count_as_tasks() {
    let runtime = multi_thread(1);
    runtime.block_on(async {
        let task = pointsman::spawn(std::future::pending::<()>());
        pointsman::task::spawn_blocking(|| ()).await.unwrap();
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 1);
        task.abort();
    });
}

#[test]
fn wakeups_during_a_nested_block_on_are_not_lost() {
    in_time(|| {
        let runtime = multi_thread(1);
        let (first, first_gone) = oneshot::channel::<()>();
        let (second, second_gone) = oneshot::channel::<()>();
        runtime.block_on(async move {
            let within = async move {
                block_in_place(|| {
                    thread::spawn(move || {
                        first.send(()).unwrap();
                        thread::sleep(Duration::from_millis(5));
                        second.send(()).unwrap();
                    });
                    Handle::current().block_on(second_gone).unwrap();
                });
            };
            let (joined, ()) = pointsman::join!(biased; first_gone, within);
            joined.unwrap();
        });
    });
}

#[test]
fn a_clock_that_stands_still_moves_on_when_blocking_work_is_done() {
    in_time(|| {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            drop(pointsman::task::spawn_blocking(|| {
                thread::sleep(Duration::from_millis(5));
            }));
            pointsman::time::sleep(Duration::from_secs(3_600)).await;
        });
    });
}

#[test]
fn one_that_blocks_in_place_and_one_that_just_blocks_keep_no_other_waiting() {
    in_time(|| {
        let runtime = multi_thread(2);
        let blocks = |begin: mpsc::Sender<mpsc::Sender<()>>| {
            let (go_on, may_go_on) = mpsc::channel();
            begin.send(go_on).unwrap();
            may_go_on.recv().unwrap();
        };
        for _ in 0..20 {
            let (begin, has_begun) = mpsc::channel();
            let in_place = begin.clone();
            let first = runtime.spawn(async move { block_in_place(|| blocks(in_place)) });
            let first_continues = has_begun.recv().unwrap();
            let second = runtime.spawn(async move { blocks(begin) });
            let second_continues = has_begun.recv().unwrap();
            let (ran, has_run) = mpsc::channel();
            runtime.spawn(async move { ran.send(()) });
            has_run.recv().unwrap();
            first_continues.send(()).unwrap();
            second_continues.send(()).unwrap();
            runtime
                .block_on(async { pointsman::try_join!(first, second) })
                .unwrap();
        }
    });
}
