//! Calls the functions and measures the polls that the options of the builder ask for.
//!
//! Cost without these options: a load of one byte per spawn, per quantum and per end of a task. The byte also has the
//! bit of the shutdown.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::super::config::Config;
use super::super::hooks::{TaskHook, TaskMeta, UnhandledPanic};
use super::{Shared, Slot, context};
use crate::task::join::JoinHandle;
use crate::task::raw::{Notified, RawTask};
use std::sync::atomic::Ordering::SeqCst;

/// Bits of [`Shared::flags`].
pub(super) const IS_SHUT_DOWN: u8 = 1;
const HAS_SPAWN_HOOK: u8 = 2;
const HAS_TERMINATE_HOOK: u8 = 4;
const OBSERVES_POLLS: u8 = 16;
/// A task has panicked, and the runtime shuts down because of that.
const HAS_PANICKED: u8 = 8;

/// The flags of a new runtime.
pub(super) fn flags(config: &Config) -> u8 {
    let bit = |hook: &Option<TaskHook>, bit| if hook.is_some() { bit } else { 0 };
    let hooks = &config.task_hooks;
    bit(&hooks.spawn, HAS_SPAWN_HOOK)
        | bit(&hooks.terminate, HAS_TERMINATE_HOOK)
        | bit(&hooks.before_poll, OBSERVES_POLLS)
        | bit(&hooks.after_poll, OBSERVES_POLLS)
        | if config.poll_times.is_enabled {
            OBSERVES_POLLS
        } else {
            0
        }
}

fn call(hook: Option<&TaskHook>, meta: &TaskMeta<'_>) {
    if let Some(hook) = hook {
        let _in_hook = context::enter_hook();
        hook(meta);
    }
}

impl Shared {
    // --- polls ---

    /// Whether the polls of the runtime's tasks go through [`observe_poll`](Self::observe_poll).
    #[inline]
    pub(in crate::runtime) fn observes_polls(&self) -> bool {
        self.flags() & OBSERVES_POLLS != 0
    }

    /// Polls a task with `run`, on the thread that holds the slot.
    pub(in crate::runtime) fn observe_poll(
        &self,
        slot: &Slot,
        entry: Notified,
        run: impl FnOnce(Notified) -> Option<Notified>,
    ) -> Option<Notified> {
        let hooks = &self.config.task_hooks;
        let meta = TaskMeta::new(entry.task);
        call(hooks.before_poll.as_ref(), &meta);
        let began = slot
            .poll_times
            .as_ref()
            .map(|times| (times, Instant::now()));
        let again = run(entry);
        // If the slot was lost, another thread adds to the histogram.
        if let Some((times, began)) = began.filter(|_| context::holds(slot)) {
            times.add(began.elapsed());
        }
        call(hooks.after_poll.as_ref(), &meta);
        again
    }

    /// Polls a task of a [`LocalRuntime`](super::super::LocalRuntime) on the thread that holds the slot.
    pub(in crate::runtime) fn poll_local(&self, slot: &Slot, entry: Notified) -> Option<Notified> {
        slot.begin_poll(entry.task);
        match self.observes_polls() {
            true => self.observe_poll(slot, entry, Notified::run),
            false => entry.run(),
        }
    }

    // --- spawning ---

    /// Calls the builder's function for a new task, which is in no queue. If the function panics, cancels the task.
    ///
    /// The function may leave the current runtime. The result keeps this one alive, for callers that use it afterwards.
    #[inline]
    #[must_use]
    pub(in crate::runtime) fn call_spawn_hook(&self, task: RawTask) -> Option<Arc<Self>> {
        if self.flags() & HAS_SPAWN_HOOK == 0 {
            return None;
        }
        let alive = self.this.upgrade();
        self.call_spawn_hook_cold(task);
        alive
    }

    #[cold]
    fn call_spawn_hook_cold(&self, task: RawTask) {
        let meta = TaskMeta::new(task);
        let called = AssertUnwindSafe(|| call(self.config.task_hooks.spawn.as_ref(), &meta));
        let Err(panic) = catch_unwind(called) else {
            return;
        };
        // SAFETY: the task is new, and is in no queue.
        unsafe { task.begin(true) };
        // SAFETY: the caller does not return, so that this is the task's only `JoinHandle`. It is dropped without
        // taking the output, whose type does not matter then.
        drop(unsafe { JoinHandle::<()>::new(task) });
        resume_unwind(panic);
    }

    // --- the end of a task ---

    #[inline]
    pub(in crate::runtime) fn call_terminate_hook(&self, task: RawTask) {
        if self.flags() & HAS_TERMINATE_HOOK != 0 {
            self.call_terminate_hook_cold(task);
        }
    }

    #[cold]
    fn call_terminate_hook_cold(&self, task: RawTask) {
        let meta = TaskMeta::new(task);
        let called = AssertUnwindSafe(|| call(self.config.task_hooks.terminate.as_ref(), &meta));
        // The task ends in any case.
        let _ = catch_unwind(called);
    }

    /// Called when a poll has panicked.
    #[cold]
    pub(in crate::runtime) fn task_panicked(&self) {
        if matches!(self.config.unhandled_panic, UnhandledPanic::Ignore) {
            return;
        }
        // ORDERING: as in `begin_shutdown`, which follows.
        self.flags.fetch_or(HAS_PANICKED, SeqCst);
        self.begin_shutdown();
        self.end_tasks();
        self.only_slot.unpark_all();
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.flags() & HAS_PANICKED != 0
    }

    /// # Panics
    /// If the runtime has shut down because a task panicked.
    #[track_caller]
    pub(super) fn fail_if_panicked(&self) {
        assert!(
            !self.has_panicked(),
            "a spawned task panicked and the runtime is configured to shut down on unhandled panic"
        );
    }
}
