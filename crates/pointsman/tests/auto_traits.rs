//! `Send`, `Sync` and `UnwindSafe` of public types have no stricter bounds than Tokio's. The compiler checks this.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::MutexGuard;

use pointsman::runtime::{EnterGuard, LocalRuntime};
use pointsman::sync::RwLockReadGuard;

/// `Sync` but not `Send`.
type Shared = MutexGuard<'static, u8>;

const fn is_send<T: Send>() {}
const fn is_sync<T: Sync>() {}
const fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}

#[test]
fn a_guard_that_reads_is_sent_if_its_value_may_be_shared() {
    is_send::<RwLockReadGuard<'_, Shared>>();
}

#[cfg(feature = "io-util")]
#[test]
fn the_halves_of_any_stream_may_be_shared() {
    use pointsman::io::{ReadHalf, WriteHalf};

    is_sync::<ReadHalf<Shared>>();
    is_sync::<WriteHalf<Shared>>();
    is_sync::<ReadHalf<Cell<u8>>>();
}

#[cfg(feature = "io-std")]
#[test]
fn the_standard_streams_survive_a_panic() {
    use pointsman::io::{Stderr, Stdin, Stdout};

    is_unwind_safe::<Stdin>();
    is_unwind_safe::<Stdout>();
    is_unwind_safe::<Stderr>();
}

#[test]
fn other_tasks_survive_a_panic() {
    use pointsman::runtime::{Handle, Runtime};
    use pointsman::sync::{Notify, mpsc};
    use pointsman::task::JoinHandle;

    is_unwind_safe::<Runtime>();
    is_unwind_safe::<LocalRuntime>();
    is_unwind_safe::<Handle>();
    is_unwind_safe::<Notify>();
    is_unwind_safe::<JoinHandle<Cell<u8>>>();
    is_unwind_safe::<mpsc::Sender<Cell<u8>>>();
}

#[test]
fn all_runtimes_have_one_guard() {
    fn enter(runtime: &LocalRuntime) -> EnterGuard<'_> {
        runtime.enter()
    }
    is_sync::<EnterGuard<'_>>();
    let runtime = LocalRuntime::new().unwrap();
    let guard = enter(&runtime);
    let task = pointsman::task::spawn_local(async { 7 });
    drop(guard);
    assert_eq!(runtime.block_on(task).unwrap(), 7);
}
