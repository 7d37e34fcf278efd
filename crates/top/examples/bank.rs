//! A bank with each kind of problem, to inspect with `pointsman-top`:
//!
//! ```sh
//! cargo run --package pointsman-top --example bank -- /run/user/$(id -u)/bank.sock
//! ```
#![cfg_attr(not(unix), allow(unused))]

use std::future::{Future, pending, poll_fn};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, mpsc as std_mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use pointsman::runtime::Builder;
use pointsman::sync::{Barrier, Mutex, Semaphore, mpsc};
use pointsman::task::{self, spawn_blocking, yield_now};
use pointsman::time::{sleep, timeout};

#[allow(dead_code)] // The tests use the module without it.
fn main() -> io::Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        return Err(io::Error::other("the path of the socket is missing"));
    };
    run(path.as_ref(), std_mpsc::channel().1)
}

/// Runs until the sender is dropped; never returns if it was dropped before.
pub(crate) fn run(path: &Path, end: std_mpsc::Receiver<()>) -> io::Result<()> {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .max_blocking_threads(4)
        .name("bank");
    let runtime = builder.enable_all().on_stall(|_| {}).build()?;
    #[cfg(unix)]
    runtime.handle().serve_dumps(path)?;
    runtime.block_on(async {
        named("branch", branch());
        // Later than the others, which need the worker.
        sleep(Duration::from_millis(200)).await;
        named("yearly report", async move {
            // A call that blocks its worker, and so is a stall.
            if end.recv().is_err() {
                loop {
                    thread::park();
                }
            }
        });
        pending::<()>().await;
    });
    Ok(())
}

#[track_caller]
fn named<F>(name: &str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let builder = task::Builder::new().name(name);
    builder.spawn(future).expect("there is a runtime")
}

async fn branch() {
    let accounts = [(); 3].map(|()| Arc::new(Mutex::new(100)));
    let [ann, bob, eve] = accounts.each_ref().map(Arc::clone);
    let all = Arc::new(Barrier::new(5));
    let forth = transfer(Arc::clone(&ann), Arc::clone(&bob), Arc::clone(&all));
    named("ann to bob", forth);
    named(
        "bob to ann",
        transfer(Arc::clone(&bob), ann, Arc::clone(&all)),
    );
    for _ in 0..3 {
        named(
            "statement of bob",
            statement(Arc::clone(&bob), Arc::clone(&all)),
        );
    }
    named("quote", quote(eve));
    named("archive", forgotten());

    let (orders, queue) = mpsc::channel(4);
    let served = named("orders", serve(queue));
    let windows = Arc::new(Semaphore::new(2));
    for customer in 0..40 {
        let name = format!("customer {customer}");
        named(&name, visit(customer, Arc::clone(&windows), orders.clone()));
    }
    for _ in 0..6 {
        spawn_blocking(|| thread::sleep(Duration::MAX));
    }
    drop(served.await);
}

/// Two of them in opposite directions are a deadlock.
async fn transfer(from: Arc<Mutex<u64>>, to: Arc<Mutex<u64>>, all: Arc<Barrier>) {
    let mut source = from.lock().await;
    all.wait().await;
    let mut target = to.lock().await;
    (*source, *target) = (*source - 1, *target + 1);
}

async fn statement(account: Arc<Mutex<u64>>, all: Arc<Barrier>) -> u64 {
    all.wait().await;
    *account.lock().await
}

/// A futurelock: the lock is granted to a future that is no longer polled.
async fn quote(account: Arc<Mutex<u64>>) {
    let held = account.lock().await;
    let mut other = pin!(account.lock());
    poll_fn(|context| {
        assert!(other.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(held);
    drop(account.lock().await);
}

/// A task that nothing can wake.
async fn forgotten() {
    pending::<()>().await;
}

async fn serve(mut orders: mpsc::Receiver<u64>) {
    while orders.recv().await.is_some() {
        yield_now().await;
    }
}

async fn visit(customer: u64, windows: Arc<Semaphore>, orders: mpsc::Sender<u64>) {
    loop {
        let window = windows.acquire().await.expect("the semaphore is open");
        work(Duration::from_micros(300));
        let _ = timeout(Duration::from_millis(5), orders.send(customer)).await;
        drop(window);
        sleep(Duration::from_millis(20 + customer)).await;
    }
}

fn work(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
