//! Takes 1,000 dumps a second while tasks spawn, wait for each kind of resource, are aborted and end, and while polls
//! stall. Sanitizers check each memory access of a dump: `make dump-under-load`.
#![cfg(feature = "diagnostics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use pointsman::runtime::Builder;
use pointsman::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, mpsc, oneshot};
use pointsman::task::{self, spawn_blocking, yield_now};
use pointsman::time::{sleep, timeout};

const RATE: u32 = 1_000;

/// For how many seconds dumps are taken.
fn seconds() -> u32 {
    std::env::var("DUMP_SECONDS").map_or(60, |value| value.parse().unwrap())
}

const SHORT: Duration = Duration::from_millis(1);
const THRESHOLD: Duration = Duration::from_millis(5);

/// Many tasks share these, so that most requests wait.
struct World {
    mutex: Mutex<u64>,
    lock: RwLock<u64>,
    semaphore: Semaphore,
    notify: Notify,
    turns: AtomicUsize,
    is_over: AtomicBool,
}

impl World {
    fn goes_on(&self) -> bool {
        self.turns.fetch_add(1, Relaxed);
        !self.is_over.load(Relaxed)
    }
}

async fn locks(world: Arc<World>) {
    while world.goes_on() {
        let mut guard = world.mutex.lock().await;
        *guard += *world.lock.read().await;
        yield_now().await;
        drop(guard);
        *world.lock.write().await += 1;
        let all = world.semaphore.acquire_many(3).await.unwrap();
        yield_now().await;
        drop(all);
        // Most of these give up while they wait, or at the moment at which they are granted.
        drop(timeout(SHORT, world.mutex.lock()).await);
        pointsman::select! {
            _ = world.lock.write() => {}
            _ = world.semaphore.acquire() => {}
        }
    }
}

async fn spawns(world: Arc<World>) {
    while world.goes_on() {
        let waiter = world.clone();
        let aborted = task::spawn(async move {
            let _guard = waiter.mutex.lock().await;
            waiter.notify.notified().await;
        });
        let waiter = world.clone();
        let named = task::Builder::new().name("named").spawn(async move {
            let _guard = waiter.lock.read().await;
            sleep(SHORT).await;
        });
        yield_now().await;
        aborted.abort();
        let ended = aborted.await;
        assert!(ended.is_ok() || ended.unwrap_err().is_cancelled());
        named.unwrap().await.unwrap();
        world.notify.notify_waiters();
    }
}

async fn talks(world: Arc<World>) {
    while world.goes_on() {
        let (sender, mut receiver) = mpsc::channel(1);
        let (reply, answer) = oneshot::channel();
        let barrier = Arc::new(Barrier::new(2));
        let cell = Arc::new(OnceCell::new());
        let (met, initialized) = (barrier.clone(), cell.clone());
        let other = task::spawn(async move {
            while let Some(()) = receiver.recv().await {
                initialized.get_or_init(yield_now).await;
            }
            met.wait().await;
            reply.send(()).unwrap();
        });
        for _ in 0..3 {
            sender.send(()).await.unwrap();
        }
        cell.get_or_init(yield_now).await;
        drop(sender);
        barrier.wait().await;
        answer.await.unwrap();
        other.await.unwrap();
    }
}

async fn blocks(world: Arc<World>) {
    while world.goes_on() {
        spawn_blocking(|| thread::sleep(SHORT)).await.unwrap();
        task::block_in_place(|| thread::sleep(SHORT));
        // A stall.
        thread::sleep(3 * THRESHOLD);
        yield_now().await;
        sleep(20 * THRESHOLD).await;
    }
}

#[test]
#[ignore = "takes a minute: `make dump-under-load`"]
fn dumps_under_load() {
    let stalls = Arc::new(AtomicUsize::new(0));
    let counted = stalls.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .stall_threshold(THRESHOLD)
        .on_stall(move |stall| {
            assert!(stall.to_string().starts_with("stall: "));
            counted.fetch_add(1, Relaxed);
        })
        .build()
        .unwrap();
    let world = Arc::new(World {
        mutex: Mutex::new(0),
        lock: RwLock::new(0),
        semaphore: Semaphore::new(3),
        notify: Notify::new(),
        turns: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(runtime.spawn(locks(world.clone())));
        tasks.push(runtime.spawn(spawns(world.clone())));
        tasks.push(runtime.spawn(talks(world.clone())));
    }
    tasks.push(runtime.spawn(blocks(world.clone())));

    let count = seconds() * RATE;
    let began = Instant::now();
    let mut seen = 0;
    for number in 1..=count {
        let dump = runtime.handle().dump();
        assert!(dump.problems().is_empty(), "{dump}");
        assert!(dump.tasks().iter().all(|task| {
            let is_here = |location: &std::panic::Location<'_>| location.file() == file!();
            task.location().is_some_and(is_here) && matches!(task.name(), None | Some("named"))
        }));
        seen += dump.tasks().len();
        if number % 10 == 0 {
            assert!(!dump.to_string().is_empty());
        }
        let due = began + number * (Duration::from_secs(1) / RATE);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let rate = f64::from(count) / began.elapsed().as_secs_f64();
    world.is_over.store(true, Relaxed);
    while !tasks.iter().all(|task| task.is_finished()) {
        // A task of `spawns` may wait for one that waits for this.
        world.notify.notify_waiters();
        thread::sleep(SHORT);
    }
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
    println!(
        "{count} dumps, {rate:.0} a second, {:.1} tasks each, {} turns of the load, {} stalls reported",
        seen as f64 / f64::from(count),
        world.turns.load(Relaxed),
        stalls.load(Relaxed)
    );
}
