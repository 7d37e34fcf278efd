//! Random programs of everything that can happen to a task. Each future is dropped once, each handle resolves, and
//! nothing hangs. `POINTSMAN_SEED` repeats one program.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use pointsman::runtime::{Builder, Handle, Runtime};
use pointsman::task::{AbortHandle, JoinHandle, spawn_blocking, yield_now};
use pointsman::time::{sleep, timeout};

/// How long programs are generated for each kind of runtime.
const TIME: Duration = Duration::from_millis(1_200);
/// The time limit of one program.
const PATIENCE: Duration = Duration::from_secs(20);

/// Splitmix64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

/// State shared by the tasks of a program.
#[derive(Default)]
struct World {
    made: AtomicUsize,
    dropped: AtomicUsize,
    /// Wakers that other threads wake.
    wakers: Mutex<Vec<Waker>>,
    aborts: Mutex<Vec<AbortHandle>>,
    is_over: AtomicBool,
}

/// Counts its creation and its drop.
struct Witness(Arc<World>);

impl Witness {
    fn new(world: &Arc<World>) -> Self {
        world.made.fetch_add(1, SeqCst);
        Self(Arc::clone(world))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

/// Waits until another thread wakes it, a few times.
struct Woken {
    world: Arc<World>,
    times: u64,
}

impl Future for Woken {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.times == 0 {
            return Poll::Ready(());
        }
        self.times -= 1;
        let mut wakers = self.world.wakers.lock().unwrap();
        wakers.push(cx.waker().clone());
        Poll::Pending
    }
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task that performs this many random actions.
fn task(world: Arc<World>, mut random: Random, depth: u64) -> Task {
    let witness = Witness::new(&world);
    Box::pin(async move {
        let _witness = witness;
        let mut children: Vec<JoinHandle<()>> = Vec::new();
        for _ in 0..random.below(6) {
            match random.below(12) {
                0 | 1 if depth > 0 => {
                    for _ in 0..=random.below(5) {
                        let child = task(Arc::clone(&world), random.fork(), depth - 1);
                        children.push(pointsman::spawn(child));
                    }
                }
                2 => yield_now().await,
                3 => {
                    let (world, times) = (Arc::clone(&world), random.below(3));
                    Woken { world, times }.await;
                }
                4 => {
                    if let Some(child) = children.pop() {
                        assert!(settled(child.await));
                    }
                }
                5 => {
                    if let Some(child) = children.pop() {
                        child.abort();
                        assert!(settled(child.await));
                    }
                }
                6 => drop(children.pop()),
                7 => {
                    let witness = Witness::new(&world);
                    let job = spawn_blocking(move || drop(witness));
                    if random.below(2) == 0 {
                        assert!(settled(job.await));
                    }
                }
                8 => sleep(Duration::from_micros(random.below(1_500))).await,
                9 => {
                    if let Some(child) = children.pop() {
                        world.aborts.lock().unwrap().push(child.abort_handle());
                        children.push(child);
                    }
                }
                10 => {
                    if let Some(child) = children.pop() {
                        let limit = Duration::from_micros(random.below(1_000));
                        if let Ok(result) = timeout(limit, child).await {
                            assert!(settled(result));
                        }
                    }
                }
                _ => {
                    // A task that wakes itself and others at once.
                    let wakers = std::mem::take(&mut *world.wakers.lock().unwrap());
                    wakers.iter().for_each(Waker::wake_by_ref);
                    yield_now().await;
                    drop(wakers);
                }
            }
        }
        if random.below(40) == 0 {
            std::panic::resume_unwind(Box::new(Expected));
        }
    })
}

/// The payload of tasks that panic.
struct Expected;

/// Whether a task has ended in an allowed way.
fn settled(result: Result<(), pointsman::task::JoinError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) if error.is_cancelled() => true,
        Err(error) => error.into_panic().is::<Expected>(),
    }
}

