//! The exploration of orders: what it changes and what it leaves, and how a failure is reported and replayed.
#![cfg(feature = "test-util")]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use pointsman::sync::{Notify, Semaphore, mpsc, oneshot};
use pointsman::task::{self, JoinSet};
use pointsman::test_util::explore;
use pointsman::time::{self, Instant};

/// The seed with which the test fails first, and its message.
fn first_failure<Fut: Future<Output = ()>>(test: impl Fn() -> Fut) -> Option<(u64, String)> {
    (0..1000).find_map(|seed| {
        let panic = catch_unwind(AssertUnwindSafe(|| explore([seed], &test))).err()?;
        let message = match panic.downcast::<String>() {
            Ok(message) => *message,
            Err(panic) => panic.downcast_ref::<&str>().unwrap_or(&"").to_string(),
        };
        Some((seed, message))
    })
}

fn orders<Fut: Future<Output = ()>>(
    seeds: impl IntoIterator<Item = u64>,
    test: impl Fn(Arc<Mutex<Vec<u32>>>) -> Fut,
) -> Vec<Vec<u32>> {
    let all = RefCell::new(Vec::new());
    explore(seeds, || async {
        let log = Arc::new(Mutex::new(Vec::new()));
        test(log.clone()).await;
        all.borrow_mut().push(log.lock().unwrap().clone());
    });
    all.take()
}

async fn three_tasks(log: Arc<Mutex<Vec<u32>>>) {
    let mut set = JoinSet::new();
    for number in 0..3 {
        let log = log.clone();
        set.spawn(async move {
            log.lock().unwrap().push(number);
            task::yield_now().await;
            log.lock().unwrap().push(10 + number);
        });
    }
    set.join_all().await;
}

#[test]
fn all_orders_of_three_tasks_are_found_and_each_seed_repeats_its_own() {
    let all = orders(0..6000, three_tasks);
    // 6 steps of 3 tasks, 2 of each in order.
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 90);
    assert_eq!(orders(0..6000, three_tasks), all);
    assert_eq!(orders([1234], three_tasks)[0], all[1234]);
}

#[test]
fn the_seed_0_leaves_the_order_as_it_is() {
    assert_eq!(orders([0], three_tasks), [[0, 1, 2, 10, 11, 12]]);
}

#[test]
fn the_future_of_block_on_is_one_of_those_that_may_run_first() {
    let all = orders(0..200, |log| async move {
        let notify = Arc::new(Notify::new());
        let task = pointsman::spawn({
            let (log, notify) = (log.clone(), notify.clone());
            async move {
                notify.notify_one();
                task::yield_now().await;
                log.lock().unwrap().push(1);
            }
        });
        notify.notified().await;
        log.lock().unwrap().push(0);
        task.await.unwrap();
    });
    let all: HashSet<_> = all.into_iter().collect();
    assert_eq!(all, HashSet::from([vec![0, 1], vec![1, 0]]));
}

#[test]
fn local_tasks_are_explored_too() {
    let all = orders(0..500, |log| async move {
        let tasks = [0, 1, 2].map(|number| {
            let log = log.clone();
            task::spawn_local(async move { log.lock().unwrap().push(number) })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 6);
}

#[test]
fn an_operation_may_yield_although_it_need_not_wait() {
    let yielded = Cell::new(0);
    explore(0..100, || async {
        let semaphore = Semaphore::new(10);
        let has_run = Arc::new(AtomicU32::new(0));
        let other = pointsman::spawn({
            let has_run = has_run.clone();
            async move { has_run.store(1, Relaxed) }
        });
        for _ in 0..5 {
            drop(semaphore.acquire().await.unwrap());
        }
        yielded.set(yielded.get() + has_run.load(Relaxed));
        other.await.unwrap();
    });
    assert!((1..100).contains(&yielded.get()), "{yielded:?} of 100");
}

#[test]
fn promises_of_the_primitives_hold() {
    explore(0..1000, || async {
        // First in, first out.
        let semaphore = Arc::new(Semaphore::new(0));
        let (tx, mut rx) = mpsc::unbounded_channel();
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(semaphore.acquire())).collect();
        for wait in &mut waiting {
            assert!(futures::poll!(wait).is_pending());
        }
        semaphore.add_permits(2);
        for (number, wait) in waiting.iter_mut().enumerate().take(2) {
            wait.await.unwrap().forget();
            tx.send(number).unwrap();
        }
        assert_eq!((rx.recv().await, rx.recv().await), (Some(0), Some(1)));
        // Timers fire in the order of their deadlines, at their own time.
        let start = Instant::now();
        let mut sleeps = JoinSet::new();
        for number in [3, 1, 2] {
            sleeps.spawn(async move {
                time::sleep(Duration::from_millis(number)).await;
                assert_eq!(start.elapsed(), Duration::from_millis(number));
                number
            });
        }
        assert_eq!(sleeps.join_all().await, [1, 2, 3]);
        // A biased `select!` takes the first branch that is ready.
        let (tx, mut rx) = mpsc::channel(1);
        tx.send(7).await.unwrap();
        pointsman::select! {
            biased;
            number = rx.recv() => assert_eq!(number, Some(7)),
            () = async {} => panic!("the first branch is ready"),
        }
    });
}

#[test]
fn tasks_that_wait_actively_end() {
    explore(0..1000, || async {
        let flag = Arc::new(AtomicU32::new(0));
        let waiting = [0; 3].map(|_| {
            let flag = flag.clone();
            pointsman::spawn(async move {
                while flag.load(Relaxed) == 0 {
                    task::yield_now().await;
                }
            })
        });
        task::yield_now().await;
        flag.store(1, Relaxed);
        for task in waiting {
            task.await.unwrap();
        }
    });
}

/// Once a task has yielded, one that is always ready must not keep it from running for ever.
#[test]
fn a_task_that_has_yielded_runs_beside_one_that_is_always_ready() {
    let test = |waits_in_test: bool| async move {
        let flag = Arc::new(AtomicU32::new(0));
        let setter = pointsman::spawn({
            let flag = flag.clone();
            async move {
                task::yield_now().await;
                flag.store(1, Relaxed);
            }
        });
        let wait = poll_fn(move |cx| match flag.load(Relaxed) {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(()),
        });
        match waits_in_test {
            true => wait.await,
            false => pointsman::spawn(wait).await.unwrap(),
        }
        setter.await.unwrap();
    };
    for waits_in_test in [true, false] {
        explore(0..300, || test(waits_in_test));
    }
}

#[test]
fn a_short_blocking_function_ends_at_a_moment_that_the_seed_determines() {
    let run = |log: Arc<Mutex<Vec<u32>>>| async move {
        let mut set = JoinSet::new();
        for number in 0..3 {
            let log = log.clone();
            set.spawn(async move {
                let number = task::spawn_blocking(move || number).await.unwrap();
                log.lock().unwrap().push(number);
            });
        }
        set.join_all().await;
    };
    let all = orders(0..200, run);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 6);
    assert_eq!(orders(0..200, run), all);
}

#[test]
fn a_blocking_function_may_wait_for_a_task() {
    explore(0..2, || async {
        let (tx, rx) = oneshot::channel();
        let job = task::spawn_blocking(move || rx.blocking_recv());
        tx.send(7).unwrap();
        assert_eq!(job.await.unwrap(), Ok(7));
    });
}

// --- failures ---

#[test]
fn a_run_that_can_never_end_fails() {
    for seed in [0, 1] {
        let stuck = || async {
            let (tx, rx) = oneshot::channel::<()>();
            let _task = pointsman::spawn(async move {
                std::future::pending::<()>().await;
                drop(tx);
            });
            rx.await.unwrap();
        };
        let failure = catch_unwind(|| explore([seed], stuck)).unwrap_err();
        let message = failure.downcast_ref::<String>().map(String::as_str);
        let message = message.or(failure.downcast_ref::<&str>().copied()).unwrap();
        assert!(
            message.starts_with("deadlock: no task is ready"),
            "{message}"
        );
    }
}

#[test]
fn a_run_that_another_thread_will_wake_is_not_stuck() {
    explore(0..3, || async {
        let (tx, rx) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            tx.send(7)
        });
        assert_eq!(rx.await, Ok(7));
        thread.join().unwrap().unwrap();
    });
}

