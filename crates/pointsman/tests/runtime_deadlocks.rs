//! `Dump::problems` and the holders of locks that several tasks hold: deadlocks, and programs that look like one.
#![cfg(feature = "diagnostics")]

mod common;

use std::future::{Future, pending};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use common::must_end;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pointsman::runtime::dump::{Dump, Problem, Resource, Task};
use pointsman::runtime::{Builder, Handle};
use pointsman::sync::{Mutex, RwLock, Semaphore, oneshot};
use pointsman::task::{self, yield_now};
use pointsman::time::{sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

/// Runs the program on a current-thread runtime until its tasks wait, and returns the dump.
fn dump_of(program: impl Future<Output = ()>) -> Dump {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        program.await;
        settle().await;
        Handle::current().dump()
    })
}

async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

fn is_healthy(dump: &Dump) -> bool {
    dump.problems().is_empty()
}

/// The numbers of the tasks of the only deadlock, from 1.
#[track_caller]
fn deadlock(dump: &Dump) -> Vec<usize> {
    let [Problem::Deadlock(ids)] = dump.problems() else {
        panic!("{dump}");
    };
    let rank = |id: &task::Id| dump.tasks().iter().position(|task| task.id() == *id);
    ids.iter().map(|id| rank(id).unwrap() + 1).collect()
}

/// The lines of a dump about what the last task waits for, without ids and times.
fn last_wait(dump: &Dump) -> String {
    let text = dump.tasks().iter().last().unwrap().trace().to_string();
    let mut wait = text.lines().nth(1).unwrap_or("").trim().to_owned();
    for (rank, task) in dump.tasks().iter().enumerate() {
        let id = format!("task {} ", task.id());
        wait = wait.replace(&id, &format!("task #{} ", rank + 1));
    }
    let words: Vec<_> = wait.split(' ').collect();
    let is_time = |at: usize| {
        words
            .get(at + 1)
            .is_some_and(|unit| *unit == "ms" || *unit == "s")
    };
    let word = |(at, word): (usize, &&str)| (if is_time(at) { "T" } else { *word }).to_owned();
    words
        .iter()
        .enumerate()
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

fn task_of(dump: &Dump, number: usize) -> &Task {
    dump.tasks().iter().nth(number - 1).unwrap()
}

#[test]
fn two_readers_that_want_to_write_are_a_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            for _ in 0..2 {
                let lock = lock.clone();
                task::spawn(async move {
                    let _reader = lock.read().await;
                    yield_now().await;
                    drop(lock.write().await);
                });
            }
        });
        assert_eq!(deadlock(&dump), [1, 2]);
        assert_eq!(
            last_wait(&dump),
            "waits for a read-write lock, held by task #1 T ms ago, held by task #2 T ms ago"
        );
    });
}

#[test]
fn a_reader_that_reads_again_behind_a_writer_is_a_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            let (is_read, of_writer) = (lock.clone(), lock.clone());
            task::spawn(async move {
                let _reader = is_read.read().await;
                settle().await;
                drop(is_read.read().await);
            });
            yield_now().await;
            task::spawn(async move { drop(of_writer.write().await) });
            settle().await;
            settle().await;
            // It waits behind them and is no part of it.
            task::spawn(async move { drop(lock.read().await) });
        });
        assert_eq!(deadlock(&dump), [1, 2]);
    });
}

#[test]
fn a_reader_that_reads_again_behind_a_writer_that_may_leave_is_none() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            let is_read = lock.clone();
            task::spawn(async move {
                let _reader = is_read.read().await;
                settle().await;
                drop(is_read.read().await);
            });
            yield_now().await;
            task::spawn(async move { drop(timeout(HOUR, lock.write()).await) });
            settle().await;
        });
        assert_eq!(
            task_of(&dump, 1).waits_for().unwrap().resource(),
            Resource::RwLock
        );
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_writer_that_waits_for_one_blocked_reader_among_others_is_a_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let (lock, mutex) = (Arc::new(RwLock::new(())), Arc::new(Mutex::new(())));
            let (first, locked) = (lock.clone(), mutex.clone());
            task::spawn(async move {
                let _reader = first.read().await;
                yield_now().await;
                drop(locked.lock().await);
            });
            let other = lock.clone();
            task::spawn(async move {
                let _reader = other.read().await;
                sleep(HOUR).await;
            });
            task::spawn(async move {
                let _guard = mutex.lock().await;
                yield_now().await;
                drop(lock.write().await);
            });
        });
        assert_eq!(deadlock(&dump), [1, 3]);
    });
}

