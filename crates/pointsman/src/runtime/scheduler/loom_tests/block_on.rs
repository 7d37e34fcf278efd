//! Models of `block_on` in a multi-thread runtime, and of the arenas that it borrows.

use std::sync::Arc;

use loom::thread;

use super::{Running, block_on, large_model};
use crate::loom::lock;
use crate::task::test_util::Drops;

#[test]
fn block_on_is_woken_by_a_task_that_it_spawned() {
    large_model(|| {
        let runtime = Running::new(1);
        let handle = runtime.handle.clone();
        let result = block_on(
            runtime.shared(),
            async move { handle.spawn(async { 7 }).await },
        );
        assert_eq!(result.unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn arenas_are_returned_and_borrowed_again() {
    large_model(|| {
        let runtime = Running::new(1);
        let spawn = |handle: super::Handle| async move { drop(handle.spawn(async {})) };
        let handle = runtime.handle.clone();
        let other = thread::spawn(move || {
            let shared = Arc::clone(&handle.shared);
            block_on(&shared, spawn(handle));
        });
        block_on(runtime.shared(), spawn(runtime.handle.clone()));
        other.join().unwrap();
        let spare = || lock(&runtime.shared().arenas).spare.len();
        let before = spare();
        assert!(before == 1 || before == 2);
        block_on(runtime.shared(), spawn(runtime.handle.clone()));
        assert_eq!(spare(), before);
        runtime.end();
    });
}

#[test]
fn a_runtime_shuts_down_while_a_thread_in_block_on_spawns() {
    large_model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let witness = drops.witness();
        let handle = runtime.handle.clone();
        let other = thread::spawn(move || {
            let shared = Arc::clone(&handle.shared);
            let result = block_on(&shared, async move {
                handle.spawn(async move { drop(witness) }).await
            });
            assert!(result.is_ok() || result.is_err_and(|error| error.is_cancelled()));
        });
        runtime.begin_end();
        other.join().unwrap();
        runtime.finish_end();
        assert_eq!(drops.count(), 1);
    });
}
