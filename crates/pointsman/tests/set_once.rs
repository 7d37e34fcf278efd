//! `SetOnce`.

#![cfg(not(loom))]

use std::sync::Arc;

use futures::executor::block_on;
use pointsman::sync::{SetOnce, SetOnceError};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

#[test]
fn all_waiters_get_the_value() {
    let cell = SetOnce::new();
    let mut waiting: Vec<_> = (0..50).map(|_| spawn(cell.wait())).collect();
    for wait in &mut waiting {
        assert_pending!(wait.poll());
    }
    drop(waiting.remove(7));
    assert_eq!(cell.get(), None);
    assert_eq!(cell.set(1), Ok(()));
    for wait in &mut waiting {
        assert!(wait.is_woken());
        assert_eq!(*assert_ready!(wait.poll()), 1);
    }
    assert_eq!(*block_on(cell.wait()), 1);
}

#[test]
fn the_first_value_stays() {
    let cell = SetOnce::new_with(None);
    assert!(!cell.initialized());
    cell.set(1).unwrap();
    let error = cell.set(2).unwrap_err();
    assert_eq!(error, SetOnceError(2));
    assert_eq!(error.to_string(), "SetOnceError");
    assert!(cell.initialized());
    assert_eq!(cell.into_inner(), Some(1));
}

#[test]
fn the_value_is_dropped_once() {
    let value = Arc::new(());
    drop(SetOnce::from(value.clone()));
    drop(SetOnce::new_with(Some(value.clone())).clone());
    drop(SetOnce::const_new_with(value.clone()).into_inner());
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!(SetOnce::<u8>::const_new().into_inner(), None);
}

#[test]
fn cells_are_compared_and_shown_by_their_value() {
    let cell = SetOnce::from(1);
    assert_eq!(cell, cell.clone());
    assert_ne!(cell, SetOnce::default());
    assert_eq!(format!("{cell:?}"), "SetOnce { value: Some(1) }");
}

#[test]
fn one_of_many_threads_sets_the_value() {
    for _ in 0..if cfg!(miri) { 5 } else { 50 } {
        let cell = SetOnce::new();
        let set = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|number| {
                    let cell = &cell;
                    scope.spawn(move || {
                        let set = cell.set(Box::new(number)).is_ok();
                        assert!(cell.get().is_some());
                        if set { Some(number) } else { None }
                    })
                })
                .collect();
            let value = **block_on(cell.wait());
            let set: Vec<_> = threads
                .into_iter()
                .filter_map(|thread| thread.join().unwrap())
                .collect();
            assert_eq!(set, [value]);
            value
        });
        assert_eq!(cell.get(), Some(&Box::new(set)));
    }
}