/// Each task holds `held` permits of `total` and then waits for `wanted` more. Another holds the rest until a timer ends.
fn permits(total: usize, tasks: usize, held: u32, wanted: u32) -> Dump {
    dump_of(async move {
        let semaphore = Arc::new(Semaphore::new(total));
        for _ in 0..tasks {
            let semaphore = semaphore.clone();
            task::spawn(async move {
                let _held = semaphore.acquire_many(held).await.unwrap();
                yield_now().await;
                drop(semaphore.acquire_many(wanted).await);
            });
        }
        let rest = (total - tasks * held as usize) as u32;
        if rest > 0 {
            task::spawn(async move {
                let _rest = semaphore.acquire_many(rest).await.unwrap();
                sleep(HOUR).await;
            });
        }
    })
}

#[test]
fn tasks_that_hold_permits_and_want_more_than_the_others_leave_are_a_deadlock() {
    must_end(|| {
        assert_eq!(deadlock(&permits(2, 2, 1, 1)), [1, 2]);
        assert_eq!(deadlock(&permits(2, 2, 1, 2)), [1, 2]);
        assert_eq!(deadlock(&permits(4, 4, 1, 1)), [1, 2, 3, 4]);
        assert_eq!(deadlock(&permits(9, 3, 3, 3)), [1, 2, 3]);
        // The rest comes back, and is not enough.
        assert_eq!(deadlock(&permits(5, 2, 2, 2)), [1, 2]);
    });
}

#[test]
fn tasks_that_want_no_more_than_others_will_release_are_none() {
    must_end(|| {
        for (total, tasks, held, wanted) in [(3, 2, 1, 1), (6, 2, 2, 2), (100, 3, 30, 10)] {
            let dump = permits(total, tasks, held, wanted);
            assert_eq!(dump.tasks().len(), tasks + 1);
            assert!(is_healthy(&dump), "{dump}");
        }
    });
}

#[test]
fn a_request_behind_one_that_is_blocked_is_blocked() {
    must_end(|| {
        let dump = dump_of(async {
            let (semaphore, mutex) = (Arc::new(Semaphore::new(3)), Arc::new(Mutex::new(())));
            let (of_first, of_second, locked) =
                (semaphore.clone(), semaphore.clone(), mutex.clone());
            task::spawn(async move {
                let _one = of_first.acquire().await.unwrap();
                settle().await;
                drop(locked.lock().await);
            });
            task::spawn(async move {
                yield_now().await;
                drop(of_second.acquire_many(3).await);
            });
            // There is a permit for it, but the second task is the first in the queue.
            task::spawn(async move {
                let _guard = mutex.lock().await;
                yield_now().await;
                yield_now().await;
                drop(semaphore.acquire().await);
            });
            settle().await;
        });
        assert_eq!(deadlock(&dump), [1, 2, 3]);
    });
}

#[test]
fn a_semaphore_that_was_given_permits_may_get_more() {
    must_end(|| {
        let dump = dump_of(async {
            let semaphore = Arc::new(Semaphore::new(1));
            semaphore.add_permits(1);
            let forgetful = Arc::new(Semaphore::new(2));
            for _ in 0..2 {
                let (semaphore, forgetful) = (semaphore.clone(), forgetful.clone());
                task::spawn(async move {
                    let _held = semaphore.acquire().await.unwrap();
                    yield_now().await;
                    drop(semaphore.acquire().await);
                });
                task::spawn(async move {
                    forgetful.acquire().await.unwrap().forget();
                    yield_now().await;
                    drop(forgetful.acquire().await);
                });
            }
        });
        assert_eq!(dump.tasks().len(), 4);
        assert!(is_healthy(&dump), "{dump}");
        let wait = task_of(&dump, 1).waits_for().unwrap();
        assert_eq!((wait.holders().len(), wait.other_permits()), (0, 0));
        let wait = task_of(&dump, 2).waits_for().unwrap();
        assert_eq!((wait.holders().len(), wait.other_permits()), (0, 0));
    });
}

