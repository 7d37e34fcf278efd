//! `select!` through the public API.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn, ready};
use std::task::Poll;

use futures::channel::oneshot;
use futures::executor::block_on;
use pointsman::select;
use tokio_test::{assert_pending, assert_ready, task};

/// Records its drop.
struct Mark<'a>(&'a RefCell<Vec<&'static str>>, &'static str);

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

#[test]
fn every_way_to_write_a_handler() {
    let never = || false;
    block_on(async {
        assert_eq!(select! { number = ready(1) => number }, 1);
        assert_eq!(select! { number = ready(1) => number, }, 1);
        assert_eq!(select! { number = ready(1) => { number } }, 1);
        assert_eq!(select! { number = ready(1) => { number }, }, 1);
        assert_eq!(select! { number = ready(1), if true => number, }, 1);
        assert_eq!(
            select! { number = ready(1), if true => { number } else => 2 },
            1
        );
        assert_eq!(
            select! { number = ready(1), if never() || never() => number, else => 2 },
            2
        );
        assert_eq!(
            select! { biased; 1 | 2 = ready(2) => 3, _ = ready(1) => 4, },
            3
        );
        assert_eq!(select! { else => 5 }, 5);
        assert_eq!(select! { biased; else => 5, }, 5);
        let nested = select! {
            outer = ready(1) => select! { inner = async { outer + 1 } => inner + outer },
        };
        assert_eq!(nested, 3);
    });
}

#[test]
fn patterns_move_borrow_and_change() {
    let text = || ready(Some(String::from("text")));
    block_on(async {
        let moved = select! { Some(text) = text() => text, else => unreachable!() };
        assert_eq!(moved, "text");
        let changed = select! {
            Some(mut text) = text() => { text.push('s'); text }
            else => unreachable!(),
        };
        assert_eq!(changed, "texts");
        let changed = select! {
            Some(ref mut text) = text() => { text.push('s'); text.clone() }
            else => unreachable!(),
        };
        assert_eq!(changed, "texts");
        let length = select! { Some(ref text) = text() => text.len(), else => 0 };
        assert_eq!(length, 4);
        let whole = select! { all @ Some(_) = text() => all, else => None };
        assert_eq!(whole.as_deref(), Some("text"));
        let sum = select! { [one, two] = ready([1, 2]) => one + two, };
        assert_eq!(sum, 3);
    });
}

#[test]
fn an_output_that_does_not_fit_takes_its_branch_out_and_is_dropped() {
    let dropped = RefCell::new(Vec::new());
    let polls = Cell::new(0);
    let (sender, receiver) = oneshot::channel();
    let mut selecting = task::spawn(async {
        select! {
            Err(()) = poll_fn(|_| {
                polls.set(polls.get() + 1);
                Poll::Ready(Ok(Mark(&dropped, "output")))
            }) => unreachable!(),
            value = receiver => value.unwrap(),
        }
    });
    assert_pending!(selecting.poll());
    assert_eq!(*dropped.borrow(), ["output"]);
    assert_pending!(selecting.poll());
    assert_eq!(polls.get(), 1);
    sender.send(1).unwrap();
    assert!(selecting.is_woken());
    assert_eq!(assert_ready!(selecting.poll()), 1);
}

#[test]
fn conditions_precede_futures_and_all_futures_are_created() {
    let log = RefCell::new(Vec::new());
    let note = |what| log.borrow_mut().push(what);
    block_on(async {
        select! {
            biased;
            () = { note("first future"); poll_fn(|_| panic!("takes no part")) }, if { note("first condition"); false } => {}
            () = { note("second future"); ready(()) }, if { note("second condition"); true } => note("handler"),
        }
    });
    assert_eq!(
        *log.borrow(),
        [
            "first condition",
            "second condition",
            "first future",
            "second future",
            "handler"
        ]
    );
}

#[test]
fn the_futures_are_dropped_before_the_handler_runs() {
    let dropped = RefCell::new(Vec::new());
    let mut borrowed = 1;
    block_on(async {
        let loser = async {
            let _mark = Mark(&dropped, "loser");
            pending::<()>().await;
        };
        select! {
            biased;
            () = loser => unreachable!(),
            () = async { borrowed += 1 } => {
                borrowed += 1;
                dropped.borrow_mut().push("handler");
            }
        }
    });
    assert_eq!(borrowed, 3);
    assert_eq!(*dropped.borrow(), ["loser", "handler"]);
}

