//! `RwLock`.

#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::executor::block_on;
use pointsman::sync::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

/// How often threads meet; fewer times where each step is checked (miri).
const ROUNDS: usize = if cfg!(miri) { 10 } else { 500 };

#[test]
fn many_read_or_one_writes() {
    let lock = RwLock::new(1);
    let first = assert_ready!(spawn(lock.read()).poll());
    let second = lock.try_read().unwrap();
    assert_eq!(*first + *second, 2);
    let mut writer = spawn(lock.write());
    assert_pending!(writer.poll());
    drop(first);
    assert!(!writer.is_woken());
    drop(second);
    assert!(writer.is_woken());
    let mut guard = assert_ready!(writer.poll());
    *guard = 2;
    assert!(lock.try_read().is_err() && lock.try_write().is_err());
    drop(guard);
    assert_eq!(*lock.try_read().unwrap(), 2);
}

#[test]
fn readers_wait_behind_a_writer_until_it_is_cancelled() {
    let lock = RwLock::new(());
    let reader = lock.try_read().unwrap();
    let mut writer = spawn(lock.write());
    assert_pending!(writer.poll());
    let mut late: Vec<_> = (0..3).map(|_| spawn(lock.read())).collect();
    for read in &mut late {
        assert_pending!(read.poll());
    }
    assert!(lock.try_read().is_err());
    drop(writer);
    let guards: Vec<_> = late
        .iter_mut()
        .map(|read| assert_ready!(read.poll()))
        .collect();
    drop((reader, guards));
    assert!(lock.try_write().is_ok());
}

#[test]
fn readers_are_limited() {
    let lock = RwLock::with_max_readers((), 2);
    let guards = [lock.try_read().unwrap(), lock.try_read().unwrap()];
    let mut third = spawn(lock.read());
    assert_pending!(third.poll());
    drop(guards);
    assert!(third.is_woken());
    for readers in [0, (u32::MAX >> 3) + 1] {
        assert!(catch_unwind(|| RwLock::with_max_readers((), readers)).is_err());
        assert!(catch_unwind(|| RwLock::const_with_max_readers((), readers)).is_err());
    }
}

#[test]
fn a_writer_becomes_a_reader_with_no_writer_in_between() {
    let lock = RwLock::new(1);
    let mut writer = lock.try_write().unwrap();
    let mut reader = spawn(lock.read());
    let mut next = spawn(lock.write());
    assert_pending!(reader.poll());
    assert_pending!(next.poll());
    *writer = 2;
    let downgraded = writer.downgrade();
    assert_eq!(*assert_ready!(reader.poll()) + *downgraded, 4);
    assert_pending!(next.poll());
    drop(downgraded);
    assert!(next.is_woken());
    drop(assert_ready!(next.poll()));
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_writer_becomes_a_reader_of_a_part() {
    let lock = RwLock::new((1, 2));
    let writer = lock.try_write().unwrap();
    let writer = RwLockWriteGuard::try_downgrade_map(writer, |_| None::<&u8>).unwrap_err();
    assert!(lock.try_read().is_err());
    let part = RwLockWriteGuard::try_downgrade_map(writer, |value| Some(&value.0)).unwrap();
    assert_eq!(*part + lock.try_read().unwrap().1, 3);
    drop(part);
    let part = RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |value| {
        assert!(lock.try_read().is_err());
        &value.1
    });
    assert_eq!(*part, 2);
    drop(part);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |_| -> &u8 { panic!("within") })
    }));
    assert!(panic.is_err());
    assert!(lock.try_write().is_ok());
}

#[test]
fn an_owned_writer_becomes_a_reader_of_a_part() {
    let lock = Arc::new(RwLock::new((1, 2)));
    let write = || lock.clone().try_write_owned().unwrap();
    let writer = OwnedRwLockWriteGuard::try_downgrade_map(write(), |_| None::<&u8>).unwrap_err();
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&writer), &lock));
    assert!(lock.clone().try_read_owned().is_err());
    let part = OwnedRwLockWriteGuard::try_downgrade_map(writer, |value| Some(&value.0)).unwrap();
    assert_eq!(*part + lock.try_read().unwrap().1, 3);
    drop(part);
    let part = OwnedRwLockWriteGuard::downgrade_map(write(), |value| &value.1);
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&part), &lock));
    drop(part);
    drop(write().downgrade());
    assert!(lock.try_write().is_ok());
    assert_eq!(Arc::strong_count(&lock), 1);
}

