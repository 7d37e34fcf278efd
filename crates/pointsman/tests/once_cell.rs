//! `OnceCell`.

#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::channel::oneshot;
use futures::executor::block_on;
use pointsman::sync::{OnceCell, SetError};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

#[test]
fn the_first_value_stays() {
    let cell = OnceCell::new();
    assert!(!cell.initialized());
    assert_eq!(cell.get(), None);
    assert_eq!(*block_on(cell.get_or_init(|| async { 1 })), 1);
    assert_eq!(*block_on(cell.get_or_init(|| async { 2 })), 1);
    assert_eq!(cell.set(3), Err(SetError::AlreadyInitializedError(3)));
    assert!(cell.initialized());
    assert_eq!(cell.into_inner(), Some(1));
}

#[test]
fn others_wait_for_the_initializer() {
    let cell = OnceCell::new();
    let (sender, receiver) = oneshot::channel();
    let mut making = spawn(cell.get_or_init(|| async { receiver.await.unwrap() }));
    assert_pending!(making.poll());
    let mut waiting: Vec<_> = (0..3)
        .map(|_| spawn(cell.get_or_init(|| async { 2 })))
        .collect();
    for other in &mut waiting {
        assert_pending!(other.poll());
    }
    let error = cell.set(3).unwrap_err();
    assert!(error.is_initializing_err() && !error.is_already_init_err());
    assert_eq!(error.to_string(), "InitializingError");
    sender.send(1).unwrap();
    assert_eq!(*assert_ready!(making.poll()), 1);
    for other in &mut waiting {
        assert!(other.is_woken());
        assert_eq!(*assert_ready!(other.poll()), 1);
    }
}

#[test]
fn a_cancelled_or_failed_initializer_leaves_it_to_the_next() {
    let cell = OnceCell::new();
    let mut given_up = spawn(cell.get_or_init(std::future::pending));
    assert_pending!(given_up.poll());
    let mut next = spawn(cell.get_or_try_init(|| async { Err::<u8, _>("failed") }));
    assert_pending!(next.poll());
    drop(given_up);
    assert_eq!(assert_ready!(next.poll()), Err("failed"));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        block_on(cell.get_or_init(|| async { panic!("within") }));
    }));
    assert!(panic.is_err());
    assert_eq!(cell.get(), None);
    assert_eq!(
        block_on(cell.get_or_try_init(|| async { Ok::<_, ()>(1) })),
        Ok(&1)
    );
    assert_eq!(block_on(cell.get_or_try_init(|| async { Err(()) })), Ok(&1));
}

#[test]
fn the_value_is_dropped_once() {
    let value = Arc::new(());
    let cell = OnceCell::from(value.clone());
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1);
    let mut cell = OnceCell::new_with(Some(value.clone()));
    assert_eq!(Arc::strong_count(&value), 2);
    drop(cell.take());
    assert_eq!(Arc::strong_count(&value), 1);
    cell.set(value.clone()).unwrap();
    assert!(Arc::ptr_eq(cell.get_mut().unwrap(), &value));
    drop(cell.clone());
    drop(cell.into_inner());
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn cells_are_compared_and_shown_by_their_value() {
    let cell = OnceCell::const_new_with(1);
    assert_eq!(cell, cell.clone());
    assert_ne!(cell, OnceCell::default());
    assert_eq!(format!("{cell:?}"), "OnceCell { value: Some(1) }");
    assert_eq!(OnceCell::<u8>::new_with(None).into_inner(), None);
    assert_eq!(OnceCell::<u8>::const_new().get_mut(), None);
}

#[test]
fn one_of_many_threads_makes_the_value() {
    let made = AtomicUsize::new(0);
    let cell = OnceCell::new();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (made, cell) = (&made, &cell);
            scope.spawn(move || {
                let value = block_on(cell.get_or_init(|| async {
                    made.fetch_add(1, Ordering::Relaxed);
                    Box::new(number)
                }));
                assert_eq!(Some(value), cell.get());
            });
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 1);
}
