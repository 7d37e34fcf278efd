//! `Handle::dump`: the text of staged programs, with ids, addresses and times replaced.
#![cfg(feature = "diagnostics")]

mod common;

use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex as StdMutex, mpsc as std_mpsc};
use std::task::{Poll, Waker};
use std::time::Duration;

use common::must_end;
use common::text::{without_places, without_times};
use pointsman::runtime::dump::{Dump, Problem, Resource, State};
use pointsman::runtime::{Builder, Handle, LocalOptions, Runtime};
use pointsman::sync::{Mutex, Notify, RwLock, Semaphore, mpsc, oneshot};
use pointsman::task::{self, JoinHandle, LocalSet, yield_now};
use pointsman::time::{sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Runs the program on a current-thread runtime until its tasks wait, and returns the dump.
fn dump_of(program: impl Future<Output = ()>) -> Dump {
    let runtime = current_thread();
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

/// Replaces ids by their rank, times by `T`, and positions in this file by `here`.
fn normalized(text: &str, dump: &Dump) -> String {
    let mut text = text.to_owned();
    for (rank, task) in dump.tasks().iter().enumerate() {
        for end in [" ", "\n", ","] {
            text = text.replace(
                &format!("task {}{end}", task.id()),
                &format!("task #{}{end}", rank + 1),
            );
        }
    }
    without_places(&without_times(&text), file!())
}

#[track_caller]
fn assert_text(dump: &Dump, expected: &str) {
    assert_eq!(normalized(&dump.to_string(), dump), expected.trim());
}

fn is_healthy(dump: &Dump) -> bool {
    dump.problems().is_empty()
}

#[test]
fn a_dump_shows_the_tasks_what_they_wait_for_and_which_task_spawned_them() {
    must_end(|| {
        let dump = current_thread().block_on(async {
            let mutex = Arc::new(Mutex::new(()));
            task::spawn(async move {
                let _guard = mutex.lock().await;
                let other = mutex.clone();
                task::spawn(async move { drop(other.lock().await) });
                sleep(HOUR).await;
            });
            settle().await;
            task::spawn(async { unreachable!("it has no turn before the dump") });
            Handle::current().dump()
        });
        assert_text(
            &dump,
            "
3 tasks: 0 running, 1 queued, 2 waiting

task #1 (here), waiting, age T ms, 1 poll
  waits for a timer
  task #2 (here), waiting, age T ms, 1 poll
    waits for a mutex, held by task #1 T ms ago
task #3 (here), queued, age T ms, 0 polls",
        );
        assert!(is_healthy(&dump));
    });
}

/// Locks `first`, and `second` once the other task has locked its first.
async fn lock_both(first: Arc<Mutex<()>>, second: Arc<Mutex<()>>) {
    let _first = first.lock().await;
    yield_now().await;
    let _second = second.lock().await;
}

#[test]
fn a_deadlock_of_two_mutexes_is_named() {
    must_end(|| {
        let dump = dump_of(async {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            task::spawn(lock_both(a.clone(), b.clone()));
            task::spawn(lock_both(b.clone(), a.clone()));
            settle().await;
            // It waits for the deadlock and is no part of it.
            task::spawn(async move { drop(a.lock().await) });
        });
        assert_text(
            &dump,
            "
3 tasks: 0 running, 0 queued, 3 waiting

deadlock: 2 tasks wait for each other
1. task #1 (here)
     waits for a mutex, held by task #2 T ms ago
2. task #2 (here)
     waits for a mutex, held by task #1 T ms ago

task #1 (here), waiting, age T ms, 2 polls
  waits for a mutex, held by task #2 T ms ago
task #2 (here), waiting, age T ms, 2 polls
  waits for a mutex, held by task #1 T ms ago
task #3 (here), waiting, age T ms, 1 poll
  waits for a mutex, held by task #1 T ms ago",
        );
    });
}

#[test]
fn a_deadlock_goes_through_write_locks_semaphores_and_joins() {
    must_end(|| {
        let dump = dump_of(async {
            let (lock, semaphore) = (Arc::new(RwLock::new(())), Arc::new(Semaphore::new(2)));
            let (inner_lock, inner_semaphore) = (lock.clone(), semaphore.clone());
            let joined = task::spawn(async move {
                let _all = inner_semaphore.acquire_many(2).await;
                yield_now().await;
                drop(inner_lock.read().await);
            });
            task::spawn(async move {
                let _writer = lock.write().await;
                let waits = task::spawn(async move { drop(semaphore.acquire().await) });
                drop(waits.await);
            });
            drop(joined);
        });
        let mut members = Vec::new();
        match dump.problems() {
            [Problem::Deadlock(ids)] => {
                for id in ids {
                    let task = dump.tasks().iter().find(|task| task.id() == *id).unwrap();
                    members.push(task.waits_for().unwrap().resource());
                }
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            members,
            [Resource::RwLock, Resource::Join, Resource::Semaphore]
        );
    });
}

#[test]
fn a_task_that_locks_a_mutex_twice_waits_for_itself() {
    must_end(|| {
        let dump = dump_of(async {
            let mutex = Mutex::new(());
            task::spawn(async move {
                let _guard = mutex.lock().await;
                drop(mutex.lock().await);
            });
        });
        assert_text(
            &dump,
            "
1 task: 0 running, 0 queued, 1 waiting

deadlock: a task waits for itself
1. task #1 (here)
     waits for a mutex, held by task #1 T ms ago

task #1 (here), waiting, age T ms, 1 poll
  waits for a mutex, held by task #1 T ms ago",
        );
    });
}

/// The program of RFD 609 of Oxide: a future that is polled by reference in `select!` and then left.
#[test]
fn a_futurelock_is_named() {
    must_end(|| {
        let runtime = current_thread();
        let dump = runtime.block_on(async {
            let mutex = Arc::new(Mutex::new(()));
            let guard = mutex.clone().lock_owned().await;
            let (done, is_done) = oneshot::channel();
            let of_task = mutex.clone();
            task::spawn(async move {
                let mut left = std::pin::pin!(of_task.lock());
                pointsman::select! {
                    _ = &mut left => unreachable!("the mutex is locked"),
                    _ = is_done => {}
                }
                drop(of_task.lock().await);
            });
            settle().await;
            done.send(()).unwrap();
            task::spawn(async move { drop(mutex.lock().await) });
            settle().await;
            drop(guard);
            // A lock that was granted just now is not called unclaimed.
            loop {
                let dump = Handle::current().dump();
                if !is_healthy(&dump) {
                    break dump;
                }
                yield_now().await;
            }
        });
        assert_text(
            &dump,
            "
2 tasks: 0 running, 0 queued, 2 waiting

futurelock: a lock was granted to a future that its task does not poll
1. task #1 (here)
     waits for a mutex, granted to task #1 T ms ago
2. task #2 (here)
     waits for a mutex, granted to task #1 T ms ago

task #1 (here), waiting, age T ms, 3 polls
  waits for a mutex, granted to task #1 T ms ago
task #2 (here), waiting, age T ms, 1 poll
  waits for a mutex, granted to task #1 T ms ago",
        );
    });
}

#[test]
fn a_task_that_nothing_can_wake_is_named() {
    must_end(|| {
        let dump = dump_of(async {
            task::spawn(pending::<()>());
        });
        assert_text(
            &dump,
            "
1 task: 0 running, 0 queued, 1 waiting

lost: a task waits, and nothing can wake it but an abort
1. task #1 (here)

task #1 (here), waiting, age T ms, 1 poll",
        );
    });
}

#[test]
fn each_kind_of_wait_is_named() {
    must_end(|| {
        let runtime = current_thread();
        let waits = runtime.block_on(async {
            let (keep_sender, mut receiver) = mpsc::channel::<u8>(1);
            let (full, keep_receiver) = mpsc::channel(1);
            full.try_send(0).unwrap();
            let (keep_once, once) = oneshot::channel::<u8>();
            let mutex = Arc::new(Mutex::new(()));
            let guard = mutex.clone().lock_owned().await;
            let notify = Arc::new(Notify::new());
            let notified = notify.clone();
            let semaphore = Arc::new(Semaphore::new(0));
            let acquired = semaphore.clone();
            let barrier = Arc::new(pointsman::sync::Barrier::new(2));
            let met = barrier.clone();
            let lock = Arc::new(RwLock::new(()));
            let reader = lock.clone().read_owned().await;
            let (keep_watched, mut watched) = pointsman::sync::watch::channel(0);
            let cell = Arc::new(pointsman::sync::OnceCell::<u8>::new());
            let other = cell.clone();
            let spawned = [
                task::spawn(async move { assert_eq!(receiver.recv().await, None) }),
                task::spawn(async move { full.send(1).await.unwrap() }),
                task::spawn(async move { drop(once.await) }),
                task::spawn(async move { drop(mutex.lock().await) }),
                task::spawn(async move { notified.notified().await }),
                task::spawn(async move { drop(acquired.acquire().await) }),
                task::spawn(async move {
                    met.wait().await;
                }),
                task::spawn(async move { drop(lock.write().await) }),
                task::spawn(async move { drop(watched.changed().await) }),
                task::spawn(async move {
                    cell.get_or_init(pending).await;
                }),
                task::spawn(async move {
                    other.get_or_init(pending).await;
                }),
                task::spawn(async move { drop(timeout(HOUR, notify.notified()).await) }),
                task::spawn(sleep(HOUR)),
            ];
            settle().await;
            let dump = Handle::current().dump();
            drop((
                keep_sender,
                keep_receiver,
                keep_once,
                guard,
                semaphore,
                barrier,
                reader,
            ));
            drop(keep_watched);
            spawned.map(|spawned: JoinHandle<()>| {
                let task = dump.tasks().iter().find(|task| task.id() == spawned.id());
                let wait = task.unwrap().waits_for()?;
                Some((wait.resource(), wait.is_one_of_several()))
            })
        });
        let alone = |resource| Some((resource, false));
        assert_eq!(
            waits,
            [
                alone(Resource::Receive),
                alone(Resource::Send),
                alone(Resource::Receive),
                alone(Resource::Mutex),
                alone(Resource::Notify),
                alone(Resource::Semaphore),
                alone(Resource::Barrier),
                alone(Resource::RwLock),
                alone(Resource::Receive),
                None,
                alone(Resource::OnceCell),
                Some((Resource::Timer, true)),
                alone(Resource::Timer),
            ]
        );
    });
}

#[test]
fn a_wait_with_a_way_out_is_no_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            task::spawn(lock_both(a.clone(), b.clone()));
            task::spawn(async move { drop(timeout(HOUR, lock_both(b, a)).await) });
        });
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_wait_in_a_combinator_with_wakers_of_its_own_is_no_deadlock() {
    must_end(|| {
        let dump = dump_of(async {
            let mutex = Arc::new(Mutex::new(()));
            let (keep, sent) = oneshot::channel::<()>();
            task::spawn(async move {
                let guard = mutex.lock().await;
                let first: std::pin::Pin<Box<dyn Future<Output = ()> + std::marker::Send>> =
                    Box::pin(async { drop(sent.await) });
                let other = mutex.clone();
                let second = Box::pin(async move { drop(other.lock().await) });
                let mut set = futures::stream::FuturesUnordered::new();
                set.push(first);
                set.push(second);
                futures::StreamExt::next(&mut set).await;
                drop(guard);
            });
            settle().await;
            std::mem::forget(keep);
        });
        assert!(is_healthy(&dump), "{dump}");
    });
}

#[test]
fn a_wait_that_has_ended_is_not_shown() {
    must_end(|| {
        let dump = dump_of(async {
            let mutex = Arc::new(Mutex::new(()));
            let guard = mutex.clone().lock_owned().await;
            task::spawn(async move {
                pointsman::select! {
                    biased;
                    _ = mutex.lock() => {}
                    _ = async {} => {}
                }
                // Of no kind that is known.
                let mut waker = None;
                poll_fn(|cx| {
                    waker = Some(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            });
            settle().await;
            drop(guard);
        });
        assert_text(
            &dump,
            "
1 task: 0 running, 0 queued, 1 waiting

task #1 (here), waiting, age T ms, 1 poll",
        );
    });
}

#[test]
fn a_mutex_that_a_thread_or_an_ended_task_holds_says_so() {
    must_end(|| {
        let dump = dump_of(async {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            std::mem::forget(a.clone().lock_owned().await);
            let taken = b.clone();
            let taker = task::spawn(async move { std::mem::forget(taken.lock_owned().await) });
            taker.await.unwrap();
            task::spawn(async move { drop(a.lock().await) });
            task::spawn(async move { drop(b.lock().await) });
        });
        assert_text(
            &dump,
            "
2 tasks: 0 running, 0 queued, 2 waiting

task #1 (here), waiting, age T ms, 1 poll
  waits for a mutex, held by a thread outside of tasks T ms ago
task #2 (here), waiting, age T ms, 1 poll
  waits for a mutex, held by a task that has ended T ms ago",
        );
    });
}

/// The program of Tokio's documentation of `dump`, which awaits it.
#[test]
fn tokios_example_compiles() {
    must_end(|| {
        current_thread().block_on(async {
            task::spawn(sleep(HOUR));
            yield_now().await;
            let handle = Handle::current();
            let dump = handle.dump().await;
            for (i, task) in dump.tasks().iter().enumerate() {
                let trace = task.trace();
                let text = format!("TASK {i} {}:\n{trace}", task.id());
                assert!(text.contains("waits for a timer"), "{text}");
            }
            assert_eq!(dump.tasks().len(), 1);
        });
    });
}

#[test]
fn a_dump_can_be_taken_while_all_workers_are_stuck() {
    must_end(|| {
        let runtime = common::threads(2);
        let (begin, began) = std_mpsc::channel();
        let (release, released) = std_mpsc::channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        let job_began = begin.clone();
        let job_released = released.clone();
        let stuck = move || {
            begin.send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        };
        for _ in 0..2 {
            let stuck = stuck.clone();
            runtime.spawn(async move { stuck() });
        }
        runtime.spawn_blocking(move || {
            job_began.send(()).unwrap();
            let _ = job_released.lock().unwrap().recv();
        });
        (0..3).for_each(|_| began.recv().unwrap());
        runtime.spawn(async {});
        let dump = runtime.handle().dump();
        let states: Vec<_> = dump
            .tasks()
            .iter()
            .map(|task| (task.state(), task.is_blocking()))
            .collect();
        let count = |state| states.iter().filter(|found| **found == state).count();
        assert_eq!(count((State::Running, false)), 2);
        assert_eq!(count((State::Running, true)), 1);
        assert_eq!(count((State::Queued, false)), 1);
        drop(release);
    });
}

#[test]
fn the_location_is_that_of_the_caller() {
    must_end(|| {
        let runtime = current_thread();
        let handle = runtime.handle().clone();
        let mut set = task::JoinSet::new();
        let mut lines = vec![line!() + 1];
        runtime.spawn(pending::<()>());
        lines.push(line!() + 1);
        handle.spawn(pending::<()>());
        lines.push(line!() + 1);
        set.spawn_on(pending::<()>(), &handle);
        runtime.block_on(async {
            lines.push(line!() + 1);
            set.spawn(pending::<()>());
            lines.push(line!() + 1);
            task::spawn(pending::<()>());
            lines.push(line!() + 1);
            set.extend([pending::<()>()]);
        });
        let dump = handle.dump();
        let found: Vec<_> = dump
            .tasks()
            .iter()
            .map(|task| task.location().unwrap())
            .collect();
        assert!(found.iter().all(|location| location.file() == file!()));
        let mut found: Vec<_> = found.iter().map(|location| location.line()).collect();
        found.sort_unstable();
        assert_eq!(found, lines);
    });
}

#[test]
fn dumps_of_busy_runtimes_are_consistent() {
    must_end(|| {
        let runtime = common::threads(2);
        let is_over = Arc::new(AtomicBool::new(false));
        let mutex = Arc::new(Mutex::new(()));
        for _ in 0..4 {
            let (is_over, mutex) = (is_over.clone(), mutex.clone());
            runtime.spawn(async move {
                while !is_over.load(Relaxed) {
                    let inner = mutex.clone();
                    let child = task::spawn(async move { drop(inner.lock().await) });
                    let _guard = mutex.lock().await;
                    yield_now().await;
                    drop(_guard);
                    child.await.unwrap();
                }
            });
        }
        for _ in 0..if cfg!(miri) { 5 } else { 500 } {
            let dump = runtime.handle().dump();
            assert!(is_healthy(&dump), "{dump}");
            assert!((4..=8).contains(&dump.tasks().len()), "{dump}");
            for task in dump.tasks().iter() {
                assert_eq!(task.location().unwrap().file(), file!());
                assert!(task.name().is_none());
            }
            let _ = dump.to_string();
        }
        is_over.store(true, Relaxed);
    });
}

/// A task that wakes itself and the other ones, and spawns another, each time that it is polled.
fn waking(wakers: Arc<StdMutex<Vec<Waker>>>, polls: Arc<AtomicUsize>) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        polls.fetch_add(1, Relaxed);
        let mut wakers = wakers.lock().unwrap();
        wakers.iter().for_each(Waker::wake_by_ref);
        if wakers.len() < 3 {
            wakers.push(cx.waker().clone());
        }
        cx.waker().wake_by_ref();
        task::spawn(async {});
        Poll::Pending
    })
}

/// tokio-rs/tokio#8391: a dump of a current-thread runtime panics if a task wakes itself, or another one, when it is
/// polled. Tokio's dump polls each task.
#[test]
fn a_dump_of_tasks_that_wake_when_polled_polls_none() {
    must_end(|| {
        current_thread().block_on(async {
            let (wakers, polls) = <(Arc<StdMutex<Vec<_>>>, Arc<AtomicUsize>)>::default();
            for _ in 0..3 {
                task::spawn(waking(wakers.clone(), polls.clone()));
            }
            settle().await;
            let before = polls.load(Relaxed);
            let dump = Handle::current().dump();
            assert_eq!(polls.load(Relaxed), before);
            let waking: Vec<_> = dump.tasks().iter().take(3).collect();
            assert!(waking.iter().all(|task| task.state() == State::Queued));
            let counted: u64 = waking.iter().map(|task| u64::from(task.polls())).sum();
            assert_eq!(counted as usize, before);
            settle().await;
            assert!(polls.load(Relaxed) > before);
        });
    });
}

/// restatedev/restate#5235: the dump of a current-thread runtime, taken on SIGUSR2, ends the server.
#[cfg(all(unix, feature = "signal"))]
#[test]
fn a_dump_on_a_signal_leaves_the_server_running() {
    use pointsman::signal::unix::{SignalKind, signal};

    must_end(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (wakers, polls) = <(Arc<StdMutex<Vec<_>>>, Arc<AtomicUsize>)>::default();
            for _ in 0..3 {
                task::spawn(waking(wakers.clone(), polls.clone()));
            }
            let mut signals = signal(SignalKind::user_defined2()).unwrap();
            for _ in 0..3 {
                // SAFETY: `raise` takes no pointer, and the signal has a handler.
                unsafe { libc::raise(libc::SIGUSR2) };
                signals.recv().await.unwrap();
                let dump = task::spawn(async { Handle::current().dump() });
                assert!(dump.await.unwrap().tasks().iter().count() >= 3);
            }
        });
    });
}

