//! `Mutex`.

#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::executor::block_on;
use pointsman::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

/// How often threads meet; fewer times where each step is checked (miri).
const ROUNDS: usize = if cfg!(miri) { 10 } else { 500 };

#[test]
fn one_at_a_time_has_it() {
    let mutex = Mutex::new(1);
    let mut first = spawn(mutex.lock());
    let mut guard = assert_ready!(first.poll());
    let mut second = spawn(mutex.lock());
    assert_pending!(second.poll());
    *guard += 1;
    drop(guard);
    assert!(second.is_woken());
    assert_eq!(*assert_ready!(second.poll()), 2);
}

#[test]
fn a_waiter_is_not_overtaken() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = spawn(mutex.lock());
    let mut second = spawn(mutex.lock());
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    drop(guard);
    assert!(mutex.try_lock().is_err());
    assert!(first.is_woken() && !second.is_woken());
    drop(first);
    assert!(second.is_woken());
    drop(second);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_panic_unlocks() {
    let mutex = Mutex::new(1);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _guard = mutex.try_lock().unwrap();
        panic!("with the guard");
    }));
    assert!(panic.is_err());
    assert_eq!(*mutex.try_lock().unwrap(), 1);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        MutexGuard::map(mutex.try_lock().unwrap(), |_| -> &mut u8 {
            panic!("within")
        })
    }));
    assert!(panic.is_err());
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_part_of_the_value_keeps_the_lock() {
    let mutex = Mutex::new((1, [2, 3]));
    let guard = MutexGuard::try_map(mutex.try_lock().unwrap(), |_| None::<&mut u8>);
    let guard = guard.unwrap_err();
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
    let part = MutexGuard::map(guard, |value| &mut value.1);
    let part = MappedMutexGuard::try_map(part, |part| part.get_mut(7)).unwrap_err();
    let mut part = MappedMutexGuard::map(part, |part| &mut part[1]);
    *part += 1;
    assert!(mutex.try_lock().is_err());
    drop(part);
    assert_eq!(*mutex.try_lock().unwrap(), (1, [2, 4]));
    let part = MutexGuard::try_map(mutex.try_lock().unwrap(), |value| Some(&mut value.0));
    assert_eq!(format!("{part:?}"), "Ok(1)");
}

#[test]
fn an_owned_part_of_the_value_keeps_the_lock() {
    let mutex = Arc::new(Mutex::new((1, [2, 3])));
    let lock = || mutex.clone().try_lock_owned().unwrap();
    let guard = OwnedMutexGuard::try_map(lock(), |_| None::<&mut u8>).unwrap_err();
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    let part = OwnedMutexGuard::map(guard, |value| &mut value.1);
    let part = OwnedMappedMutexGuard::try_map(part, |part| part.get_mut(7)).unwrap_err();
    let mut part = OwnedMappedMutexGuard::map(part, |part| &mut part[1]);
    *part += 1;
    assert!(mutex.clone().try_lock_owned().is_err());
    std::thread::spawn(move || drop(part)).join().unwrap();
    assert_eq!(*mutex.try_lock().unwrap(), (1, [2, 4]));
    drop(OwnedMutexGuard::try_map(lock(), |value| Some(&mut value.0)).unwrap());
    assert_eq!(Arc::strong_count(&mutex), 1);
}

#[test]
fn values_without_a_size_are_locked() {
    let mutex: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2]));
    block_on(mutex.lock())[0] = 3;
    let first = MutexGuard::map(mutex.try_lock().unwrap(), |value| &mut value[0]);
    assert_eq!(*first, 3);
}

#[test]
fn the_value_is_shown_and_had_back() {
    let mut mutex = Mutex::from("a");
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "a" }"#);
    let guard = mutex.try_lock().unwrap();
    assert_eq!(
        format!("{mutex:?} {guard:?} {guard}"),
        r#"Mutex { data: <locked> } "a" a"#
    );
    let error = mutex.try_lock().unwrap_err();
    assert_eq!(error.to_string(), "operation would block");
    drop(guard);
    *mutex.get_mut() = "b";
    assert_eq!(mutex.into_inner(), "b");
    assert_eq!(Mutex::<u8>::default().into_inner(), 0);
}

#[test]
fn threads_add_up() {
    let mutex = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let mutex = mutex.clone();
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    match thread {
                        0 => *block_on(mutex.lock()) += 1,
                        1 => *block_on(mutex.clone().lock_owned()) += 1,
                        2 => *mutex.blocking_lock() += 1,
                        _ => *mutex.clone().blocking_lock_owned() += 1,
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*mutex.try_lock().unwrap(), 4 * ROUNDS);
}
