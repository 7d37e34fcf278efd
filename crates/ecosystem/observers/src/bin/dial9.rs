//! A runtime that is recorded by dial9. With `--cfg tokio_unstable` its hooks see each task and poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use dial9_core::buffer::DiskBuffer;
use dial9_core::recorder::recorder;
use dial9_tokio_telemetry::block_on;
use dial9_tokio_telemetry::telemetry::{
    Dial9HandleTokioExt, TokioAttachOptions, TokioHooks, spawn,
};
use tokio::runtime::Builder;
use tokio::task::yield_now;

const TASKS: usize = 20;

fn main() {
    let folder = std::env::temp_dir().join(format!("dial9-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("trace.bin");
    let recorder = recorder(DiskBuffer::single_file(&trace).unwrap()).build();
    let (spawns, polls, ends) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    #[allow(unused_mut, reason = "the hooks need the flag")]
    let mut hooks = TokioHooks::default();
    #[cfg(tokio_unstable)]
    {
        let counts = (spawns.clone(), polls.clone(), ends.clone());
        hooks.on_task_spawn(move |task| {
            assert!(task.spawned_at().line() > 0);
            counts.0.fetch_add(1, SeqCst);
        });
        hooks.on_before_task_poll(move |_| {
            counts.1.fetch_add(1, SeqCst);
        });
        hooks.on_task_terminate(move |_| {
            counts.2.fetch_add(1, SeqCst);
        });
    }
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    let options = TokioAttachOptions::builder()
        .runtime_name("main")
        .tokio_hooks(hooks)
        .build();
    let runtime = recorder
        .handle()
        .attach_tokio_runtime(builder, options)
        .unwrap();
    block_on(&runtime, async {
        let spawned: Vec<_> = (0..TASKS).map(|_| spawn(yield_now())).collect();
        for task in spawned {
            task.await.unwrap();
        }
    });
    drop(runtime);
    recorder.graceful_shutdown(Duration::from_secs(5));
    let written: u64 = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(written > 0, "the trace is empty");
    let [spawns, polls, ends] = [spawns, polls, ends].map(|count| count.load(SeqCst));
    if cfg!(tokio_unstable) {
        // Dial9 has tasks of its own.
        assert!(
            spawns >= TASKS && ends >= TASKS,
            "{spawns} spawned, {ends} ended"
        );
        assert!(polls >= 2 * TASKS, "{polls} polls");
    }
    println!("a trace of {written} bytes; {spawns} spawned, {polls} polls, {ends} ended");
}
