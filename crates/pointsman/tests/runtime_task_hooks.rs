//! The builder's functions that are called for each task.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};

use common::must_end;
use pointsman::runtime::{Builder, LocalOptions, TaskMeta};
use pointsman::task::{Id, LocalSet, spawn_local, try_id, yield_now};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Spawn(Id),
    Before(Id),
    After(Id),
    Terminate(Id),
}

use Event::{After, Before, Spawn, Terminate};

/// The events of a runtime in their order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    fn hook(&self, event: fn(Id) -> Event) -> impl Fn(&TaskMeta<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |task| {
            assert_eq!(try_id(), None, "no task runs during a hook");
            log.0.lock().unwrap().push(event(task.id()));
        }
    }

    fn all(&self, mut builder: Builder) -> Builder {
        builder
            .on_task_spawn(self.hook(Spawn))
            .on_before_task_poll(self.hook(Before))
            .on_after_task_poll(self.hook(After))
            .on_task_terminate(self.hook(Terminate));
        builder
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[test]
fn hooks_surround_each_poll_in_order() {
    let log = Log::default();
    let runtime = log.all(Builder::new_current_thread()).build().unwrap();
    let task = runtime.spawn(yield_now());
    let id = task.id();
    runtime.block_on(task).unwrap();
    let polls = [
        Spawn(id),
        Before(id),
        After(id),
        Before(id),
        Terminate(id),
        After(id),
    ];
    assert_eq!(log.take(), polls);
}

#[test]
fn hooks_of_a_multi_thread_runtime_see_every_task_once() {
    must_end(|| {
        let log = Log::default();
        let runtime = log.all(Builder::new_multi_thread()).build().unwrap();
        let ids: Vec<_> = runtime.block_on(async {
            let tasks: Vec<_> = (0..200).map(|_| pointsman::spawn(yield_now())).collect();
            let mut ids = Vec::new();
            for task in tasks {
                ids.push(task.id());
                task.await.unwrap();
            }
            ids
        });
        drop(runtime);
        let events = log.take();
        assert_eq!(events.len(), 6 * ids.len());
        for id in ids {
            let count = |event| events.iter().filter(|each| **each == event).count();
            assert_eq!([count(Spawn(id)), count(Terminate(id))], [1, 1]);
            assert_eq!([count(Before(id)), count(After(id))], [2, 2]);
        }
    });
}

#[test]
fn a_cancelled_task_terminates() {
    let log = Log::default();
    let runtime = log.all(Builder::new_current_thread()).build().unwrap();
    let aborted = runtime.spawn(std::future::pending::<()>());
    let (id, id_of_other) = (
        aborted.id(),
        runtime.spawn(std::future::pending::<()>()).id(),
    );
    aborted.abort();
    assert!(runtime.block_on(aborted).unwrap_err().is_cancelled());
    assert!(log.take().contains(&Terminate(id)));
    drop(runtime);
    assert_eq!(log.take(), [Terminate(id_of_other)]);
}

#[test]
fn a_task_that_is_spawned_after_the_shutdown_is_spawned_and_terminates() {
    let log = Log::default();
    let runtime = log.all(Builder::new_current_thread()).build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let id = handle.spawn(async {}).id();
    assert_eq!(log.take(), [Spawn(id), Terminate(id)]);
}

#[test]
fn a_blocking_function_terminates_and_is_not_spawned_or_polled() {
    let log = Log::default();
    let runtime = log.all(Builder::new_current_thread()).build().unwrap();
    let job = runtime.spawn_blocking(|| {});
    let id = job.id();
    runtime.block_on(job).unwrap();
    assert_eq!(log.take(), [Terminate(id)]);
}

#[test]
fn a_local_runtime_has_hooks_for_its_local_tasks() {
    let log = Log::default();
    let runtime = log
        .all(Builder::new_current_thread())
        .build_local(LocalOptions::default())
        .unwrap();
    let id = runtime.block_on(async {
        let task = spawn_local(async {});
        let id = task.id();
        task.await.unwrap();
        id
    });
    assert_eq!(
        log.take(),
        [Spawn(id), Before(id), Terminate(id), After(id)]
    );
    assert_eq!(runtime.metrics().worker_poll_count(0), 1);
}

#[test]
fn tasks_of_a_local_set_have_no_hooks() {
    let log = Log::default();
    let runtime = log.all(Builder::new_current_thread()).build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async { spawn_local(async {}).await.unwrap() });
    assert_eq!(log.take(), []);
}

#[test]
fn a_hook_may_spawn_tasks() {
    let (ids, spawned) = mpsc::channel();
    let runtime = Builder::new_current_thread()
        .on_task_spawn(move |task| {
            ids.send(task.id()).unwrap();
        })
        .on_task_terminate({
            let is_first = Mutex::new(true);
            move |_| {
                if std::mem::take(&mut *is_first.lock().unwrap()) {
                    pointsman::spawn(async {});
                }
            }
        })
        .build()
        .unwrap();
    runtime.block_on(async {
        pointsman::spawn(async {}).await.unwrap();
        yield_now().await;
    });
    assert_eq!(spawned.try_iter().count(), 2);
}

#[test]
fn a_panic_of_the_spawn_hook_reaches_the_spawner_and_cancels_the_task() {
    let (ends, ended) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .on_task_spawn(|_| panic!("in the hook"))
        .on_task_terminate(move |task| ends.send(task.id()).unwrap())
        .build()
        .unwrap();
    let dropped = Arc::new(());
    let held = Arc::clone(&dropped);
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        runtime.spawn(async move { drop(held) });
    }));
    assert!(spawned.is_err());
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert_eq!(ended.try_iter().count(), 1);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[cfg(feature = "diagnostics")]
#[test]
fn hooks_know_where_a_task_was_spawned() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let hook = || {
        let places = Arc::clone(&places);
        move |task: &TaskMeta<'_>| places.lock().unwrap().push(task.spawned_at())
    };
    let runtime = Builder::new_current_thread()
        .on_task_spawn(hook())
        .on_before_task_poll(hook())
        .on_after_task_poll(hook())
        .on_task_terminate(hook())
        .build()
        .unwrap();
    let (task, line) = (runtime.spawn(async {}), line!());
    runtime.block_on(task).unwrap();
    let places = places.lock().unwrap();
    assert_eq!(places.len(), 4);
    for place in places.iter() {
        assert_eq!((place.file(), place.line()), (file!(), line));
    }
}

#[test]
fn a_panic_of_the_terminate_hook_is_ignored() {
    let runtime = Builder::new_current_thread()
        .on_task_terminate(|_| panic!("in the hook"))
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
}
