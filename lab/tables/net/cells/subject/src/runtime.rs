//! The measured runtime, built as its documentation says.

use std::thread;

use protocol::{BLOCK_EVERY, Blocks};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::interval;

/// All tasks run on its workers: the thread that made it waits outside.
pub(crate) struct Runtime(Handle);

impl Runtime {
    /// With a worker for each core, or on one thread.
    pub(crate) fn new(workers: &str) -> Self {
        let mut builder = match workers {
            "cores" => Builder::new_multi_thread(),
            "one" => Builder::new_current_thread(),
            _ => panic!("expected cores or one, got {workers}"),
        };
        if workers == "cores" {
            builder.worker_threads(thread::available_parallelism().map_or(1, usize::from));
        }
        let runtime = builder.enable_all().build().expect("a runtime");
        let handle = runtime.handle().clone();
        if workers == "one" {
            thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        } else {
            // It lives until the process ends.
            std::mem::forget(runtime);
        }
        Self(handle)
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    /// Blocks until a task has ended. Returns its result.
    pub(crate) fn wait_for<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (sender, receiver) = oneshot::channel();
        self.spawn(async move {
            let _ = sender.send(task.await);
        });
        receiver.blocking_recv().expect("a task that ends well")
    }
}

/// A late block is made up for, so every subject is blocked equally often.
pub(crate) async fn block_now_and_then(blocks: Blocks) {
    let mut interval = interval(BLOCK_EVERY);
    loop {
        interval.tick().await;
        blocks.block();
    }
}
