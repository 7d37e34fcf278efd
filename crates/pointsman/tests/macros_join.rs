//! `join!`, `try_join!` and `pin!` through the public API.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{IntoFuture, Ready, pending, poll_fn, ready};
use std::task::Poll;

use futures::channel::oneshot;
use futures::executor::block_on;
use pointsman::{join, pin, try_join};
use tokio_test::{assert_pending, assert_ready, task};

/// Records its drop.
#[derive(Debug)]
struct Mark<'a>(&'a RefCell<Vec<&'static str>>, &'static str);

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

fn ok<T>(value: T) -> Ready<Result<T, &'static str>> {
    ready(Ok(value))
}

#[test]
fn every_number_of_futures() {
    block_on(async {
        assert_eq!(join!(), ());
        assert_eq!(join!(biased;), ());
        assert_eq!(join!(ready(1)), (1,));
        assert_eq!(join!(biased; ready(1),), (1,));
        assert_eq!(join!(ready(1), ready("two"), ready('3')), (1, "two", '3'));
        assert_eq!(try_join!(), Ok::<_, ()>(()));
        assert_eq!(try_join!(biased;), Ok::<_, ()>(()));
        assert_eq!(try_join!(ok(1),), Ok((1,)));
        assert_eq!(try_join!(biased; ok(1), ok("two")), Ok((1, "two")));
    });
}

#[test]
fn waits_for_all_in_any_order() {
    let (first, on_first) = oneshot::channel();
    let (second, on_second) = oneshot::channel();
    let mut joining = task::spawn(async { join!(on_first, on_second) });
    assert_pending!(joining.poll());
    second.send(2).unwrap();
    assert!(joining.is_woken());
    assert_pending!(joining.poll());
    first.send("one").unwrap();
    assert!(joining.is_woken());
    assert_eq!(assert_ready!(joining.poll()), (Ok("one"), Ok(2)));
}

#[test]
fn a_future_that_is_ready_is_dropped_at_once_and_polled_no_more() {
    let dropped = RefCell::new(Vec::new());
    let mut joining = task::spawn(async {
        let mark = Mark(&dropped, "ready");
        let once = async move {
            let _mark = mark;
        };
        join!(once, pending::<()>())
    });
    for _ in 0..3 {
        assert_pending!(joining.poll());
        assert_eq!(*dropped.borrow(), ["ready"]);
    }
}

#[test]
fn dropping_the_whole_drops_futures_and_outputs() {
    let dropped = RefCell::new(Vec::new());
    let wait = Mark(&dropped, "future");
    let mut joining = task::spawn(async {
        let wait = async move {
            let _wait = wait;
            pending::<()>().await
        };
        join!(ready(Mark(&dropped, "output")), wait)
    });
    assert_pending!(joining.poll());
    assert!(dropped.borrow().is_empty());
    drop(joining);
    assert_eq!(*dropped.borrow(), ["output", "future"]);
}

/// The order in which three futures are polled, in four rounds.
fn orders(biased: bool) -> Vec<u32> {
    let order = RefCell::new(Vec::new());
    let three = |number| {
        let order = &order;
        let mut left = 3;
        poll_fn(move |cx| {
            order.borrow_mut().push(number);
            if left == 0 {
                return Poll::Ready(Ok::<(), Infallible>(()));
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    };
    block_on(async {
        if biased {
            join!(biased; three(1), three(2), three(3));
        } else {
            join!(three(1), three(2), three(3));
        }
    });
    let joined = order.take();
    block_on(async {
        let result = if biased {
            try_join!(biased; three(1), three(2), three(3))
        } else {
            try_join!(three(1), three(2), three(3))
        };
        assert_eq!(result, Ok(((), (), ())));
    });
    assert_eq!(order.take(), joined);
    joined
}

#[test]
fn each_poll_begins_with_another_future_unless_biased() {
    assert_eq!(orders(false), [1, 2, 3, 2, 3, 1, 3, 1, 2, 1, 2, 3]);
    assert_eq!(orders(true), [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn the_first_error_ends_the_wait_and_drops_the_others() {
    let dropped = RefCell::new(Vec::new());
    let wait = Mark(&dropped, "future");
    let (sender, receiver) = oneshot::channel::<()>();
    let mut joining = task::spawn(async {
        let wait = async move {
            let _wait = wait;
            pending::<Result<(), oneshot::Canceled>>().await
        };
        let value = async { Ok(Mark(&dropped, "value")) };
        let result = try_join!(value, wait, receiver);
        dropped.borrow_mut().push("after");
        result.map(drop)
    });
    assert_pending!(joining.poll());
    assert!(dropped.borrow().is_empty());
    drop(sender);
    assert!(joining.is_woken());
    assert_eq!(assert_ready!(joining.poll()), Err(oneshot::Canceled));
    assert_eq!(*dropped.borrow(), ["value", "future", "after"]);
}

#[test]
fn those_behind_an_error_are_not_polled() {
    let result: Result<((), ()), _> = block_on(async {
        try_join!(
            ready(Err("no")),
            poll_fn(|_| panic!("polled behind the error"))
        )
    });
    assert_eq!(result, Err("no"));
}

#[test]
fn accepts_into_future_and_borrows() {
    struct Later;
    impl IntoFuture for Later {
        type Output = i32;
        type IntoFuture = Ready<i32>;

        fn into_future(self) -> Ready<i32> {
            ready(1)
        }
    }
    block_on(async {
        assert_eq!(join!(Later, &mut ready(2)), (1, 2));
    });
}

#[test]
fn types_without_values_do_no_harm() {
    #![deny(warnings)]
    let mut joining = task::spawn(async { join!(pending::<Infallible>(), ready(1)) });
    assert_pending!(joining.poll());
    block_on(async {
        let failed = try_join!(ready(Err::<Infallible, _>(1)), ready(Ok(2)));
        assert_eq!(failed, Err(1));
        let fine = try_join!(ready(Ok::<_, Infallible>(1)), ready(Ok(2)));
        assert_eq!(fine, Ok((1, 2)));
    });
}

#[test]
fn names_like_ours_do_no_harm() {
    const COUNT: usize = 5;
    block_on(async {
        let (at0, first, slots) = (1, 2, 3);
        assert_eq!(
            join!(async { at0 + COUNT }, async { first + slots }),
            (6, 5)
        );
    });
}

#[test]
fn is_no_larger_than_it_has_to_be() {
    let one = async { join!(ready(0u64)) };
    let biased = async { join!(biased; ready(0u64)) };
    // The future or its output, the reference to the slots, the index of the first future, and the state of the async
    // block.
    assert!(size_of_val(&one) <= 16 + 8 + 8 + 8, "{}", size_of_val(&one));
    assert!(
        size_of_val(&biased) <= 16 + 8 + 8,
        "{}",
        size_of_val(&biased)
    );
}

#[test]
fn many_futures() {
    let sums = block_on(async {
        join!(
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(1),
            ready(72),
        )
    });
    assert_eq!(sums.71, 72);
}

#[test]
fn pins_variables_and_declarations() {
    block_on(async {
        let (one, two) = (async { 1 }, async { 2 });
        pin!(one, two);
        assert_eq!((&mut one).await + two.as_mut().await, 3);
        pin! {
            let three = async { 3 };
            let four = async { 4 };
        }
        assert_eq!(three.await + four.await, 7);
    });
}