#[test]
fn parts_keep_the_lock() {
    let lock = RwLock::new((1, [2, 3]));
    let part = RwLockReadGuard::map(lock.try_read().unwrap(), |value| &value.1);
    let part = RwLockReadGuard::try_map(part, |part| part.get(5)).unwrap_err();
    let part = RwLockReadGuard::try_map(part, |part| part.get(1)).unwrap();
    assert_eq!(format!("{part} {part:?}"), "3 3");
    assert!(lock.try_write().is_err());
    drop(part);
    let guard = RwLockWriteGuard::try_map(lock.try_write().unwrap(), |_| None::<&mut u8>);
    let part = RwLockWriteGuard::map(guard.unwrap_err(), |value| &mut value.1);
    let part = RwLockMappedWriteGuard::try_map(part, |part| part.get_mut(5)).unwrap_err();
    let mut part = RwLockMappedWriteGuard::map(part, |part| &mut part[0]);
    *part = 7;
    assert!(lock.try_read().is_err());
    drop(part);
    let mut whole = RwLockWriteGuard::into_mapped(lock.try_write().unwrap());
    whole.0 = 6;
    drop(whole);
    assert_eq!(lock.into_inner(), (6, [7, 3]));
}

#[test]
fn owned_parts_keep_the_lock() {
    let lock = Arc::new(RwLock::new((1, [2, 3])));
    let read = || lock.clone().try_read_owned().unwrap();
    let write = || lock.clone().try_write_owned().unwrap();
    let part = OwnedRwLockReadGuard::map(read(), |value| &value.1);
    let part = OwnedRwLockReadGuard::try_map(part, |part| part.get(5)).unwrap_err();
    let part = OwnedRwLockReadGuard::try_map(part, |part| part.get(1)).unwrap();
    assert_eq!(*part, 3);
    assert!(lock.try_write().is_err());
    drop(part);
    let guard = OwnedRwLockWriteGuard::try_map(write(), |_| None::<&mut u8>).unwrap_err();
    let part = OwnedRwLockWriteGuard::map(guard, |value| &mut value.1);
    let part = OwnedRwLockMappedWriteGuard::try_map(part, |part| part.get_mut(5)).unwrap_err();
    let mut part = OwnedRwLockMappedWriteGuard::map(part, |part| &mut part[0]);
    assert!(Arc::ptr_eq(
        OwnedRwLockMappedWriteGuard::rwlock(&part),
        &lock
    ));
    *part = 7;
    std::thread::spawn(move || drop(part)).join().unwrap();
    drop(OwnedRwLockWriteGuard::into_mapped(write()));
    assert_eq!(*lock.try_read().unwrap(), (1, [7, 3]));
    assert_eq!(Arc::strong_count(&lock), 1);
}

#[test]
fn the_value_is_shown_and_had_back() {
    let mut lock = RwLock::from("a");
    assert_eq!(format!("{lock:?}"), r#"RwLock { data: "a" }"#);
    let guard = lock.try_write().unwrap();
    assert_eq!(
        format!("{lock:?} {guard:?} {guard}"),
        r#"RwLock { data: <locked> } "a" a"#
    );
    drop(guard);
    *lock.get_mut() = "b";
    assert_eq!(lock.into_inner(), "b");
    assert_eq!(RwLock::<u8>::default().into_inner(), 0);
    let unsized_lock: Box<RwLock<[u8]>> = Box::new(RwLock::new([1, 2]));
    assert_eq!(block_on(unsized_lock.read()).len(), 2);
}

#[test]
fn threads_see_whole_writes() {
    let lock = Arc::new(RwLock::new((0, 0)));
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let lock = lock.clone();
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    match thread {
                        0 => {
                            let mut value = block_on(lock.clone().write_owned());
                            value.0 += 1;
                            value.1 += 1;
                        }
                        1 => {
                            let mut value = lock.blocking_write();
                            value.0 += 1;
                            value.1 += 1;
                        }
                        2 => {
                            let value = block_on(lock.clone().read_owned());
                            assert_eq!(value.0, value.1);
                        }
                        _ => {
                            let value = lock.blocking_read();
                            assert_eq!(value.0, value.1);
                        }
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(lock.try_read().unwrap().0, 2 * ROUNDS);
}