#[test]
fn an_error_fails_the_test() {
    let failing = || async { "x".parse::<u32>().map(drop) };
    let failure = catch_unwind(|| explore([0], failing)).unwrap_err();
    let message = failure.downcast_ref::<String>().unwrap();
    assert_eq!(
        message,
        "the test returned an error: ParseIntError { kind: InvalidDigit }"
    );
}

#[test]
#[should_panic(expected = "there are no seeds")]
fn a_test_without_seeds_fails() {
    explore([], || async {});
}

#[test]
fn a_failure_is_found_and_repeated() {
    let racy = || async {
        let value = Arc::new(AtomicU32::new(0));
        let tasks = [0; 2].map(|_| {
            let value = value.clone();
            pointsman::spawn(async move {
                let before = value.load(Relaxed);
                task::yield_now().await;
                value.store(before + 1, Relaxed);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        // An order in which one task runs to its end first.
        assert_eq!(value.load(Relaxed), 1);
    };
    let (seed, message) = first_failure(racy).unwrap();
    assert!(seed > 0 && message.contains("left: 2"), "{seed}: {message}");
    for _ in 0..100 {
        assert!(catch_unwind(|| explore([seed], racy)).is_err());
    }
}

#[pointsman::test(seeds = 100)]
async fn the_attribute_explores() -> Result<(), task::JoinError> {
    pointsman::spawn(async {}).await?;
    let start = Instant::now();
    time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(start.elapsed().as_secs(), 3600);
    Ok(())
}

#[pointsman::test(seeds = 20, flavor = "local")]
async fn the_attribute_explores_local_tasks() {
    let number = Rc::new(7);
    assert_eq!(task::spawn_local(async move { *number }).await.unwrap(), 7);
}

/// Run by the test below, in a process of its own.
#[pointsman::test(seeds = 1000)]
#[ignore = "fails"]
async fn fails_with_some_seed() {
    let log = Arc::new(Mutex::new(Vec::new()));
    three_tasks(log.clone()).await;
    assert_ne!(log.lock().unwrap()[0], 2, "the last task runs first");
}

fn run_failing_test(seed: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--nocapture", "fails_with_some_seed"])
        .env_remove("POINTSMAN_SEED")
        .envs(seed.map(|seed| ("POINTSMAN_SEED", seed)));
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_report_says_how_to_replay_the_failure() {
    let output = run_failing_test(None);
    assert!(output.contains("test result: FAILED"), "{output}");
    assert!(output.contains("the last task runs first"), "{output}");
    let (_, command) = output.split_once("POINTSMAN_SEED=").unwrap();
    let (seed, rest) = command.split_once(' ').unwrap();
    assert!(
        rest.starts_with("cargo test fails_with_some_seed\n"),
        "{output}"
    );
    let again = run_failing_test(Some(seed));
    assert!(
        again.contains(&format!("fails with the seed {seed}, after 0 seeds")),
        "{again}"
    );
    // The seed with which tasks run in their usual order.
    assert!(run_failing_test(Some("0")).contains("test result: ok"));
    assert!(
        run_failing_test(Some("x")).contains("POINTSMAN_SEED is \"x\": expected a number from 0")
    );
}
