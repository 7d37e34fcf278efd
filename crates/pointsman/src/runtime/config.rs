//! The configuration of a runtime, as its [`Builder`](super::Builder) leaves it.

use std::sync::Arc;
use std::time::Duration;

use super::histogram::HistogramOptions;
use super::hooks::{TaskHooks, UnhandledPanic};
use super::random::RngSeed;
#[cfg(feature = "diagnostics")]
use super::stall::StallConfig;

/// A hook that a runtime's threads call.
pub(super) type Callback = Arc<dyn Fn() + Send + Sync>;

/// How a runtime of [`explore`](crate::test_util::explore) differs from others. It also panics when no task can run any
/// more.
#[cfg(feature = "test-util")]
#[derive(Clone, Copy)]
pub(super) struct Exploration {
    /// Whether tasks run in an order that depends on the seed.
    pub(super) changes_order: bool,
}

#[derive(Clone)]
pub(super) struct Config {
    /// 0 for a current-thread runtime.
    pub(super) worker_threads: usize,
    pub(super) max_blocking_threads: usize,
    pub(super) thread_keep_alive: Duration,
    pub(super) thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    pub(super) thread_stack_size: Option<usize>,
    pub(super) name: Option<Arc<str>>,
    /// Whether a [`LocalRuntime`](super::LocalRuntime) owns the runtime.
    pub(super) is_local: bool,
    pub(super) event_interval: u32,
    pub(super) rng_seed: Option<RngSeed>,
    #[cfg(feature = "diagnostics")]
    pub(super) stall: StallConfig,
    #[cfg(all(unix, feature = "diagnostics", feature = "signal"))]
    pub(super) dump_signal: Option<std::ffi::c_int>,
    #[cfg(feature = "test-util")]
    pub(super) exploration: Option<Exploration>,
    pub(super) on_thread_start: Option<Callback>,
    pub(super) on_thread_stop: Option<Callback>,
    pub(super) on_thread_park: Option<Callback>,
    pub(super) on_thread_unpark: Option<Callback>,
    pub(super) poll_times: HistogramOptions,
    pub(super) task_hooks: TaskHooks,
    pub(super) unhandled_panic: UnhandledPanic,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            worker_threads: 0,
            max_blocking_threads: 512,
            thread_keep_alive: Duration::from_secs(10),
            thread_name: Arc::new(|| "pointsman-rt".into()),
            thread_stack_size: None,
            name: None,
            is_local: false,
            event_interval: 61,
            rng_seed: None,
            #[cfg(feature = "diagnostics")]
            stall: StallConfig::default(),
            #[cfg(all(unix, feature = "diagnostics", feature = "signal"))]
            dump_signal: None,
            #[cfg(feature = "test-util")]
            exploration: None,
            on_thread_start: None,
            on_thread_stop: None,
            on_thread_park: None,
            on_thread_unpark: None,
            poll_times: HistogramOptions::default(),
            task_hooks: TaskHooks::default(),
            unhandled_panic: UnhandledPanic::default(),
        }
    }
}

#[cfg(all(test, loom))]
impl Config {
    pub(super) fn for_model(
        worker_threads: usize,
        max_blocking_threads: usize,
        thread_keep_alive: Duration,
    ) -> Self {
        Self {
            worker_threads,
            max_blocking_threads,
            thread_keep_alive,
            event_interval: 2,
            ..Self::default()
        }
    }
}
