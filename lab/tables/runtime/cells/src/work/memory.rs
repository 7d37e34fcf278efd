//! The memory of tasks and channels, and what remains when they are gone.

use std::fs;
use std::future::poll_fn;
use std::mem::replace;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use lab::Samples;

use super::unknown;
use crate::form::{Form, cores};
use crate::primitives::{Notify, Primitives, Publisher};
use crate::runtime::{Purpose, Runtime, joined, spawn};

pub(super) fn measure<P: Primitives>(form: Form, test: &str) -> Samples {
    match test {
        "task" => task_memory(form),
        "channels" => channel_memory::<P>(),
        "peak" => memory_after_a_peak::<P>(form),
        _ => unknown(test),
    }
}

fn task_memory(form: Form) -> Samples {
    const TASKS: usize = 100_000;
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    let bytes = runtime.block_on(async {
        // Allocates what a runtime allocates once: threads, queues and the allocator's first pages.
        wait_for_ever(1_000).await;
        let before = resident_bytes();
        wait_for_ever(TASKS).await;
        resident_bytes() - before
    });
    Samples::from([("task", bytes / TASKS as f64)])
}

/// Spawns tasks that never end, and returns when all have been polled.
async fn wait_for_ever(tasks: usize) {
    let polled = Arc::new(AtomicU64::new(0));
    for _ in 0..tasks {
        let polled = Arc::clone(&polled);
        drop(spawn(async move {
            // ORDERING: pairs with the load below.
            polled.fetch_add(1, Release);
            drop(polled);
            // A runtime may drop a task whose waker is gone, so each task keeps its own.
            let mut waker = None;
            poll_fn(|cx| {
                waker = Some(cx.waker().clone());
                Poll::<()>::Pending
            })
            .await;
        }));
    }
    // ORDERING: pairs with the additions above.
    while polled.load(Acquire) < tasks as u64 {
        joined(spawn(async {})).await;
    }
}

/// A million tasks wait at once, are woken and end. Measures the additional memory of the process afterwards.
fn memory_after_a_peak<P: Primitives>(form: Form) -> Samples {
    const TASKS: usize = 1_000_000;
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    runtime.block_on(rise_and_fall::<P>(1_000));
    let before = resident_bytes();
    runtime.block_on(rise_and_fall::<P>(TASKS));
    // Leaves time to a runtime that frees memory later.
    thread::sleep(Duration::from_millis(200));
    let stays = resident_bytes() - before;
    Samples::from([("stays", stays.max(0.0) / 1e6)])
}

/// Runs tasks that all wait at once before any of them ends.
async fn rise_and_fall<P: Primitives>(tasks: usize) {
    let shared = Arc::new((P::Notify::default(), AtomicU64::new(0), AtomicU64::new(0)));
    for _ in 0..tasks {
        let shared = Arc::clone(&shared);
        drop(spawn(async move {
            let (notify, waiting, ended) = &*shared;
            let mut woken = pin!(notify.notified());
            let mut is_counted = false;
            poll_fn(|cx| {
                let polled = woken.as_mut().poll(cx);
                // From here on the task is certain to be woken.
                if !replace(&mut is_counted, true) {
                    // ORDERING: pairs with the load below.
                    waiting.fetch_add(1, Release);
                }
                polled
            })
            .await;
            ended.fetch_add(1, Relaxed);
        }));
    }
    let (notify, waiting, ended) = &*shared;
    // ORDERING: pairs with the additions above.
    while waiting.load(Acquire) < tasks as u64 {
        joined(spawn(async {})).await;
    }
    notify.notify_waiters();
    // When no task holds its share any more, all have ended but for a few instructions.
    while ended.load(Relaxed) < tasks as u64 || Arc::strong_count(&shared) > 1 {
        joined(spawn(async {})).await;
    }
}

fn channel_memory<P: Primitives>() -> Samples {
    const CAPACITY: usize = 16;
    Samples::from([
        ("oneshot", bytes_each(P::oneshot::<u64>)),
        ("bounded", bytes_each(|| P::bounded::<u64>(CAPACITY))),
        ("unbounded", bytes_each(P::unbounded::<u64>)),
        ("watch", bytes_each(subscribed::<P::Watch>)),
    ])
}

fn subscribed<C: Publisher>() -> (C, C::Subscriber) {
    let publisher = C::new();
    let subscriber = publisher.subscribe();
    (publisher, subscriber)
}

/// The memory of a channel with both ends, and of the slot that holds it.
fn bytes_each<Channel>(make: impl Fn() -> Channel) -> f64 {
    const CHANNELS: usize = 20_000;
    drop(make());
    let before = resident_bytes();
    let channels: Vec<Channel> = (0..CHANNELS).map(|_| make()).collect();
    let bytes = resident_bytes() - before;
    // The next kind of channel would reuse freed memory, which its measurement would miss.
    std::mem::forget(channels);
    bytes / CHANNELS as f64
}

fn resident_bytes() -> f64 {
    let statistics = fs::read_to_string("/proc/self/statm").expect("/proc/self/statm can be read");
    let pages = statistics
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<f64>().ok());
    pages.expect("the second number") * rustix::param::page_size() as f64
}
