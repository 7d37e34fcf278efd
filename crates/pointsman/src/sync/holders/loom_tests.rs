//! Loom models of what a dump reads of locks with several permits.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::shared::{self, Hold};
use super::{FirstRequest, LockFacts};
use crate::sync::guard::HasPermits;
use crate::sync::{RwLock, Semaphore};

const LOCK: u32 = 8;
/// A lock in the same bucket.
const OTHER: u32 = 16;

fn take(identity: u32, task: u32, permits: usize) -> Hold {
    shared::take(identity, task, permits, None).unwrap_or(Hold::NONE)
}

fn holders(facts: &LockFacts) -> Vec<(u32, u32)> {
    let holders = facts.holders.iter();
    holders
        .map(|holder| (holder.number, holder.permits))
        .collect()
}

#[test]
fn a_reader_sees_the_permits_of_the_holder_or_no_holder() {
    loom::model(|| {
        let thread = thread::spawn(|| {
            take(LOCK, 1, 1).release(1);
            take(OTHER, 5, 5).release(5);
            take(LOCK, 2, 2)
        });
        let seen = holders(&shared::read(LOCK));
        assert!(["[]", "[(1, 1)]", "[(2, 2)]"].contains(&&*format!("{seen:?}")));
        let kept = thread.join().unwrap();
        assert_eq!(holders(&shared::read(LOCK)), [(2, 2)]);
        assert_eq!(holders(&shared::read(OTHER)), []);
        kept.release(2);
        assert_eq!(holders(&shared::read(LOCK)), []);
    });
}

#[test]
fn a_reader_sees_the_request_of_the_task_or_none() {
    loom::model(|| {
        let thread = thread::spawn(|| {
            shared::set_request(LOCK, 1, 1, 1, 9);
            shared::set_request(LOCK, 2, 2, 1, 9);
            shared::forget_request(LOCK);
            shared::set_request(OTHER, 3, 3, 1, 9);
        });
        if let Some(FirstRequest { number, spare }) = shared::read(LOCK).first {
            assert!(number + spare == 9 && number < 3);
        }
        thread.join().unwrap();
        assert_eq!(shared::read(LOCK).first, None);
        let other = FirstRequest {
            number: 3,
            spare: 6,
        };
        assert_eq!(shared::read(OTHER).first, Some(other));
    });
}

#[test]
fn holders_take_different_entries_and_leave_none_in_use() {
    loom::model(|| {
        let hold = |identity, task| move || take(identity, task, 1).release(task);
        let threads = [hold(LOCK, 1), hold(OTHER, 2)].map(thread::spawn);
        let kept = take(LOCK, 3, 3);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(holders(&shared::read(OTHER)).is_empty());
        kept.release(3);
        assert!(holders(&shared::read(LOCK)).is_empty());
        // Both entries are free again.
        assert_ne!(take(LOCK, 4, 1), Hold::NONE);
        assert_ne!(take(LOCK, 5, 1), Hold::NONE);
        assert_eq!(take(LOCK, 6, 1), Hold::NONE);
    });
}

#[test]
fn a_holder_that_loses_its_entry_leaves_that_of_the_next() {
    loom::model(|| {
        let hold = take(LOCK, 1, 1);
        let thread = thread::spawn(|| {
            shared::forget_holders(LOCK);
            take(OTHER, 2, 2)
        });
        hold.release(1);
        let next = thread.join().unwrap();
        assert!(holders(&shared::read(LOCK)).is_empty());
        next.release(2);
        assert!(holders(&shared::read(OTHER)).is_empty());
    });
}

#[test]
fn a_semaphore_that_all_released_has_no_holder_and_no_request() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let other = semaphore.clone();
        let thread = thread::spawn(move || drop(block_on(other.acquire_many(2)).unwrap()));
        drop(block_on(semaphore.acquire()).unwrap());
        thread.join().unwrap();
        let permit = semaphore.try_acquire().unwrap();
        // It has an identity that the model does not choose.
        let identity = semaphore.permits.holder.identity();
        let facts = shared::read(identity);
        assert_eq!(facts.first, None);
        assert_eq!(facts.holders.len(), 1);
        drop(permit);
        assert!(shared::read(identity).holders.is_empty());
    });
}

#[test]
fn the_holder_of_a_lock_is_known_while_a_request_waits() {
    loom::model(|| {
        let lock = Arc::new(RwLock::with_max_readers((), 3));
        let identity = lock.permits().holder.identity();
        let writer = lock.try_write().unwrap();
        let other = lock.clone();
        let thread = thread::spawn(move || drop(block_on(other.read())));
        let facts = shared::read(identity);
        assert_eq!(holders(&facts), [(0, 3)]);
        if let Some(first) = facts.first {
            assert_eq!(first.spare, 2);
            assert_eq!(facts.others, 0);
        }
        drop(writer);
        thread.join().unwrap();
        let facts = shared::read(identity);
        assert!(facts.first.is_none() && facts.holders.is_empty());
    });
}