#[test]
fn permits_that_were_split_or_merged_have_no_known_holder() {
    must_end(|| {
        let dump = dump_of(async {
            let semaphore = Arc::new(Semaphore::new(10));
            let (split, merged) = (semaphore.clone(), semaphore.clone());
            task::spawn(async move {
                let mut kept = split.acquire_many(6).await.unwrap();
                drop(kept.split(5).unwrap());
                yield_now().await;
                drop(split.acquire_many(10).await);
            });
            task::spawn(async move {
                let mut kept = merged.acquire().await.unwrap();
                kept.merge(merged.acquire().await.unwrap());
                drop(merged.acquire_many(10).await);
            });
        });
        assert_eq!(
            last_wait(&dump),
            "waits for a semaphore, 3 permits held by others"
        );
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_guard_that_another_task_drops_is_held_by_none() {
    must_end(|| {
        let dump = dump_of(async {
            let (lock, kept) = (Arc::new(RwLock::new(())), Arc::new(RwLock::new(())));
            let (send, sent) = oneshot::channel();
            let (of_reader, of_kept) = (lock.clone(), kept.clone());
            task::spawn(async move {
                let _ = send.send(of_reader.read_owned().await);
                let _kept = of_kept.read().await;
                sleep(HOUR).await;
            });
            task::spawn(async move { drop(sent.await) });
            settle().await;
            let writer = lock.clone().try_write_owned().unwrap();
            task::spawn(async move { drop(lock.read().await) });
            settle().await;
            std::mem::forget(writer);
        });
        assert_eq!(
            last_wait(&dump),
            "waits for a read-write lock, held by a thread outside of tasks T ms ago"
        );
    });
}

#[test]
fn more_holders_than_are_known_are_counted() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            for _ in 0..9 {
                let lock = lock.clone();
                task::spawn(async move {
                    let _reader = lock.read().await;
                    sleep(HOUR).await;
                });
            }
            settle().await;
            task::spawn(async move { drop(lock.write().await) });
        });
        let wait = task_of(&dump, 10).waits_for().unwrap();
        assert_eq!((wait.holders().len(), wait.other_permits()), (6, 3));
        assert!(
            last_wait(&dump).ends_with("ago, held by 3 other readers"),
            "{dump}"
        );
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_downgraded_writer_is_a_reader() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            let of_writer = lock.clone();
            task::spawn(async move {
                let reader = of_writer.write().await.downgrade();
                yield_now().await;
                drop(of_writer.write().await);
                drop(reader);
            });
            settle().await;
            task::spawn(async move { drop(lock.write().await) });
        });
        assert_eq!(deadlock(&dump), [1]);
        let wait = task_of(&dump, 2).waits_for().unwrap();
        assert_eq!(wait.holders()[0].permits(), 1);
        assert_eq!(wait.holders()[0].task(), Some(task_of(&dump, 1).id()));
        assert_eq!(wait.other_permits(), 0);
    });
}

#[test]
fn holders_that_were_aborted_or_panicked_are_gone() {
    must_end(|| {
        let dump = dump_of(async {
            let semaphore = Arc::new(Semaphore::new(4));
            let hold = |permits, panics: bool| {
                let semaphore = semaphore.clone();
                task::spawn(async move {
                    let _held = semaphore.acquire_many(permits).await.unwrap();
                    assert!(!panics, "a panic that the test expects");
                    pending::<()>().await;
                })
            };
            let (aborted, panicked, waits) = (hold(2, false), hold(1, true), hold(4, false));
            settle().await;
            aborted.abort();
            assert!(aborted.await.is_err() && panicked.await.is_err());
            settle().await;
            waits.abort();
            settle().await;
            let kept = semaphore.clone().try_acquire_owned().unwrap();
            task::spawn(async move { drop(semaphore.acquire_many(4).await) });
            settle().await;
            std::mem::forget(kept);
        });
        assert_eq!(
            last_wait(&dump),
            "waits for a semaphore, 1 permit held by a thread outside of tasks T ms ago"
        );
    });
}

