//! Tasks with a name, which dumps show.
#![cfg(feature = "diagnostics")]

mod common;

use std::future::pending;

use common::must_end;
use pointsman::runtime::{Builder as RuntimeBuilder, Handle, LocalOptions, Runtime};
use pointsman::task::{Builder, JoinSet, LocalSet};

/// The names of the runtime's tasks and the lines that spawned them, sorted.
fn tasks(handle: &Handle) -> Vec<(Option<String>, u32)> {
    let dump = handle.dump();
    let mut tasks: Vec<_> = dump
        .tasks()
        .iter()
        .map(|task| {
            (
                task.name().map(str::to_owned),
                task.location().unwrap().line(),
            )
        })
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn a_task_has_the_name_and_the_location_of_its_spawn() {
    must_end(|| {
        let runtime = Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        let plain = runtime.spawn(pending::<()>());
        let line = line!() - 1;
        let spawned = Builder::new()
            .name("spawned")
            .spawn_on(pending::<()>(), &handle)
            .unwrap();
        runtime.block_on(async {
            Builder::new()
                .name("current")
                .spawn(pending::<()>())
                .unwrap();
        });
        let found = tasks(&handle);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_deref()).collect();
        assert_eq!(names, [None, Some("current"), Some("spawned")]);
        assert_eq!(found[0].1, line);
        assert!(found[1].1 > found[2].1 && found[2].1 > line);
        spawned.abort();
        plain.abort();
    });
}

#[test]
fn a_blocking_function_has_a_name() {
    must_end(|| {
        let runtime = Runtime::new().unwrap();
        let _entered = runtime.enter();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let job = Builder::new()
            .name("reads")
            .spawn_blocking(move || released.recv())
            .unwrap();
        assert_eq!(tasks(runtime.handle())[0].0.as_deref(), Some("reads"));
        drop(release);
        runtime.block_on(job).unwrap().unwrap_err();
    });
}

#[test]
fn a_blocking_function_is_refused_after_the_shutdown() {
    let runtime = Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let error = Builder::new()
        .spawn_blocking_on(|| {}, &handle)
        .unwrap_err();
    assert_eq!(error.to_string(), "blocking pool shutting down");
}

#[test]
fn a_set_spawns_tasks_with_names() {
    must_end(|| {
        let runtime = Runtime::new().unwrap();
        let mut set = JoinSet::new();
        runtime.block_on(async {
            let task = set.build_task().name("first").spawn(async { 1 }).unwrap();
            set.build_task().spawn_blocking(|| 2).unwrap();
            set.build_task()
                .spawn_on(async { 3 }, runtime.handle())
                .unwrap();
            set.build_task()
                .spawn_blocking_on(|| 4, runtime.handle())
                .unwrap();
            assert!(!task.is_finished() || set.len() == 4);
            let mut outputs = set.join_all().await;
            outputs.sort_unstable();
            assert_eq!(outputs, [1, 2, 3, 4]);
        });
    });
}

#[test]
fn local_tasks_need_not_be_send() {
    use std::rc::Rc;

    let runtime = RuntimeBuilder::new_current_thread()
        .build_local(LocalOptions::default())
        .unwrap();
    let (number, other) = (Rc::new(7), Rc::new(8));
    runtime.block_on(async {
        let task = Builder::new()
            .name("local")
            .spawn_local(async move { *number });
        assert_eq!(task.unwrap().await.unwrap(), 7);
        let local = LocalSet::new();
        let task = Builder::new()
            .spawn_local_on(async move { *other }, &local)
            .unwrap();
        assert_eq!(local.run_until(task).await.unwrap(), 8);
        let mut set = JoinSet::new();
        set.build_task()
            .name("in a set")
            .spawn_local(async { 9 })
            .unwrap();
        set.build_task()
            .spawn_local_on(async { 10 }, &local)
            .unwrap();
        let mut outputs = local.run_until(set.join_all()).await;
        outputs.sort_unstable();
        assert_eq!(outputs, [9, 10]);
    });
}

#[test]
fn the_builder_can_be_used_again() {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    let base = Builder::new();
    let (one, two) = (base.name("one"), base.name("two"));
    assert_eq!(
        format!("{one:?} {two:?}"),
        r#"Builder { name: Some("one") } Builder { name: Some("two") }"#
    );
}

#[test]
#[should_panic(expected = "there is no reactor running")]
fn spawning_outside_of_a_runtime_panics() {
    let _ = Builder::new().spawn(async {});
}
