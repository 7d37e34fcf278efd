//! The thread that looks at all runtimes of the process, and prints what it finds.
//!
//! Invariant: after [`arm`] the runtimes are looked at until none of them works, and once more after that. So a worker
//! that wakes up, and sees the monitor armed, is seen by a look: the last look comes later than its store takes to become
//! visible.

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

/// The greatest time between two looks: it bounds how late a stall is noticed, and what a busy process pays.
const MAX_PERIOD: Duration = Duration::from_millis(250);
const MIN_PERIOD: Duration = Duration::from_millis(1);

/// The least time between two reports on standard error.
const PRINT_INTERVAL: Duration = Duration::from_secs(10);

/// A hook of the user runs on the thread, and what formats reports; only the pages that are used take memory.
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

/// Miri and loom do not accept a thread that outlives the program's others, and WebAssembly has no threads.
fn is_possible() -> bool {
    cfg!(not(any(all(test, loom), miri, target_family = "wasm")))
}

/// Watches a new runtime, unless its reports are off. Returns whether it does.
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

/// Returns for how long a worker, which is awake and has made `steps`, has been in one poll; `None` if it was not in it
/// at the last look, or the runtime is not watched.
#[cfg(all(unix, feature = "net"))]
pub(in crate::runtime) fn polls_since(id: u64, worker: usize, steps: usize) -> Option<Duration> {
    let monitor = lock(&MONITOR);
    let watched = monitor.runtimes.iter().find(|watched| watched.id == id)?;
    let watch = Arc::clone(&watched.watch);
    drop(monitor);
    lock(&watch).polls_since(worker, steps, Instant::now())
}

/// Called when a runtime begins to work, after it has become visible that it does.
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
    // Without the thread nothing is reported; the next worker that wakes up does not try again.
    let _ = builder.stack_size(STACK).spawn(run);
    monitor.is_started = true;
}

fn run() {
    let mut printer = Printer::default();
    // Whether a worker that wakes up may have relied on this thread to look.
    let mut is_armed = true;
    let mut late = Duration::ZERO;
    loop {
        let began = Instant::now();
        let Looked {
            is_active,
            period,
            next,
        } = look(&mut printer, late);
        if is_active || is_armed {
            // Not after a look without it: a worker that has armed during that look has not been seen.
            IS_ARMED.store(is_active, Relaxed);
            // A stalled runtime is looked at no earlier, so this is no condition variable.
            thread::sleep(period.saturating_sub(began.elapsed()));
            is_armed = is_active;
        } else {
            let next = next.map_or(Duration::MAX, |next| next.max(period));
            let is_resting = |_: &mut Monitor| !IS_ARMED.load(Relaxed);
            // The result holds the lock.
            drop(ARMED.wait_timeout_while(lock(&MONITOR), next, is_resting));
            is_armed = IS_ARMED.load(Relaxed);
        }
        // Includes the time of a look that took long, such as that of a hook, and of a rest.
        late = began.elapsed().saturating_sub(period);
    }
}

struct Looked {
    /// Whether any of the runtimes works.
    is_active: bool,
    /// The time until the next look, if any works.
    period: Duration,
    /// The same if none does.
    next: Option<Duration>,
}

/// Looks at all runtimes, `late` after the time at which this look was due.
fn look(printer: &mut Printer, late: Duration) -> Looked {
    let runtimes: Vec<_> = lock(&MONITOR)
        .runtimes
        .iter()
        .map(|watched| (Weak::clone(&watched.shared), Arc::clone(&watched.watch)))
        .collect();
    let now = Instant::now();
    clock::refresh(now);
    let (mut is_active, mut period, mut next) = (false, MAX_PERIOD, None);
    for (shared, watch) in runtimes {
        let Some(shared) = shared.upgrade() else {
            continue;
        };
        let seen = lock(&watch).look(&shared, now, late);
        is_active |= seen.is_active;
        next = [next, seen.next].into_iter().flatten().min();
        period = period.min(shared.stall_threshold() / 4);
        for stall in seen.stalls {
            match shared.stall_hook() {
                Some(hook) => drop(catch_unwind(AssertUnwindSafe(|| hook(&stall)))),
                None => printer.print(&stall, now),
            }
        }
    }
    Looked {
        is_active,
        period: period.max(MIN_PERIOD),
        next,
    }
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
        // Afterwards, as the names of functions take long to find.
        let frames = stall.stack().iter();
        print(
            &frames
                .map(|frame| format!("    at {frame}\n"))
                .collect::<String>(),
        );
    }

    /// What is printed at this time, but for the stack.
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

/// Prints on standard error. `eprint` panics if that is closed, and tests capture it.
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
