//! Deterministic tests: runs a test in many orders of its tasks, and replays the order that fails.
//!
//! A flaky async test fails in one order of its tasks and passes in the others. [`explore`] runs the test once with each
//! of several seeds. A seed determines the order in which ready tasks run, the branches of [`select!`](crate::select) and
//! where an operation yields, so that a failure can be repeated as often as needed.
//!
//! ```
//! use pointsman::{sync::mpsc, test_util};
//!
//! test_util::explore(0..100, || async {
//!     let (tx, mut rx) = mpsc::channel(1);
//!     let sender = pointsman::spawn(async move { tx.send(7).await });
//!     assert_eq!(rx.recv().await, Some(7));
//!     assert!(sender.await.unwrap().is_ok());
//! });
//! ```

use std::env::{self, VarError};
use std::fmt::Debug;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use crate::runtime::{Builder, LocalOptions, RngSeed};

/// The environment variable whose value replaces the seeds of every explored test.
const VARIABLE: &str = "POINTSMAN_SEED";

/// Runs `test` once with each seed, until one fails.
///
/// Each run has a current-thread runtime of its own, on which [`spawn_local`](crate::task::spawn_local) works too, with a
/// paused clock: see [`time::pause`](crate::time::pause). With the seed 0 ready tasks run in the order in which they were
/// woken, as they do outside of tests. With each other seed they run in another order, and an operation may yield although
/// it need not wait, as it may when the [budget](crate::task::coop) is used up. All of this can happen in a program: the
/// guarantees of each primitive hold, such as first in, first out, and so does the order of timers.
///
/// The seeds are the same each time, so a test that passes keeps passing while neither it nor this crate changes.
///
/// # Failures
/// A test fails if it panics or returns an error. It also fails if it can never end: if no task is ready, and there is no
/// timer, no blocking function and no I/O that could wake one. This is decided after a second in which no other thread
/// wakes a task either.
///
/// The seed is written to the standard error, and the panic continues. To replay this run alone, set the environment
/// variable `POINTSMAN_SEED` to the seed, and run only this test, since the variable is for all tests of the process.
///
/// # What no seed determines
/// I/O, other threads, the clock of `std`, random numbers of other crates, and the order of a `HashMap`. A test that uses
/// them may fail with a seed and pass when that is replayed. [`spawn_blocking`](crate::task::spawn_blocking) waits until the
/// function has ended, at most for 0.1 s, so a short function is deterministic.
///
/// # Panics
/// If the test fails with a seed, if there are no seeds, if `POINTSMAN_SEED` is not a number, and if called in a runtime.
///
/// # Examples
/// A race between a check and an update, which needs a particular order to fail:
///
/// ```should_panic
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::sync::Arc;
/// use pointsman::{sync::Mutex, test_util};
///
/// test_util::explore(0..100, || async {
///     let (balance, log) = (Arc::new(AtomicU32::new(10)), Arc::new(Mutex::new(())));
///     let withdraw = || {
///         let (balance, log) = (balance.clone(), log.clone());
///         async move {
///             let before = balance.load(Relaxed);
///             drop(log.lock().await);
///             balance.store(before - 5, Relaxed);
///         }
///     };
///     let (one, other) = (pointsman::spawn(withdraw()), pointsman::spawn(withdraw()));
///     one.await.unwrap();
///     other.await.unwrap();
///     assert_eq!(balance.load(Relaxed), 0);
/// });
/// ```
#[track_caller]
pub fn explore<F, Fut>(seeds: impl IntoIterator<Item = u64>, test: F)
where
    F: Fn() -> Fut,
    Fut: Future,
    Fut::Output: Outcome,
{
    let mut passed = 0;
    let mut run_with = |seed| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed, &test))) {
            report(seed, passed);
            resume_unwind(panic);
        }
        passed += 1;
    };
    match seed_to_replay() {
        Some(seed) => run_with(seed),
        None => seeds.into_iter().for_each(&mut run_with),
    }
    assert!(passed > 0, "there are no seeds, so no test was run");
}

fn seed_to_replay() -> Option<u64> {
    let value = match env::var(VARIABLE) {
        Ok(value) => value,
        Err(VarError::NotPresent) => return None,
        Err(VarError::NotUnicode(value)) => panic!("{VARIABLE} is {value:?}: expected a number"),
    };
    match value.parse() {
        Ok(seed) => Some(seed),
        Err(_) => panic!(
            "{VARIABLE} is {value:?}: expected a number from 0 to {}",
            u64::MAX
        ),
    }
}

fn run<F, Fut>(seed: u64, test: &F)
where
    F: Fn() -> Fut,
    Fut: Future,
    Fut::Output: Outcome,
{
    let mut builder = Builder::new_current_thread();
    builder
        .enable_all()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()))
        .explore(seed != 0);
    let runtime = builder
        .build_local(LocalOptions::default())
        .expect("the runtime could not be built");
    // The test may create primitives and spawn tasks before its future is polled.
    runtime.block_on(async { test().await.check() });
}

/// Printed separately: the panic keeps its message, which `#[should_panic]` checks, and its location.
fn report(seed: u64, passed: u64) {
    let thread = thread::current();
    // The test harness names the thread of a test by its path.
    let name = thread
        .name()
        .filter(|&name| name != "main")
        .unwrap_or("<test>");
    eprintln!(
        "\nThe test fails with the seed {seed}, after {passed} seeds with which it passes. To replay it:\n    \
         {VARIABLE}={seed} cargo test {name}\n"
    );
}

/// What an explored test returns: nothing, or a `Result`.
pub trait Outcome {
    /// Panics if the test has failed.
    fn check(self);
}

impl Outcome for () {
    fn check(self) {}
}

impl<T: Outcome, E: Debug> Outcome for Result<T, E> {
    #[track_caller]
    fn check(self) {
        match self {
            Ok(outcome) => outcome.check(),
            Err(error) => panic!("the test returned an error: {error:?}"),
        }
    }
}