/// A task has requested `count` permits of three by a future that it does not poll any more when they are granted, and
/// then waits for `then`.
fn granted_and_not_claimed<F>(count: u32, then: fn(Arc<Semaphore>) -> F) -> Dump
where
    F: Future<Output = ()> + Send + 'static,
{
    dump_of(async {
        let semaphore = Arc::new(Semaphore::new(3));
        let permit = semaphore.clone().acquire_many_owned(3).await.unwrap();
        let (done, is_done) = oneshot::channel();
        let of_task = semaphore.clone();
        task::spawn(async move {
            let mut left = std::pin::pin!(of_task.acquire_many(count));
            pointsman::select! {
                _ = &mut left => unreachable!("all permits are held"),
                _ = is_done => {}
            }
            yield_now().await;
            then(of_task.clone()).await;
        });
        settle().await;
        done.send(()).unwrap();
        settle().await;
        task::spawn(async move { drop(semaphore.acquire_many(3).await) });
        settle().await;
        drop(permit);
    })
}

#[test]
fn permits_that_were_granted_and_not_claimed_are_a_futurelock() {
    must_end(|| {
        let dump = granted_and_not_claimed(2, |semaphore| async move {
            drop(semaphore.acquire_many(3).await);
        });
        assert!(
            matches!(dump.problems(), [Problem::Futurelock(id)] if *id == task_of(&dump, 1).id()),
            "{dump}"
        );
        assert_eq!(
            last_wait(&dump),
            "waits for a semaphore, 2 permits granted to task #1 T ms ago"
        );
        // There is enough besides.
        let dump = granted_and_not_claimed(2, |semaphore| async move {
            drop(semaphore.acquire().await);
            sleep(HOUR).await;
        });
        assert!(is_healthy(&dump), "{dump}");
        // The task may still claim them.
        let dump = granted_and_not_claimed(2, |_| sleep(HOUR));
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_read_lock_that_was_granted_and_not_claimed_is_a_futurelock() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = Arc::new(RwLock::new(()));
            let writer = lock.clone().write_owned().await;
            task::spawn(async move {
                let mut left = std::pin::pin!(lock.read());
                pointsman::select! {
                    _ = &mut left => unreachable!("a writer holds the lock"),
                    () = yield_now() => {}
                }
                drop(lock.write().await);
            });
            settle().await;
            drop(writer);
        });
        assert!(
            matches!(dump.problems(), [Problem::Futurelock(id)] if *id == task_of(&dump, 1).id())
        );
    });
}

#[test]
fn a_cycle_through_all_kinds_of_locks_is_a_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let (mutex, lock) = (Arc::new(Mutex::new(())), Arc::new(RwLock::new(())));
            let semaphore = Arc::new(Semaphore::new(5));
            let (of_first, locked) = (semaphore.clone(), mutex.clone());
            let first = task::spawn(async move {
                let _two = of_first.acquire_many(2).await.unwrap();
                yield_now().await;
                drop(locked.lock().await);
            });
            let written = lock.clone();
            task::spawn(async move {
                let _guard = mutex.lock().await;
                yield_now().await;
                drop(written.write().await);
            });
            let joins = task::spawn(async move {
                let _reader = lock.read().await;
                yield_now().await;
                first.await.unwrap();
            });
            task::spawn(async move {
                yield_now().await;
                drop(semaphore.acquire_many(4).await);
                joins.await.unwrap();
            });
        });
        assert_eq!(deadlock(&dump), [1, 2, 3]);
    });
}

#[test]
fn requests_that_were_granted_without_an_entry_are_not_blocked() {
    must_end(|| {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let lock = Arc::new(RwLock::new(()));
            let writer = lock.clone().write_owned().await;
            let readers: Vec<_> = (0..9)
                .map(|_| {
                    let lock = lock.clone();
                    task::spawn(async move {
                        let _reader = lock.read().await;
                        settle().await;
                        drop(lock.read().await);
                    })
                })
                .collect();
            settle().await;
            let writes = task::spawn(async move { drop(lock.write().await) });
            settle().await;
            drop(writer);
            // They were granted the lock and have not run.
            let dump = Handle::current().dump();
            assert!(is_healthy(&dump), "{dump}");
            for _ in 0..4 {
                settle().await;
            }
            let dump = Handle::current().dump();
            assert!(deadlock(&dump).contains(&10), "{dump}");
            writes.abort();
            for reader in readers {
                reader.await.unwrap();
            }
        });
    });
}

