//! The thread that checks all runtimes of the process, and prints the stalls that it finds.
//!
//! Invariant: after [`arm`] the thread looks at the runtimes until none of them works, and once more after that. So it
//! sees each worker that wakes up and finds the monitor armed: the last look comes long enough after the worker's store
//! for the store to be visible.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{mem, process, thread};

use super::super::scheduler::Shared;
use super::text::Line;
use super::watch::Watch;
use super::{Stall, StallConfig};
use crate::task::clock;

/// The maximum time between two looks. It bounds how late a stall is noticed, and determines the cost in a busy
/// process.
const MAX_PERIOD: Duration = Duration::from_millis(250);
const MIN_PERIOD: Duration = Duration::from_millis(1);

/// The minimum time between two reports on standard error.
const PRINT_INTERVAL: Duration = Duration::from_secs(10);

/// Large, since hooks of the user and the formatting of reports run on the thread. Only used pages take memory.
const STACK: usize = 1 << 20;

/// Whether the thread looks again soon.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

static MONITOR: Mutex<Monitor> = Mutex::new(Monitor {
    runtimes: Vec::new(),
    is_started: false,
    process: 0,
});
static ARMED: Condvar = Condvar::new();

struct Monitor {
    runtimes: Vec<Watched>,
    is_started: bool,
    /// The id of the process that the thread is of; 0 before the first runtime.
    process: u32,
}

impl Monitor {
    /// Called for each new runtime: a process that was forked has the memory of the thread, and not the thread.
    fn begin_process(&mut self) {
        let process = process::id();
        if mem::replace(&mut self.process, process) == process {
            return;
        }
        self.is_started = false;
        IS_ARMED.store(false, Relaxed);
        // No threads run these runtimes here, and they may have held locks. Empty in the first process.
        mem::forget(mem::take(&mut self.runtimes));
    }
}

