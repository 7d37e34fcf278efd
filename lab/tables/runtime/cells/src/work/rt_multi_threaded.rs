//! Several workers, with tasks spawned from outside and from inside.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use super::unknown;
use crate::beside;
use crate::form::Form;
use crate::primitives::Primitives;
use crate::runtime::{JoinHandle, Purpose, Runtime, joined, spawn, spawn_pinned};
use crate::sampling::{Unit, sample_beside};

const WORKERS: usize = 4;
const MANY: usize = 10_000;
const SPIN: Duration = Duration::from_micros(10);

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let purpose = match test {
        "spawn_many_remote" | "spawn_many_remote_busy1" => Purpose::Inside,
        _ => Purpose::Outside,
    };
    let mut runtime = Runtime::new(form, purpose, form.workers(WORKERS));
    let turn = match test {
        "spawn_many_local" => spawn_many_local,
        "spawn_many_remote" => spawn_many_remote,
        "spawn_many_remote_idle" => spawn_many_remote_idle,
        "spawn_many_remote_busy1" => {
            runtime.block_on(async {
                for _ in 0..2 * WORKERS {
                    spawn(yield_and_spin::<P>(form));
                }
            });
            spawn_many_inside
        }
        "spawn_many_remote_busy2" => {
            for _ in 0..WORKERS {
                runtime.spawn(async { spin_and_respawn() });
            }
            spawn_some_outside
        }
        "ping_pong" => ping_pong::<P>,
        "yield_many" => yield_many::<P>,
        "chained_spawn" => chained_spawn,
        _ => unknown(test),
    };
    sample_beside(lab, Unit::Microseconds, beside::switch, |turns| {
        for _ in 0..turns {
            turn(&mut runtime);
        }
    })
}

/// Counts down; the last task notifies the main thread.
#[derive(Clone)]
struct Countdown {
    left: Arc<AtomicUsize>,
    ended: mpsc::SyncSender<()>,
}

impl Countdown {
    fn from(count: usize) -> (Self, mpsc::Receiver<()>) {
        let (ended, end) = mpsc::sync_channel(1);
        let left = Arc::new(AtomicUsize::new(count));
        (Self { left, ended }, end)
    }

    fn down(self) {
        // Relaxed: the channel orders what the main thread does after it.
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.ended.send(()).expect("the main thread waits");
        }
    }
}

fn spawn_many_local(runtime: &mut Runtime) {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    LEFT.store(MANY, Relaxed);
    let (ended, end) = mpsc::sync_channel(1);
    for _ in 0..MANY {
        let ended = ended.clone();
        runtime.spawn(async move {
            if LEFT.fetch_sub(1, Relaxed) == 1 {
                ended.send(()).expect("the main thread waits");
            }
        });
    }
    end.recv().expect("the last task says so");
}

fn spawn_many_remote(runtime: &mut Runtime) {
    let sum = runtime.block_on(async {
        let mut parents = Vec::with_capacity(WORKERS);
        for _ in 0..WORKERS {
            parents.push(spawn_pinned(|| async {
                let mut children = Vec::with_capacity(MANY / WORKERS);
                for _ in 0..MANY / WORKERS {
                    children.push(spawn(async { 1 }));
                }
                sum_of(children).await
            }));
        }
        sum_of(parents).await
    });
    assert_eq!(sum, MANY, "the sum of what the tasks returned");
}

async fn sum_of(handles: Vec<JoinHandle<usize>>) -> usize {
    let mut sum = 0;
    for handle in handles {
        sum += joined(handle).await;
    }
    sum
}

fn spawn_many_remote_idle(runtime: &mut Runtime) {
    spawn_outside(runtime, MANY);
}

fn spawn_some_outside(runtime: &mut Runtime) {
    spawn_outside(runtime, MANY / 10);
}

fn spawn_outside(runtime: &mut Runtime, count: usize) {
    let handles: Vec<_> = (0..count).map(|_| runtime.spawn(async {})).collect();
    runtime.block_on(join_all(handles));
}

fn spawn_many_inside(runtime: &mut Runtime) {
    runtime.block_on(async {
        let mut handles = Vec::with_capacity(MANY);
        for _ in 0..MANY {
            handles.push(spawn(async {}));
        }
        join_all(handles).await;
    });
}

async fn join_all(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        joined(handle).await;
    }
}

/// Yields as Tokio does; the document does so in this test only.
async fn yield_and_spin<P: Primitives>(form: Form) {
    loop {
        beside::while_on().await;
        if form == Form::Published {
            ::tokio::task::yield_now().await;
        } else {
            P::yield_now().await;
        }
        spin();
    }
}

fn spin_and_respawn() {
    spin();
    spawn(async {
        beside::while_on().await;
        spin_and_respawn();
    });
}

fn spin() {
    let started_at = Instant::now();
    while started_at.elapsed() < SPIN {
        thread::yield_now();
    }
}

fn ping_pong<P: Primitives>(runtime: &mut Runtime) {
    const PAIRS: usize = 1_000;
    let (countdown, end) = Countdown::from(PAIRS);
    runtime.spawn(async move {
        for _ in 0..PAIRS {
            let countdown = countdown.clone();
            spawn(async move {
                let (ping, pinged) = P::oneshot::<()>();
                let (pong, ponged) = P::oneshot::<()>();
                spawn(async move {
                    P::answered(pinged).await;
                    P::answer(pong, ());
                });
                P::answer(ping, ());
                P::answered(ponged).await;
                countdown.down();
            });
        }
    });
    end.recv().expect("the last pair says so");
}

fn yield_many<P: Primitives>(runtime: &mut Runtime) {
    const TASKS: usize = 200;
    const YIELDS: usize = 1_000;
    let (ended, end) = mpsc::sync_channel(TASKS);
    for _ in 0..TASKS {
        let ended = ended.clone();
        runtime.spawn(async move {
            let mut yields = 0;
            while hint::black_box(yields) < YIELDS {
                P::yield_now().await;
                yields += 1;
            }
            ended.send(yields).expect("the main thread waits");
        });
    }
    let yields: usize = end.iter().take(TASKS).sum();
    assert_eq!(yields, TASKS * YIELDS, "how often the tasks yielded");
}

fn chained_spawn(runtime: &mut Runtime) {
    const LINKS: usize = 1_000;
    fn next(ended: mpsc::SyncSender<()>, left: usize) {
        if left == 0 {
            ended.send(()).expect("the main thread waits");
        } else {
            spawn(async move { next(ended, left - 1) });
        }
    }
    let (ended, end) = mpsc::sync_channel(1);
    runtime.spawn(async move { next(ended, LINKS) });
    end.recv().expect("the last task says so");
}