#[test]
fn guards_that_other_tasks_release_are_no_part_of_a_deadlock() {
    static CONSTANT: Semaphore = Semaphore::const_new(2);
    static LATE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));
    must_end(|| {
        let dump = dump_of(async {
            let sent = LATE.acquire().await;
            task::spawn(async move { drop(sent) }).await.unwrap();
            task::spawn(async {
                loop {
                    let permits = (CONSTANT.acquire().await, LATE.acquire().await);
                    task::spawn(async move {
                        sleep(HOUR).await;
                        drop(permits);
                    });
                }
            });
            task::spawn(async {
                let permits = LATE.acquire_many(2).await;
                task::spawn(async move { drop((sleep(HOUR).await, permits)) });
                drop(LATE.acquire().await);
            });
        });
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_request_for_more_permits_than_there_are_waits_for_others_to_be_added() {
    must_end(|| {
        let dump = dump_of(async {
            let semaphore = Arc::new(Semaphore::new(2));
            task::spawn(async move {
                let _held = semaphore.acquire().await;
                drop(semaphore.acquire_many(3).await);
            });
        });
        assert_eq!(dump.tasks().len(), 1);
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_lock_that_is_moved_and_dropped_leaves_no_holder_to_the_next() {
    must_end(|| {
        let dump = dump_of(async {
            for _ in 0..100 {
                let lock = RwLock::new(());
                std::mem::forget(lock.read().await);
                let moved = Box::new(lock);
                std::mem::forget(moved.read().await);
            }
            let lock = Arc::new(RwLock::new(()));
            let reader = lock.clone();
            task::spawn(async move {
                let _reader = reader.read().await;
                sleep(HOUR).await;
            });
            settle().await;
            task::spawn(async move { drop(lock.write().await) });
        });
        assert_eq!(
            last_wait(&dump),
            "waits for a read-write lock, held by task #1 T ms ago"
        );
    });
}

#[test]
fn a_semaphore_without_known_holders_has_none_of_an_earlier_one() {
    must_end(|| {
        let dump = dump_of(async {
            task::spawn(async {
                let mut semaphore = Box::new(Semaphore::new(3));
                std::mem::forget(semaphore.try_acquire());
                *semaphore = Semaphore::new(0);
                drop(semaphore.acquire().await);
            });
        });
        assert_eq!(last_wait(&dump), "waits for a semaphore");
    });
}

/// Tasks of two runtimes and threads take turns at the same locks, send guards to each other, and give up. Dumps meanwhile
/// report nothing, and at the end no holder is left.
#[test]
fn busy_locks_are_no_deadlock_and_keep_no_holder() {
    must_end(|| {
        let runtime = common::threads(2);
        let rounds = if cfg!(miri) { 5 } else { 3_000 };
        let (lock, semaphore) = (Arc::new(RwLock::new(0_u64)), Arc::new(Semaphore::new(6)));
        let workers: Vec<_> = (0..6)
            .map(|number| {
                let (lock, semaphore) = (lock.clone(), semaphore.clone());
                runtime.spawn(async move {
                    for round in number..number + rounds {
                        match round % 5 {
                            0 => *lock.write().await += 1,
                            1 => {
                                let reader = lock.clone().read_owned().await;
                                task::spawn(async move { drop(reader) });
                            }
                            2 => {
                                let mut held =
                                    semaphore.clone().acquire_many_owned(3).await.unwrap();
                                let part = held.split(1).unwrap();
                                task::spawn(async move { drop(part) });
                                yield_now().await;
                            }
                            3 => {
                                let reader = lock.write().await.downgrade();
                                yield_now().await;
                                drop(reader);
                            }
                            _ => {
                                let mut left = std::pin::pin!(semaphore.acquire_many(6));
                                pointsman::select! {
                                    _ = &mut left => {}
                                    () = yield_now() => {}
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            let _outside = lock.try_read();
            let dump = runtime.handle().dump();
            assert!(is_healthy(&dump), "{dump}");
        }
        workers.into_iter().for_each(common::wait);
        let writer = loop {
            if let Ok(writer) = lock.clone().try_write_owned() {
                break writer;
            }
        };
        let all = common::wait(runtime.spawn(semaphore.clone().acquire_many_owned(6))).unwrap();
        let waits = runtime.spawn(async move { drop(lock.read().await) });
        let permit = runtime.spawn(async move { drop(semaphore.acquire().await) });
        loop {
            let dump = runtime.handle().dump();
            let waits: Vec<_> = dump.tasks().iter().filter_map(Task::waits_for).collect();
            if waits.len() == 2 {
                let holders = waits.iter().map(|wait| wait.holders().len());
                assert_eq!(holders.collect::<Vec<_>>(), [1, 1], "{dump}");
                break;
            }
        }
        drop((writer, all));
        common::wait(waits);
        common::wait(permit);
    });
}

/// A task waits for permits of which it holds one itself, in a future that is part of `others`. These are polled with the
/// waiting future at first, and then only when they can continue.
fn waits_beside<F>(others: fn(Arc<Semaphore>) -> F) -> Dump
where
    F: Future<Output = ()> + Send + 'static,
{
    dump_of(async move {
        let semaphore = Arc::new(Semaphore::new(2));
        let of_others = semaphore.clone();
        task::spawn(async move {
            let held = semaphore.acquire().await.unwrap();
            let release = async {
                others(of_others).await;
                drop(held);
            };
            let waits = async { drop(semaphore.acquire_many(2).await) };
            // Its end polls the task once more.
            pointsman::join!(release, waits, settle());
        });
        settle().await;
        settle().await;
    })
}

#[test]
fn a_task_that_polls_some_futures_only_when_they_can_continue_is_not_blocked() {
    use pointsman::io::{AsyncReadExt, AsyncWriteExt, duplex};
    must_end(|| {
        let in_combinator = |semaphore: Arc<Semaphore>| async move {
            let both = [sleep(HOUR), sleep(HOUR)].into_iter().map(|sleep| {
                let semaphore = semaphore.clone();
                async move {
                    sleep.await;
                    drop(semaphore);
                }
            });
            let mut both: FuturesUnordered<_> = both.collect();
            both.next().await;
        };
        let dump = waits_beside(in_combinator);
        assert!(is_healthy(&dump), "{dump}");
        let dump = waits_beside(|_| async {
            let mut set = task::JoinSet::new();
            set.spawn(sleep(HOUR));
            set.join_next().await;
        });
        assert!(is_healthy(&dump), "{dump}");
        let dump = waits_beside(|_| async {
            let (mut near, _far) = duplex(1);
            let _ = near.read_u8().await;
        });
        assert!(is_healthy(&dump), "{dump}");
        let dump = waits_beside(|_| async {
            let (mut near, _far) = duplex(1);
            let _ = near.write_all(b"two").await;
        });
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_task_that_also_waits_for_a_local_set_is_not_blocked() {
    must_end(|| {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let outer = task::LocalSet::new();
        outer.block_on(&runtime, async {
            task::spawn_local(async {
                let lock = RwLock::new(());
                let inner = task::LocalSet::new();
                inner.spawn_local(sleep(HOUR));
                let reads = async {
                    let _reader = lock.read().await;
                    inner.await;
                };
                pointsman::join!(reads, async { drop(lock.write().await) });
            });
            settle().await;
            let dump = Handle::current().dump();
            assert_eq!(dump.tasks().len(), 2);
            assert!(is_healthy(&dump), "{dump}");
        });
    });
}

#[test]
fn a_task_whose_combinator_has_ended_can_be_part_of_a_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let lock = RwLock::new(());
            task::spawn(async move {
                let mut done: FuturesUnordered<_> =
                    [yield_now(), yield_now()].into_iter().collect();
                while done.next().await.is_some() {}
                let mut slept: FuturesUnordered<_> =
                    [sleep(Duration::from_millis(1))].into_iter().collect();
                slept.next().await;
                drop((done, slept));
                let _reader = lock.read().await;
                yield_now().await;
                drop(lock.write().await);
            });
            sleep(Duration::from_millis(20)).await;
        });
        assert_eq!(deadlock(&dump), [1]);
    });
}
