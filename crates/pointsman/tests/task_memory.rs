//! Memory that completed tasks keep. In its own file, because it counts all memory of its process.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::thread;

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::task::{self, JoinHandle, LocalSet};

struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator, which guarantees what `GlobalAlloc` asks.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;

/// The growth of the memory in use over `run`, in bytes.
fn kept(run: impl FnOnce()) -> usize {
    let before = USED.load(Relaxed);
    run();
    USED.load(Relaxed).saturating_sub(before)
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn memory_of_a_peak_of_tasks_is_freed() {
    const TASKS: usize = if cfg!(miri) { 1_000 } else { 200_000 };
    let _alone = ALONE.lock();
    must_end(|| {
        let runtime = current_thread();
        let kept = kept(|| {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..TASKS).map(|_| task::spawn(async {})).collect();
                for task in tasks {
                    task.await.unwrap();
                }
            });
        });
        // The queue's capacity stays as well.
        assert!(kept < 8 * MIB, "{kept} bytes");
    });
}

#[test]
fn memory_of_a_peak_of_tasks_spawned_outside_is_freed() {
    const TASKS: usize = if cfg!(miri) { 200 } else { 100_000 };
    let _alone = ALONE.lock();
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let before = USED.load(Relaxed);
        let all = |runtime: &Runtime| (0..TASKS).map(|_| runtime.spawn(async {})).collect();
        // From a thread in `block_on`, and from another.
        let tasks: Vec<_> = runtime.block_on(async { all(&runtime) });
        let others: Vec<_> = all(&runtime);
        for task in tasks.into_iter().chain(others) {
            futures::executor::block_on(task).unwrap();
        }
        // A worker frees it before it sleeps.
        while USED.load(Relaxed).saturating_sub(before) > 12 * MIB {
            runtime.spawn(async {});
            thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}

#[test]
fn memory_of_tasks_with_handles_on_other_threads_is_freed() {
    let _alone = ALONE.lock();
    must_end(|| {
        let mut local = Box::pin(LocalSet::new());
        let kept = kept(|| {
            let tasks: Vec<_> = (0..100_000)
                .map(|number| local.spawn_local(async move { number }))
                .collect();
            let runtime = current_thread();
            runtime.block_on(local.as_mut());
            thread::spawn(move || drop(tasks)).join().unwrap();
            // The set takes back what others have returned when it has no task to run.
            runtime.block_on(local.as_mut());
        });
        assert!(kept < 8 * MIB, "{kept} bytes");
    });
}

/// Ready at once.
struct Large<const BYTES: usize = MIB>([u8; BYTES]);

impl<const BYTES: usize> Future for Large<BYTES> {
    type Output = u8;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
        Poll::Ready(self.0[BYTES - 1])
    }
}

#[test]
fn a_large_future_is_freed_at_completion_not_with_its_handle() {
    let _alone = ALONE.lock();
    must_end(|| {
        let runtime = current_thread();
        let mut tasks = Vec::new();
        let kept = kept(|| {
            tasks.extend((0..60).map(|_| runtime.spawn(Large([7; 32 << 10]))));
            runtime.block_on(async {
                while !tasks.iter().all(JoinHandle::is_finished) {
                    task::yield_now().await;
                }
            });
        });
        assert!(kept < MIB, "{kept} bytes");
    });
}

/// Runs on a thread with this stack size. An overflow ends the process.
fn with_stack(bytes: usize, run: fn()) {
    let builder = thread::Builder::new().stack_size(bytes);
    builder.spawn(run).unwrap().join().unwrap();
}

// A stack ten times the size of the spawned future: in an unoptimized build, each function that it passes through has
// it once or twice.

#[test]
fn a_large_future_is_spawned_on_a_small_stack() {
    let _alone = ALONE.lock();
    with_stack(10 * MIB, || {
        let runtime = current_thread();
        let task = runtime.spawn(Large([7; MIB]));
        assert_eq!(runtime.block_on(task).unwrap(), 7);
    });
}

#[test]
fn a_large_local_future_is_spawned_on_a_small_stack() {
    let _alone = ALONE.lock();
    with_stack(8 * MIB, || {
        drop(LocalSet::new().spawn_local(Large([7; MIB])))
    });
}

#[test]
fn a_large_function_is_spawned_on_a_small_stack() {
    let _alone = ALONE.lock();
    with_stack(12 * MIB, || {
        let runtime = current_thread();
        let large = [7u8; MIB];
        let job = runtime.spawn_blocking(move || large[MIB - 1]);
        assert_eq!(runtime.block_on(job).unwrap(), 7);
    });
}
