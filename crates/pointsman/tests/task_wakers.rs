//! User-defined wakers, which run code when they are cloned, woken and dropped.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use common::must_end;
use pointsman::runtime::Builder;
use pointsman::sync::oneshot;
use pointsman::task::{JoinSet, LocalSet};

type Act = Box<dyn FnMut() + Send>;

/// What a waker does when it is cloned.
struct Acts(Mutex<Act>);

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the data of these wakers is a pointer from `Arc::into_raw`, whose reference the waker owns.
        let acts = unsafe { &*data.cast::<Acts>() };
        (acts.0.lock().unwrap())();
        // SAFETY: the cloned waker owns a reference, so the count is not 0; the new waker owns the one added here.
        unsafe { Arc::increment_strong_count(data.cast::<Acts>()) };
        RawWaker::new(data, &VTABLE)
    },
    // SAFETY: this consumes the one reference that the woken waker owns.
    |data| drop(unsafe { Arc::from_raw(data.cast::<Acts>()) }),
    |_| {},
    // SAFETY: this consumes the one reference that the dropped waker owns.
    |data| drop(unsafe { Arc::from_raw(data.cast::<Acts>()) }),
);

fn waker_that(when_cloned: impl FnMut() + Send + 'static) -> (Arc<Acts>, Waker) {
    let acts = Arc::new(Acts(Mutex::new(Box::new(when_cloned))));
    // SAFETY: the table's functions expect data from `Arc::into_raw`, which is what this passes.
    let waker = unsafe { Waker::new(Arc::into_raw(Arc::clone(&acts)).cast(), &VTABLE) };
    (acts, waker)
}

#[test]
fn a_join_set_is_polled_with_a_waker_whose_clone_ends_its_tasks() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut set = JoinSet::new();
        set.spawn_on(std::future::pending::<()>(), runtime.handle());
        let mut runtime = Some(runtime);
        let (_, waker) = waker_that(move || drop(runtime.take()));
        let cx = &mut Context::from_waker(&waker);
        let Poll::Ready(Some(Err(error))) = set.poll_join_next(cx) else {
            panic!("what ended meanwhile is there at once");
        };
        assert!(error.is_cancelled());
        assert!(set.poll_join_next(cx).is_ready());
    });
}

#[test]
fn a_local_set_is_polled_with_a_waker_whose_clone_wakes_its_tasks() {
    must_end(|| {
        let set = LocalSet::new();
        let (tx, rx) = oneshot::channel();
        let task = set.spawn_local(rx);
        let mut set = pin!(set);
        assert!(
            set.as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        let mut tx = Some(tx);
        let (_, waker) = waker_that(move || {
            if let Some(tx) = tx.take() {
                tx.send(7).unwrap();
            }
        });
        assert!(set.poll(&mut Context::from_waker(&waker)).is_ready());
        assert!(task.is_finished());
    });
}

#[test]
fn a_dropped_local_set_keeps_no_waker() {
    let mut set = Box::pin(LocalSet::new());
    let task = set.spawn_local(std::future::pending::<()>());
    let (acts, waker) = waker_that(|| {});
    assert!(
        set.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop((set, waker));
    assert_eq!(Arc::strong_count(&acts), 1);
    drop(task);
}
