//! Models of who waits for a source of I/O, and of the places that sources take.

use std::future::poll_fn;
use std::sync::Arc;

use loom::future::block_on;
use loom::thread;

use super::readiness::{Direction, Readiness};
use super::slab::Slab;
use crate::io::{Interest, Ready};

#[test]
fn who_polls_while_an_event_comes_is_woken() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        let reactor = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || readiness.set(0, Ready::READABLE))
        };
        let event = block_on(poll_fn(|cx| readiness.poll(cx, Direction::Read)));
        assert_eq!(event.ready, Ready::READABLE);
        reactor.join().unwrap();
    });
}

#[test]
fn each_direction_has_its_own_task() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        let waits = |direction| {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || {
                block_on(poll_fn(|cx| readiness.poll(cx, direction)));
            })
        };
        let tasks = [waits(Direction::Read), waits(Direction::Write)];
        readiness.set(0, Ready::READABLE | Ready::WRITABLE);
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn all_who_wait_are_woken_by_an_event() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        let waits = || {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || {
                block_on(readiness.wait(Interest::READABLE));
            })
        };
        let tasks = [waits(), waits()];
        readiness.set(0, Ready::READABLE);
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// "It would block" is the answer to a question that was asked before the event: the event stays.
#[test]
fn an_event_that_comes_while_readiness_is_cleared_is_not_lost() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        readiness.set(0, Ready::READABLE);
        let event = readiness.ready_event(Interest::READABLE);
        let reactor = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || readiness.set(0, Ready::READABLE))
        };
        readiness.clear(event);
        block_on(poll_fn(|cx| readiness.poll(cx, Direction::Read)));
        reactor.join().unwrap();
    });
}

#[test]
fn the_end_wakes_all() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        let waits = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || block_on(readiness.wait(Interest::WRITABLE)))
        };
        let reactor = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || readiness.shut_down())
        };
        let event = block_on(poll_fn(|cx| readiness.poll(cx, Direction::Read)));
        assert!(event.is_shut_down);
        assert!(waits.join().unwrap().is_shut_down);
        reactor.join().unwrap();
    });
}

/// A task that gives up while it is woken.
#[test]
fn another_task_takes_over_the_place() {
    loom::model(|| {
        let readiness = Arc::new(Readiness::new());
        let reactor = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || readiness.set(0, Ready::READABLE))
        };
        let first = {
            let readiness = Arc::clone(&readiness);
            thread::spawn(move || {
                let mut is_first = true;
                block_on(poll_fn(move |cx| {
                    let polled = readiness.poll(cx, Direction::Read);
                    match std::mem::replace(&mut is_first, false) {
                        true => std::task::Poll::Ready(polled.is_ready()),
                        false => std::task::Poll::Ready(false),
                    }
                }))
            })
        };
        first.join().unwrap();
        block_on(poll_fn(|cx| readiness.poll(cx, Direction::Read)));
        reactor.join().unwrap();
    });
}

/// An event that was on its way when its source went says nothing of the next source.
#[test]
fn an_event_of_a_source_that_has_gone_changes_nothing() {
    loom::model(|| {
        let slab = Arc::new(Slab::new(0));
        let index = slab.acquire(None).unwrap();
        let generation = slab.get(index).generation();
        let reactor = {
            let slab = Arc::clone(&slab);
            thread::spawn(move || {
                slab.get(index)
                    .set(generation, Ready::READABLE | Ready::READ_CLOSED);
            })
        };
        slab.release(index);
        assert_eq!(slab.acquire(None), Some(index));
        let event = slab.get(index).ready_event(Interest::READABLE);
        assert_eq!(event.ready, Ready::EMPTY);
        reactor.join().unwrap();
        let event = slab.get(index).ready_event(Interest::READABLE);
        assert_eq!(event.ready, Ready::EMPTY);
    });
}
