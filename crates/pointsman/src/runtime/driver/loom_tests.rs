//! Models of the readiness of a source, and of the entries that sources reuse.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

use super::registrations::Registrations;
use super::scheduled_io::{Direction, ScheduledIo};
use super::{Interest, Ready};

#[test]
fn an_event_wakes_a_task_that_polls_at_the_same_time() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        let reactor = {
            let io = Arc::clone(&io);
            thread::spawn(move || io.set(0, Ready::READABLE))
        };
        let event = block_on(poll_fn(|cx| io.poll(cx, Direction::Read)));
        assert_eq!(event.ready, Ready::READABLE);
        reactor.join().unwrap();
    });
}

#[test]
fn an_event_wakes_the_tasks_of_both_directions() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        let wait = |direction| {
            let io = Arc::clone(&io);
            thread::spawn(move || {
                block_on(poll_fn(|cx| io.poll(cx, direction)));
            })
        };
        let tasks = [wait(Direction::Read), wait(Direction::Write)];
        io.set(0, Ready::READABLE | Ready::WRITABLE);
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn an_event_wakes_all_waiting_tasks() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        let wait = || {
            let io = Arc::clone(&io);
            thread::spawn(move || {
                block_on(io.wait(Interest::READABLE));
            })
        };
        let tasks = [wait(), wait()];
        io.set(0, Ready::READABLE);
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// The source returned `WouldBlock` before the event: the event stays.
#[test]
fn an_event_is_not_lost_while_readiness_is_cleared() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        io.set(0, Ready::READABLE);
        let event = io.ready_event(Interest::READABLE);
        let reactor = {
            let io = Arc::clone(&io);
            thread::spawn(move || io.set(0, Ready::READABLE))
        };
        io.clear(event);
        block_on(poll_fn(|cx| io.poll(cx, Direction::Read)));
        reactor.join().unwrap();
    });
}

#[test]
fn the_shutdown_wakes_all_waiting_tasks() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        let waits = {
            let io = Arc::clone(&io);
            thread::spawn(move || block_on(io.wait(Interest::WRITABLE)))
        };
        let reactor = {
            let io = Arc::clone(&io);
            thread::spawn(move || io.shut_down())
        };
        let event = block_on(poll_fn(|cx| io.poll(cx, Direction::Read)));
        assert!(event.is_shut_down);
        assert!(waits.join().unwrap().is_shut_down);
        reactor.join().unwrap();
    });
}

/// The first task stops waiting while it is being woken.
#[test]
fn a_second_task_can_take_over_a_direction() {
    loom::model(|| {
        let io = Arc::new(ScheduledIo::new());
        let reactor = {
            let io = Arc::clone(&io);
            thread::spawn(move || io.set(0, Ready::READABLE))
        };
        let first = {
            let io = Arc::clone(&io);
            thread::spawn(move || {
                block_on(poll_fn(|cx| {
                    let _ = io.poll(cx, Direction::Read);
                    Poll::Ready(())
                }));
            })
        };
        first.join().unwrap();
        block_on(poll_fn(|cx| io.poll(cx, Direction::Read)));
        reactor.join().unwrap();
    });
}

/// The event arrives after its source was deregistered.
#[test]
fn an_event_of_a_released_entry_does_not_reach_the_next_source() {
    loom::model(|| {
        let set = Arc::new(Registrations::new(0));
        let entry = set.acquire(None).unwrap();
        let (index, generation) = (entry.index, entry.io.generation());
        let reactor = {
            let set = Arc::clone(&set);
            thread::spawn(move || {
                let ready = Ready::READABLE | Ready::READ_CLOSED;
                set.get(index).io.set(generation, ready);
            })
        };
        set.release(entry);
        let next = set.acquire(None).unwrap();
        assert_eq!(next.index, index);
        assert_eq!(next.io.ready_event(Interest::READABLE).ready, Ready::EMPTY);
        reactor.join().unwrap();
        assert_eq!(next.io.ready_event(Interest::READABLE).ready, Ready::EMPTY);
    });
}

/// A source is registered in a new entry, or in one that was used before.
#[test]
fn a_source_that_is_registered_during_the_shutdown_is_refused_or_shut_down() {
    for is_reused in [false, true] {
        loom::model(move || {
            let set = Arc::new(Registrations::new(0));
            // Loom does not model the ordering of the `OnceLock` of a page.
            set.get(0);
            if is_reused {
                set.release(set.acquire(None).unwrap());
            }
            let reactor = {
                let set = Arc::clone(&set);
                thread::spawn(move || set.shut_down())
            };
            let registered = set.acquire(None);
            reactor.join().unwrap();
            if let Ok(entry) = registered {
                assert!(entry.io.ready_event(Interest::READABLE).is_shut_down);
            }
            assert!(set.acquire(None).is_err());
        });
    }
}
