//! The seed of a runtime: with a paused clock and without I/O, a current-thread runtime repeats itself exactly.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pointsman::runtime::{Builder, LocalOptions, RngSeed};
use pointsman::sync::{Notify, Semaphore, broadcast, mpsc};
use pointsman::task::{self, JoinSet};
use pointsman::time::{self, Instant};

type Log = Arc<Mutex<Vec<(u32, u128)>>>;

/// A little of everything that could depend on chance: each step writes what ran, and when.
async fn program(log: Log) {
    let start = Instant::now();
    let write = move |log: &Log, what| {
        log.lock()
            .unwrap()
            .push((what, start.elapsed().as_millis()))
    };
    let mut set = JoinSet::new();
    let semaphore = Arc::new(Semaphore::new(2));
    let notify = Arc::new(Notify::new());
    let (tx, mut rx) = mpsc::channel(2);
    let (news, _) = broadcast::channel(4);
    for number in 0..6 {
        let (log, semaphore, notify) = (log.clone(), semaphore.clone(), notify.clone());
        let (tx, mut news) = (tx.clone(), news.subscribe());
        set.spawn(async move {
            let permit = semaphore.acquire().await.unwrap();
            pointsman::select! {
                () = time::sleep(Duration::from_millis(10)) => write(&log, number),
                () = time::sleep(Duration::from_millis(10)) => write(&log, 100 + number),
                () = notify.notified() => write(&log, 200 + number),
                heard = news.recv() => write(&log, 300 + heard.unwrap_or(99)),
            }
            drop(permit);
            for _ in 0..3 {
                pointsman::select! {
                    sent = tx.send(number) => { sent.unwrap(); write(&log, 400 + number) }
                    () = task::yield_now() => write(&log, 500 + number),
                }
            }
            number
        });
    }
    drop(tx);
    notify.notify_one();
    let _ = news.send(7);
    loop {
        pointsman::select! {
            Some(joined) = set.join_next() => write(&log, 600 + joined.unwrap()),
            Some(number) = rx.recv() => write(&log, 700 + number),
            else => break,
        }
    }
}

fn trace(seed: &[u8]) -> Vec<(u32, u128)> {
    let log = Log::default();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(seed))
        .build()
        .unwrap();
    runtime.block_on(program(log.clone()));
    log.lock().unwrap().clone()
}

const RUNS: usize = if cfg!(miri) { 5 } else { 10_000 };

#[test]
fn the_same_seed_gives_the_same_run_ten_thousand_times() {
    let first = trace(b"one");
    assert!(first.len() > 20, "{first:?}");
    for _ in 0..RUNS {
        assert_eq!(trace(b"one"), first);
    }
}

#[test]
fn other_seeds_give_other_runs() {
    let mut traces: Vec<_> = (0..20u8).map(|seed| trace(&[seed])).collect();
    traces.sort();
    traces.dedup();
    assert!(traces.len() > 15, "{} different runs", traces.len());
}

#[test]
fn a_run_does_not_depend_on_what_ran_on_the_thread_before() {
    let first = trace(b"one");
    trace(b"other");
    Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(async {
            for _ in 0..10 {
                branch().await;
            }
        });
    assert_eq!(trace(b"one"), first);
    let on_another_thread = std::thread::spawn(|| trace(b"one"));
    assert_eq!(on_another_thread.join().unwrap(), first);
}

async fn branch() -> u32 {
    pointsman::select! {
        () = async {} => 0,
        () = async {} => 1,
        () = async {} => 2,
        () = async {} => 3,
        () = async {} => 4,
    }
}

async fn branches() -> Vec<u32> {
    let mut branches = Vec::new();
    for _ in 0..10 {
        branches.push(branch().await);
    }
    branches
}

#[test]
fn each_block_on_and_each_runtime_of_a_builder_has_a_sequence_of_its_own() {
    let all = || {
        let mut builder = Builder::new_current_thread();
        builder.rng_seed(RngSeed::from_bytes(b"seed"));
        let (one, other) = (builder.build().unwrap(), builder.build().unwrap());
        [
            one.block_on(branches()),
            one.block_on(branches()),
            one.handle().block_on(branches()),
            other.block_on(branches()),
        ]
    };
    let first = all();
    assert_eq!(all(), first);
    for (index, one) in first.iter().enumerate() {
        assert!(first[..index].iter().all(|other| other != one), "{first:?}");
    }
}

#[test]
fn a_worker_of_several_threads_has_a_sequence_of_its_own() {
    let all = || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .rng_seed(RngSeed::from_bytes(b"seed"))
            .build()
            .unwrap();
        (
            runtime.block_on(runtime.spawn(branches())).unwrap(),
            runtime.block_on(branches()),
        )
    };
    let (task, main) = all();
    assert_ne!(task, main);
    assert_eq!(all(), (task, main));
}

#[test]
fn a_local_runtime_repeats_itself() {
    let trace = || {
        let runtime = Builder::new_current_thread()
            .rng_seed(RngSeed::from_bytes(b"seed"))
            .build_local(LocalOptions::default())
            .unwrap();
        let log = Rc::new(RefCell::new(Vec::new()));
        runtime.block_on(async {
            let tasks = [0, 1, 2].map(|number| {
                let log = log.clone();
                task::spawn_local(async move {
                    for _ in 0..5 {
                        let branch = branch().await;
                        log.borrow_mut().push((number, branch));
                        task::yield_now().await;
                    }
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        });
        log.take()
    };
    assert_eq!(trace(), trace());
}

#[test]
fn ready_tasks_run_in_the_order_in_which_they_were_woken_with_any_seed() {
    for seed in 0..100u8 {
        let runtime = Builder::new_current_thread()
            .rng_seed(RngSeed::from_bytes(&[seed]))
            .build()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        runtime.block_on(async {
            for number in 0..50 {
                let log = log.clone();
                pointsman::spawn(async move { log.lock().unwrap().push(number) });
            }
            task::yield_now().await;
        });
        assert_eq!(*log.lock().unwrap(), (0..50).collect::<Vec<_>>());
    }
}
