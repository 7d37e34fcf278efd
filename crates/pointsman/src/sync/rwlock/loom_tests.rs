//! Loom models of the read-write lock.

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::*;

type Shared = Arc<(RwLock<()>, UnsafeCell<u32>)>;

fn shared() -> Shared {
    Arc::new((RwLock::with_max_readers((), 2), UnsafeCell::new(0)))
}

fn write(shared: &Shared) {
    let _guard = block_on(shared.0.write());
    // SAFETY: loom's cell fails the model if another thread accesses it at the same time.
    shared.1.with_mut(|value| unsafe { *value += 1 });
}

fn read(shared: &Shared) -> u32 {
    let _guard = block_on(shared.0.read());
    // SAFETY: loom's cell fails the model if another thread writes it at the same time.
    shared.1.with(|value| unsafe { *value })
}

#[test]
fn writers_exclude_each_other() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || write(&other));
        write(&shared);
        thread.join().unwrap();
        assert_eq!(read(&shared), 2);
    });
}

#[test]
fn readers_and_writers_exclude_each_other() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || write(&other));
        assert!(read(&shared) <= 1);
        thread.join().unwrap();
        assert_eq!(read(&shared), 1);
    });
}

#[test]
fn no_writer_locks_during_a_downgrade() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || write(&other));
        let guard = block_on(shared.0.write());
        // SAFETY: loom's cell fails the model if another thread accesses it at the same time.
        let written = shared.1.with_mut(|value| unsafe {
            *value += 10;
            *value
        });
        let guard = guard.downgrade();
        // SAFETY: loom's cell fails the model if another thread writes it at the same time.
        assert_eq!(shared.1.with(|value| unsafe { *value }), written);
        drop(guard);
        thread.join().unwrap();
    });
}