/// tokio-rs/tokio#7478: after a dump, only a part of the workers works, or none.
#[test]
fn all_workers_work_after_a_dump() {
    must_end(|| {
        const WORKERS: usize = 4;
        let runtime = common::threads(WORKERS);
        for _ in 0..3 {
            let meet = Arc::new(std::sync::Barrier::new(WORKERS));
            // Each blocks its worker until all four have begun.
            let tasks = [(); WORKERS].map(|()| {
                let meet = meet.clone();
                runtime.spawn(async move { meet.wait().is_leader() })
            });
            let leaders = tasks.map(common::wait);
            assert_eq!(leaders.iter().filter(|is_leader| **is_leader).count(), 1);
            let dump = runtime.block_on(async {
                let dump = async { runtime.handle().dump().await };
                timeout(HOUR, dump).await.unwrap()
            });
            assert!(is_healthy(&dump));
        }
    });
}

/// tokio-rs/tokio#6343: a worker panics after a dump, since a task that was notified during the dump is not any more.
/// The issue has no program: here tasks are woken, aborted and completed while dumps are taken.
#[test]
fn dumps_meet_tasks_that_are_woken_and_aborted() {
    must_end(|| {
        let runtime = common::threads(2);
        let is_over = Arc::new(AtomicBool::new(false));
        let (handle, until) = (runtime.handle().clone(), is_over.clone());
        let dumps = std::thread::spawn(move || {
            while !until.load(Relaxed) {
                for task in handle.dump().tasks().iter() {
                    assert_eq!(task.location().unwrap().file(), file!());
                }
            }
        });
        runtime.block_on(async {
            for round in 0..if cfg!(miri) { 5 } else { 2_000 } {
                let notify = Arc::new(pointsman::sync::Notify::new());
                let notified = notify.clone();
                let task = task::spawn(async move { notified.notified().await });
                notify.notify_one();
                if round % 2 == 0 {
                    task.abort();
                }
                let ended = task.await;
                assert!(ended.is_ok() || ended.unwrap_err().is_cancelled());
            }
        });
        is_over.store(true, Relaxed);
        dumps.join().unwrap();
    });
}