#[test]
fn dropping_the_whole_drops_every_future() {
    let dropped = RefCell::new(Vec::new());
    let wait = |name| {
        let mark = Mark(&dropped, name);
        async move {
            let _mark = mark;
            pending::<()>().await
        }
    };
    let mut selecting = task::spawn(async {
        select! {
            () = wait("first") => {}
            () = wait("second") => {}
        }
    });
    assert_pending!(selecting.poll());
    assert!(dropped.borrow().is_empty());
    drop(selecting);
    assert_eq!(*dropped.borrow(), ["first", "second"]);
}

#[test]
fn a_handler_leaves_like_the_code_around_it() {
    async fn question() -> Result<i32, &'static str> {
        let value = select! { value = ready(Err("no")) => value? };
        Ok(value)
    }
    async fn returns() -> i32 {
        select! {
            () = ready(()) => return 1,
            () = pending() => {}
        }
        2
    }
    block_on(async {
        assert_eq!(question().await, Err("no"));
        assert_eq!(returns().await, 1);
        let mut rounds = 0;
        let result = loop {
            rounds += 1;
            select! {
                () = ready(()), if rounds < 3 => continue,
                () = ready(()), if rounds == 3 => break rounds,
            }
        };
        assert_eq!(result, 3);
        let awaited = select! { value = ready(1) => ready(value).await + 1 };
        assert_eq!(awaited, 2);
    });
}

#[test]
#[should_panic(expected = "all branches are disabled and there is no else branch")]
fn panics_if_nothing_is_left() {
    block_on(async {
        select! {
            Some(()) = ready(None) => {}
            () = ready(()), if false => {}
        }
    });
}

#[test]
fn biased_polls_as_written_and_the_winner_keeps_the_rest_unpolled() {
    for _ in 0..50 {
        let winner = block_on(async {
            select! {
                biased;
                () = pending() => 0,
                () = ready(()) => 1,
                () = poll_fn(|_| panic!("polled behind the winner")) => 2,
            }
        });
        assert_eq!(winner, 1);
    }
}

#[test]
fn each_enabled_branch_has_the_same_chance() {
    let mut wins = [0; 4];
    block_on(async {
        for _ in 0..3_000 {
            let winner = select! {
                () = ready(()) => 0,
                () = ready(()), if false => 1,
                () = ready(()) => 2,
                () = ready(()) => 3,
            };
            wins[winner] += 1;
        }
    });
    assert_eq!(wins[1], 0);
    // Expected 1000 each, with a deviation of 26: this fails once in 10^12 runs.
    for winner in [0, 2, 3] {
        assert!((800..1200).contains(&wins[winner]), "{wins:?}");
    }
}

#[test]
fn every_branch_is_polled_each_time() {
    let polls = [const { Cell::new(0) }; 3];
    let count = |number: usize| {
        let polls = &polls;
        poll_fn(move |_| {
            polls[number].set(polls[number].get() + 1);
            Poll::<()>::Pending
        })
    };
    let mut selecting = task::spawn(async {
        select! {
            () = count(0) => {}
            () = count(1) => {}
            () = count(2) => {}
        }
    });
    for round in 1..=20 {
        assert_pending!(selecting.poll());
        assert_eq!(polls.each_ref().map(Cell::get), [round; 3]);
    }
}

#[test]
fn temporaries_of_a_future_live_as_long_as_in_a_let() {
    block_on(async {
        select! { () = &mut ready(()) => {} }
        let lock = &std::sync::Mutex::new(1);
        // The guard is dropped before the first poll.
        let free = select! {
            free = { let value = *lock.lock().unwrap(); async move { value == 1 && lock.try_lock().is_ok() } } => free,
        };
        assert!(free);
    });
}

#[test]
fn a_type_without_values_and_a_name_like_ours_do_no_harm() {
    #![deny(warnings)]
    async fn never() -> std::convert::Infallible {
        pending().await
    }
    block_on(async {
        let (output, enabled, turn, at0) = (1, 2, 3, 4);
        let sum = select! {
            _ = never() => 0,
            value = async { output + enabled + turn + at0 } => value + output + enabled + turn + at0,
        };
        assert_eq!(sum, 20);
    });
}

#[test]
fn sixty_four_branches() {
    let number = block_on(async {
        select! {
            biased;
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, () = pending() => 0,
            () = pending() => 0, () = pending() => 0, () = pending() => 0, number = ready(64) => number,
            else => 65,
        }
    });
    assert_eq!(number, 64);
}

#[test]
fn the_whole_can_be_sent_if_its_parts_can() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    block_on(sendable(async {
        let local = select! {
            value = ready(1) => value,
            () = pending() => 0,
        };
        ready(()).await;
        assert_eq!(local, 1);
    }));
}