struct Watched {
    id: u64,
    shared: Weak<Shared>,
    watch: Arc<Mutex<Watch>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Miri and loom reject a thread that outlives all others of the program, and WebAssembly has no threads.
fn is_possible() -> bool {
    cfg!(not(any(all(test, loom), miri, target_family = "wasm")))
}

/// Watches a new runtime, unless its reports are off. Returns whether the runtime is watched.
pub(in crate::runtime) fn register(
    id: u64,
    shared: &Weak<Shared>,
    config: &StallConfig,
    workers: usize,
) -> bool {
    if !is_possible() || config.threshold.is_zero() {
        return false;
    }
    let watch = Watch::new(workers, Instant::now());
    let mut monitor = lock(&MONITOR);
    monitor.begin_process();
    monitor.runtimes.push(Watched {
        id,
        shared: Weak::clone(shared),
        watch: Arc::new(Mutex::new(watch)),
    });
    true
}

/// Called when a runtime is dropped.
pub(in crate::runtime) fn forget(id: u64) {
    let mut monitor = lock(&MONITOR);
    let runtimes = &mut monitor.runtimes;
    let at = runtimes.iter().position(|watched| watched.id == id);
    let forgotten = at.map(|at| runtimes.swap_remove(at));
    drop(monitor);
    // Without the lock: it may have the last reference to a task, and that the last one to another runtime.
    drop(forgotten);
}

/// Returns how long an awake worker with this number of `steps` has been in its current poll. Returns `None` if the
/// poll began after the last look, or the runtime is not watched.
#[cfg(all(unix, feature = "net"))]
pub(in crate::runtime) fn polls_since(id: u64, worker: usize, steps: usize) -> Option<Duration> {
    let monitor = lock(&MONITOR);
    let watched = monitor.runtimes.iter().find(|watched| watched.id == id)?;
    let watch = Arc::clone(&watched.watch);
    drop(monitor);
    lock(&watch).polls_since(worker, steps, Instant::now())
}

/// Called when a runtime begins to work, after other threads can see that it does.
#[inline]
pub(in crate::runtime) fn arm() {
    if !is_armed() {
        begin();
    }
}

/// Whether the monitor looks again soon, which also sets the clock of dumps.
#[inline]
pub(in crate::runtime) fn is_armed() -> bool {
    IS_ARMED.load(Relaxed)
}

#[cold]
fn begin() {
    clock::refresh(Instant::now());
    let mut monitor = lock(&MONITOR);
    IS_ARMED.store(true, Relaxed);
    if monitor.is_started {
        ARMED.notify_one();
        return;
    }
    let builder = thread::Builder::new().name("pointsman-stall".into());
    // If the thread cannot be started, there are no reports, and later workers do not try again.
    let _ = builder.stack_size(STACK).spawn(run);
    monitor.is_started = true;
}

fn run() {
    let mut printer = Printer::default();
    // Whether a worker that woke up may have relied on a further look of this thread.
    let mut is_armed = true;
    let mut late = Duration::ZERO;
    loop {
        let began = Instant::now();
        let (is_active, period) = look(&mut printer, late);
        if is_active || is_armed {
            // Another look follows: a worker that armed the monitor during this look may not have been seen.
            IS_ARMED.store(is_active, Relaxed);
            // Not a condition variable, since no event requires an earlier look at a stalled runtime.
            thread::sleep(period.saturating_sub(began.elapsed()));
            is_armed = is_active;
        } else {
            let is_resting = |_: &mut Monitor| !IS_ARMED.load(Relaxed);
            // Dropped at once, because the result holds the lock.
            drop(ARMED.wait_while(lock(&MONITOR), is_resting));
            is_armed = true;
        }
        // Includes the excess of a slow look, for example because of a hook, and of a sleep.
        late = began.elapsed().saturating_sub(period);
    }
}

/// Looks at all runtimes. `late` is the time since this look was due. Returns whether any of them works, and the time
/// until the next look if one does.
fn look(printer: &mut Printer, late: Duration) -> (bool, Duration) {
    let runtimes: Vec<_> = lock(&MONITOR)
        .runtimes
        .iter()
        .map(|watched| (Weak::clone(&watched.shared), Arc::clone(&watched.watch)))
        .collect();
    let now = Instant::now();
    clock::refresh(now);
    let (mut is_active, mut period) = (false, MAX_PERIOD);
    for (shared, watch) in runtimes {
        let Some(shared) = shared.upgrade() else {
            continue;
        };
        let seen = lock(&watch).look(&shared, now, late);
        is_active |= seen.is_active;
        period = period.min(shared.stall_threshold() / 4);
        for stall in seen.stalls {
            match shared.stall_hook() {
                Some(hook) => drop(catch_unwind(AssertUnwindSafe(|| hook(&stall)))),
                None => printer.print(&stall, now),
            }
        }
    }
    (is_active, period.max(MIN_PERIOD))
}

/// Prints one report at most every [`PRINT_INTERVAL`].
#[derive(Default)]
struct Printer {
    last: Option<Instant>,
    skipped: usize,
}

impl Printer {
    fn print(&mut self, stall: &Stall, now: Instant) {
        let Some(text) = self.text(stall, now) else {
            return;
        };
        print(&text);
        // Printed after the line, since looking up names of functions takes long.
        let frames = stall.stack().iter();
        print(
            &frames
                .map(|frame| format!("    at {frame}\n"))
                .collect::<String>(),
        );
    }

    /// Returns the text to print at this time, without the stack.
    fn text(&mut self, stall: &Stall, now: Instant) -> Option<String> {
        if self.last.is_some_and(|last| now - last < PRINT_INTERVAL) {
            self.skipped += 1;
            return None;
        }
        self.last = Some(now);
        let mut text = format!("pointsman: {}\n", Line(stall));
        let skipped = mem::take(&mut self.skipped);
        if skipped > 0 {
            text += &format!("pointsman: {skipped} reports before this one were not printed\n");
        }
        Some(text)
    }
}

/// Prints on standard error. Not with `eprint`, which panics if standard error is closed, and which tests capture.
fn print(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::StallKind;
    use super::*;

    #[test]
    fn at_most_one_report_is_printed_in_ten_seconds() {
        let stall = Stall::new(StallKind::Timer, None, Duration::from_secs(1));
        let line = "pointsman: stall: a timer is due and no thread has fired it for 1000 ms\n";
        let mut printer = Printer::default();
        let began = Instant::now();
        let mut text_at = |seconds| printer.text(&stall, began + Duration::from_secs(seconds));
        assert_eq!(text_at(0).as_deref(), Some(line));
        assert_eq!(text_at(5), None);
        assert_eq!(text_at(9), None);
        let skipped = "pointsman: 2 reports before this one were not printed\n";
        assert_eq!(text_at(10), Some(format!("{line}{skipped}")));
        assert_eq!(text_at(20).as_deref(), Some(line));
    }
}
