//! `task_local!` through the public API.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::executor::block_on;
use pointsman::task_local;
use tokio_test::{assert_pending, assert_ready, task};

task_local! {
    static NUMBER: u32;
    /// With an attribute for all keys.
    pub(crate) static TEXT: String
}

#[test]
fn there_is_a_value_within_the_scope_only() {
    assert!(NUMBER.try_get().is_err());
    block_on(async {
        let doubled = NUMBER
            .scope(21, async {
                std::future::ready(()).await;
                NUMBER.with(|number| number * 2)
            })
            .await;
        assert_eq!(doubled, 42);
        let error = NUMBER.try_with(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "task-local value not set");
    });
    assert_eq!(TEXT.sync_scope("text".into(), || TEXT.get()), "text");
    assert!(TEXT.try_get().is_err());
}

#[test]
fn an_inner_scope_hides_the_outer_and_tasks_do_not_see_each_other() {
    let round = |outer: u32| {
        NUMBER.scope(outer, async move {
            NUMBER
                .scope(outer + 1, async {
                    assert_eq!(NUMBER.get(), outer + 1);
                    let mut waited = false;
                    poll_fn(|_| {
                        if std::mem::replace(&mut waited, true) {
                            return Poll::Ready(());
                        }
                        Poll::Pending
                    })
                    .await;
                    assert_eq!(NUMBER.get(), outer + 1);
                })
                .await;
            NUMBER.get()
        })
    };
    let (mut one, mut two) = (task::spawn(round(10)), task::spawn(round(20)));
    assert_pending!(one.poll());
    assert_pending!(two.poll());
    assert!(NUMBER.try_get().is_err());
    assert_eq!(assert_ready!(one.poll()), 10);
    assert_eq!(assert_ready!(two.poll()), 20);
}

/// Records the value that its drop sees.
struct Seen<'a>(&'a Cell<Option<u32>>);

impl Future for Seen<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.0.set(NUMBER.try_get().ok());
    }
}

#[test]
fn the_drop_of_the_future_sees_the_value() {
    let seen = Cell::new(None);
    block_on(NUMBER.scope(1, Seen(&seen)));
    assert_eq!(seen.take(), Some(1));

    drop(NUMBER.scope(2, Seen(&seen)));
    assert_eq!(seen.take(), Some(2));

    let mut waiting = task::spawn(NUMBER.scope(3, async {
        let _seen = Seen(&seen);
        pending::<()>().await;
    }));
    assert_pending!(waiting.poll());
    drop(waiting);
    assert_eq!(seen.take(), Some(3));
}

#[test]
fn a_panic_ends_the_scope() {
    let result = catch_unwind(|| NUMBER.sync_scope(1, || panic!("out")));
    assert!(result.is_err());
    assert!(NUMBER.try_get().is_err());

    let mut failing = Box::pin(NUMBER.scope(1, async { panic!("out") }));
    let poll = AssertUnwindSafe(|| block_on(failing.as_mut()));
    assert!(catch_unwind(poll).is_err());
    assert!(NUMBER.try_get().is_err());
    drop(failing);
}

#[test]
fn no_scope_begins_within_with() {
    NUMBER.sync_scope(1, || {
        let result = catch_unwind(|| NUMBER.with(|_| NUMBER.sync_scope(2, || ())));
        assert!(result.is_err());
        // Nested reads work, and a panic inside one has no lasting effect.
        assert_eq!(NUMBER.with(|number| number + NUMBER.get()), 2);
        let result = catch_unwind(|| NUMBER.with(|_| panic!("out")));
        assert!(result.is_err());
        NUMBER.sync_scope(2, || assert_eq!(NUMBER.get(), 2));

        let seen = Cell::new(None);
        let scoped = NUMBER.scope(3, Seen(&seen));
        NUMBER.with(|_| drop(scoped));
        assert_eq!(seen.take(), Some(1));
    });
}

#[test]
fn the_value_can_be_taken_before_and_after() {
    let mut future = Box::pin(TEXT.scope("text".into(), async { TEXT.try_get() }));
    assert_eq!(
        format!("{future:?}"),
        r#"TaskLocalFuture { value: "text" }"#
    );
    assert_eq!(future.as_mut().take_value().as_deref(), Some("text"));
    assert_eq!(future.as_mut().take_value(), None);
    assert_eq!(
        format!("{future:?}"),
        "TaskLocalFuture { value: <missing> }"
    );
    // The outer scope's value is not visible either.
    let result = TEXT.sync_scope("outer".into(), || block_on(future.as_mut()));
    assert!(result.is_err());

    task_local! {
        static NAMES: RefCell<Vec<u32>>
    }
    let mut future = Box::pin(NAMES.scope(RefCell::default(), async {
        NAMES.with(|names| names.borrow_mut().push(1));
    }));
    block_on(future.as_mut());
    assert_eq!(future.as_mut().take_value().unwrap().into_inner(), [1]);
}

#[test]
#[should_panic(expected = "`TaskLocalFuture` polled after completion")]
fn panics_if_polled_after_it_was_ready() {
    let mut future = Box::pin(NUMBER.scope(1, async {}));
    block_on(future.as_mut());
    block_on(future);
}

#[test]
fn the_panic_names_the_line_that_asked() {
    let line = std::sync::Arc::new(std::sync::Mutex::new(None));
    let note = line.clone();
    std::thread::spawn(move || {
        let before = std::panic::take_hook();
        let thread = std::thread::current().id();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == thread {
                *note.lock().unwrap() = info.location().map(|it| it.file().to_owned());
            } else {
                before(info);
            }
        }));
        let result = catch_unwind(|| NUMBER.get());
        assert!(result.is_err());
    })
    .join()
    .unwrap();
    assert_eq!(line.lock().unwrap().as_deref(), Some(file!()));
}

#[test]
fn a_future_continues_on_another_thread() {
    let mut future = task::spawn(NUMBER.scope(1, async {
        let mut waited = false;
        poll_fn(|_| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        NUMBER.get()
    }));
    assert_pending!(future.poll());
    let seen = std::thread::spawn(move || assert_ready!(future.poll())).join();
    assert_eq!(seen.unwrap(), 1);
}

/// `F` is the first type parameter, as in Tokio.
#[test]
fn the_type_of_a_function_can_be_named() {
    pointsman::task_local! {
        static NUMBER: u32;
    }
    let double = NUMBER.sync_scope::<fn() -> u32, u32>(21, || {
        2 * NUMBER.with::<fn(&u32) -> u32, u32>(|number| *number)
    });
    assert_eq!(double, 42);
    let read = NUMBER.try_with::<fn(&u32) -> u32, u32>(|number| *number);
    assert!(read.is_err());
}