/// Wakes and aborts tasks from another thread until the program is over.
fn meddle(world: &World, handle: &Handle, mut random: Random) {
    while !world.is_over.load(SeqCst) {
        let wakers = std::mem::take(&mut *world.wakers.lock().unwrap());
        for waker in wakers {
            match random.below(3) {
                0 => waker.wake_by_ref(),
                1 => drop(waker.clone()),
                _ => {}
            }
            waker.wake();
        }
        let abort = world.aborts.lock().unwrap().pop();
        if let Some(abort) = abort {
            abort.abort();
        }
        if random.below(16) == 0 {
            drop(handle.spawn(async { yield_now().await }));
        }
        thread::yield_now();
    }
    world.wakers.lock().unwrap().clear();
    world.aborts.lock().unwrap().clear();
}

fn program(runtime: Runtime, mut random: Random) {
    let world = Arc::new(World::default());
    let outside: Vec<_> = (0..=random.below(2))
        .map(|_| {
            let (world, random) = (Arc::clone(&world), random.fork());
            let handle = runtime.handle().clone();
            thread::spawn(move || meddle(&world, &handle, random))
        })
        .collect();
    let is_ended_amidst = random.below(3) == 0;
    let tasks: Vec<_> = (0..=random.below(8))
        .map(|_| task(Arc::clone(&world), random.fork(), 3))
        .collect();
    let kept = runtime.block_on(async {
        let mut handles: Vec<_> = tasks.into_iter().map(pointsman::spawn).collect();
        let kept = handles.split_off(handles.len() / 2);
        for handle in handles {
            if is_ended_amidst && random.below(2) == 0 {
                break;
            }
            assert!(settled(handle.await));
        }
        kept
    });
    if is_ended_amidst {
        drop(runtime);
        // Handles that outlive their runtime resolve too.
        for handle in kept {
            let result = futures::executor::block_on(handle);
            assert!(settled(result));
        }
    } else {
        let all = async {
            for handle in kept {
                assert!(settled(handle.await));
            }
        };
        runtime.block_on(all);
        drop(runtime);
    }
    world.is_over.store(true, SeqCst);
    for thread in outside {
        thread.join().unwrap();
    }
    assert_eq!(world.made.load(SeqCst), world.dropped.load(SeqCst));
    assert_eq!(Arc::strong_count(&world), 1, "something is left of a task");
}

/// Ends the process if a program takes too long.
struct Watchdog {
    seed: Arc<AtomicU64>,
    begun: Arc<Mutex<Instant>>,
}

impl Watchdog {
    fn new(name: &'static str) -> Self {
        let seed = Arc::new(AtomicU64::new(0));
        let begun = Arc::new(Mutex::new(Instant::now()));
        let (watched, since) = (Arc::downgrade(&seed), Arc::clone(&begun));
        thread::spawn(move || {
            while let Some(seed) = watched.upgrade() {
                if since.lock().unwrap().elapsed() > PATIENCE {
                    eprintln!("{name} hangs: POINTSMAN_SEED={}", seed.load(SeqCst));
                    std::process::abort();
                }
                drop(seed);
                thread::sleep(Duration::from_millis(100));
            }
        });
        Self { seed, begun }
    }

    fn begin(&self, seed: u64) {
        self.seed.store(seed, SeqCst);
        *self.begun.lock().unwrap() = Instant::now();
    }
}

fn run(name: &'static str, make: fn() -> Runtime) {
    let watchdog = Watchdog::new(name);
    let given = std::env::var("POINTSMAN_SEED").ok();
    let given = given.map(|seed| seed.parse::<u64>().expect("a seed is a number"));
    let until = Instant::now() + TIME;
    let mut seeds = Random(0x5eed);
    while Instant::now() < until {
        let seed = given.unwrap_or_else(|| seeds.next());
        watchdog.begin(seed);
        let result = std::panic::catch_unwind(|| program(make(), Random(seed)));
        if let Err(panic) = result {
            eprintln!("{name} failed: POINTSMAN_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn current_thread() {
    run("current_thread", || {
        Builder::new_current_thread().enable_all().build().unwrap()
    });
}

#[test]
fn multi_thread_of_1() {
    run("multi_thread_of_1", || multi_thread(1));
}

#[test]
fn multi_thread_of_2() {
    run("multi_thread_of_2", || multi_thread(2));
}

#[test]
fn multi_thread_of_4() {
    run("multi_thread_of_4", || multi_thread(4));
}