#[test]
fn the_tasks_of_a_local_set_are_in_the_dump() {
    must_end(|| {
        let runtime = current_thread();
        let local = LocalSet::new();
        let (mutex, other) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        local.spawn_local(lock_both(mutex.clone(), other.clone()));
        // No runtime has run it.
        assert_eq!(runtime.handle().dump().tasks().len(), 0);
        let dump = local.block_on(&runtime, async {
            task::spawn_local(lock_both(other, mutex));
            let parent = task::spawn(async { settle().await });
            settle().await;
            parent.await.unwrap();
            let dump = async { Handle::current().dump() };
            task::spawn_local(dump).await.unwrap()
        });
        assert_text(
            &dump,
            "
3 tasks: 1 running, 0 queued, 2 waiting

deadlock: 2 tasks wait for each other
1. task #1 (here)
     waits for a mutex, held by task #2 T ms ago
2. task #2 (here)
     waits for a mutex, held by task #1 T ms ago

task #1 (here), waiting, age T ms, 2 polls
  waits for a mutex, held by task #2 T ms ago
task #2 (here), waiting, age T ms, 2 polls
  waits for a mutex, held by task #1 T ms ago
task #3 (here), running, age T ms, 1 poll",
        );
        // It belongs to the runtime that has run it last.
        let second = current_thread();
        local.block_on(&second, settle());
        assert_eq!(second.handle().dump().tasks().len(), 2);
        assert_eq!(runtime.handle().dump().tasks().len(), 0);
        drop(local);
        assert_eq!(second.handle().dump().tasks().len(), 0);
    });
}

