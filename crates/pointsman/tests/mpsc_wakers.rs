//! `mpsc` with wakers that run code or panic when they are cloned.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use pointsman::sync::mpsc::{channel, unbounded_channel};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready_eq, assert_ready_ok};

/// A waker whose clone runs code.
mod cloning {
    use std::sync::Arc;
    use std::task::{RawWaker, RawWakerVTable, Waker};

    type Run = Box<dyn Fn() + Send + Sync>;

    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            // SAFETY: the waker holds one reference to the closure, which the new waker's reference adds to.
            unsafe {
                (*data.cast::<Run>())();
                Arc::increment_strong_count(data.cast::<Run>());
            }
            RawWaker::new(data, &TABLE)
        },
        // SAFETY: this consumes the one reference to the closure that the woken waker owns.
        |data| drop(unsafe { Arc::from_raw(data.cast::<Run>()) }),
        |_| {},
        // SAFETY: this consumes the one reference to the closure that the dropped waker owns.
        |data| drop(unsafe { Arc::from_raw(data.cast::<Run>()) }),
    );

    /// Does nothing when woken.
    pub(super) fn waker(on_clone: impl Fn() + Send + Sync + 'static) -> Waker {
        let run: Arc<Run> = Arc::new(Box::new(on_clone));
        // SAFETY: the table's functions keep one reference for each waker, and the closure is Send and Sync.
        unsafe { Waker::new(Arc::into_raw(run).cast(), &TABLE) }
    }
}

#[test]
fn a_waker_may_send_while_it_is_cloned() {
    let (tx, mut rx) = unbounded_channel();
    // The first waker is registered, and is replaced next.
    let mut first = spawn(async {});
    first.enter(|cx, _| assert_pending!(rx.poll_recv(cx)));
    let sending = tx.clone();
    let waker = cloning::waker(move || sending.send(1).unwrap());
    assert_ready_eq!(rx.poll_recv(&mut Context::from_waker(&waker)), Some(1));
    while rx.try_recv().is_ok() {}

    // The same for a channel with a waiting sender at capacity.
    let (tx, mut rx) = channel(1);
    first.enter(|cx, _| assert_pending!(rx.poll_recv(cx)));
    let sending = tx.clone();
    let waker = cloning::waker(move || {
        let _ = sending.try_send(1);
    });
    assert_ready_eq!(rx.poll_recv(&mut Context::from_waker(&waker)), Some(1));
}

#[test]
fn a_waker_may_receive_while_it_is_cloned() {
    let (tx, rx) = channel(1);
    tx.try_send(0).unwrap();
    let rx = Arc::new(Mutex::new(rx));
    let receiving = rx.clone();
    let waker = cloning::waker(move || {
        let _ = receiving.lock().unwrap().try_recv();
    });
    let mut reserve = Box::pin(tx.reserve());
    let mut cx = Context::from_waker(&waker);
    if reserve.as_mut().poll(&mut cx).is_pending() {
        assert_ready_ok!(reserve.as_mut().poll(&mut cx));
    }
}

#[test]
fn a_waker_that_panics_while_it_is_cloned_leaves_the_channel_as_it_was() {
    let (tx, mut rx) = unbounded_channel();
    let mut task = spawn(async {});
    task.enter(|cx, _| assert_pending!(rx.poll_recv(cx)));
    let waker = cloning::waker(|| panic!("this waker fails"));
    let poll = || rx.poll_recv(&mut Context::from_waker(&waker)).is_pending();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)).is_err());
    task.enter(|cx, _| assert_pending!(rx.poll_recv(cx)));
    assert!(!task.is_woken());
    tx.send(1).unwrap();
    assert!(task.is_woken());
    task.enter(|cx, _| assert_eq!(rx.poll_recv(cx), Poll::Ready(Some(1))));
}

#[test]
fn a_panicking_waker_at_receiver_drop_leaks_no_message() {
    struct Fail;
    impl std::task::Wake for Fail {
        fn wake(self: Arc<Self>) {
            panic!("this waker fails");
        }
    }
    let (tx, rx) = unbounded_channel();
    let message = Arc::new(());
    tx.send(message.clone()).unwrap();
    let mut closed = Box::pin(tx.closed());
    let waker = Arc::new(Fail).into();
    assert_pending!(closed.as_mut().poll(&mut Context::from_waker(&waker)));
    let going = std::panic::AssertUnwindSafe(|| drop(rx));
    assert!(std::panic::catch_unwind(going).is_err());
    assert_eq!(Arc::strong_count(&message), 1);
}