#[test]
fn the_tasks_of_a_set_that_is_never_run_are_in_the_dump() {
    must_end(|| {
        let runtime = current_thread();
        let (_local, dump) = runtime.block_on(async {
            let local = LocalSet::new();
            local.spawn_local(async { unreachable!("nothing runs the set") });
            settle().await;
            (local, Handle::current().dump())
        });
        assert_text(
            &dump,
            "
1 task: 0 running, 1 queued, 0 waiting

task #1 (here), queued, age T ms, 0 polls",
        );
    });
}

#[test]
fn the_tasks_of_a_local_runtime_are_in_the_dump() {
    must_end(|| {
        let runtime = Builder::new_current_thread()
            .build_local(LocalOptions::default())
            .unwrap();
        let number = Rc::new(1);
        let task = runtime.spawn_local(async move {
            pending::<()>().await;
            drop(number)
        });
        runtime.block_on(settle());
        let dump = runtime.handle().dump();
        assert!(matches!(dump.problems(), [Problem::NoWaker(id)] if *id == task.id()));
        let running = runtime.block_on(async {
            let dump = async { Handle::current().dump() };
            task::spawn_local(dump).await.unwrap()
        });
        let states: Vec<_> = running.tasks().iter().map(|task| task.state()).collect();
        assert_eq!(states, [State::Waiting, State::Running]);
    });
}

#[test]
fn dumps_meet_local_sets_that_are_created_run_and_dropped() {
    must_end(|| {
        let runtime = common::threads(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let sets = [(); 2].map(|()| {
            let (handle, is_over) = (runtime.handle().clone(), is_over.clone());
            std::thread::spawn(move || {
                while !is_over.load(Relaxed) {
                    let local = LocalSet::new();
                    let left = local.spawn_local(pending::<()>());
                    handle.block_on(local.run_until(async {
                        let number = Rc::new(1);
                        let task = task::spawn_local(async move {
                            yield_now().await;
                            *number
                        });
                        assert_eq!(task.await.unwrap(), 1);
                    }));
                    drop(local);
                    assert!(left.is_finished());
                }
            })
        });
        for _ in 0..if cfg!(miri) { 10 } else { 3_000 } {
            for task in runtime.handle().dump().tasks().iter() {
                assert_eq!(task.location().unwrap().file(), file!());
                assert!(task.polls() <= 2);
            }
        }
        is_over.store(true, Relaxed);
        for set in sets {
            set.join().unwrap();
        }
    });
}
