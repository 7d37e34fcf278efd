//! The local sets of the process, for dumps and stall reports of the runtimes that run them.
//!
//! Invariant: another thread uses the arena of a set only under the lock of its [`Listing`], which is emptied before
//! the arena is closed. It then holds no other lock.
//!
//! Cost: a lock of the process per set, and a store per poll. Nothing without the feature `diagnostics`.

#[cfg(feature = "diagnostics")]
mod implementation {
    use std::collections::BTreeMap;
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
    use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, Weak};

    use super::super::shared::LocalShared;
    use crate::loom::lock;
    use crate::loom::sync::Mutex;
    use crate::runtime::Id;
    use crate::runtime::scheduler::context::with_current;
    use crate::task::arena::{Arena, FoundTasks};
    use crate::task::raw::{Header, RawTask};

    type Sets = BTreeMap<u64, Weak<LocalShared>>;

    /// By id. A mutex of the standard library, also in models: no modelled code depends on it.
    static SETS: StdMutex<Sets> = StdMutex::new(BTreeMap::new());

    fn sets() -> MutexGuard<'static, Sets> {
        SETS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::runtime::task::local_set) struct Listing {
        /// `None` until the set is listed, and once its arena is closed.
        arena: Mutex<Option<NonNull<Arena<Arc<LocalShared>>>>>,
        /// The id of the runtime that ran the set last or, before its first run, in which it was created; 0 if none.
        runtime: AtomicU64,
        /// The task that is polled; null between runs of the set. Only for comparison.
        running: AtomicPtr<Header>,
    }

    impl Listing {
        pub(in crate::runtime::task::local_set) fn new(runtime: Option<Id>) -> Self {
            let runtime = runtime.or_else(|| with_current(|shared| shared.id));
            Self {
                arena: Mutex::new(None),
                runtime: AtomicU64::new(runtime.map_or(0, |id| id.0)),
                running: AtomicPtr::default(),
            }
        }

        pub(in crate::runtime::task::local_set) fn insert(
            set: &Arc<LocalShared>,
            arena: NonNull<Arena<Arc<LocalShared>>>,
        ) {
            *lock(&set.listing.arena) = Some(arena);
            sets().insert(set.id.0, Arc::downgrade(set));
        }

        /// Called before the arena is closed.
        pub(in crate::runtime::task::local_set) fn remove(set: &LocalShared) {
            sets().remove(&set.id.0);
            *lock(&set.listing.arena) = None;
        }

        /// Called before the current runtime runs the set.
        pub(in crate::runtime::task::local_set) fn enter_runtime(&self) {
            if let Some(id) = with_current(|shared| shared.id) {
                self.runtime.store(id.0, Relaxed);
            }
        }

        #[inline]
        pub(in crate::runtime::task::local_set) fn begin_poll(&self, task: RawTask) {
            self.running.store(task.as_ptr().cast_mut(), Relaxed);
        }

        /// Called at the end of a run of the set.
        #[inline]
        pub(in crate::runtime::task::local_set) fn end_polls(&self) {
            self.running.store(std::ptr::null_mut(), Relaxed);
        }

        fn running(&self) -> Option<usize> {
            let task = self.running.load(Relaxed);
            (!task.is_null()).then(|| task.addr())
        }
    }

    /// The sets that this runtime has run last. The caller may drop the last reference to one.
    fn sets_of(runtime: Id) -> Vec<Arc<LocalShared>> {
        let all: Vec<_> = sets().values().filter_map(Weak::upgrade).collect();
        let is_of_runtime = |set: &Arc<LocalShared>| set.listing.runtime.load(Relaxed) == runtime.0;
        all.into_iter().filter(is_of_runtime).collect()
    }

    /// Adds the tasks of the runtime's local sets.
    pub(in crate::runtime) fn find_tasks(runtime: Id, found: &mut FoundTasks) {
        for set in sets_of(runtime) {
            if let Some(arena) = *lock(&set.listing.arena) {
                // SAFETY: `remove` takes the arena out, under this lock, before the arena is closed.
                unsafe { arena.as_ref() }.find(found);
            }
        }
    }

    /// The tasks that the runtime's local sets poll.
    pub(in crate::runtime) fn running_tasks(runtime: Id) -> Vec<usize> {
        let sets = sets_of(runtime);
        sets.iter()
            .filter_map(|set| set.listing.running())
            .collect()
    }

    /// The task that a local set polls on the thread with this number. Of nested sets, the one that was created last.
    pub(in crate::runtime) fn running_task(runtime: Id, thread: usize) -> Option<usize> {
        let sets = sets_of(runtime);
        let of_thread = sets.iter().filter(|set| set.owner == thread);
        of_thread.rev().find_map(|set| set.listing.running())
    }
}

#[cfg(not(feature = "diagnostics"))]
mod implementation {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use super::super::shared::LocalShared;
    use crate::runtime::Id;
    use crate::task::arena::Arena;
    use crate::task::raw::RawTask;

    pub(in crate::runtime::task::local_set) struct Listing;

    impl Listing {
        pub(in crate::runtime::task::local_set) fn new(_: Option<Id>) -> Self {
            Self
        }

        pub(in crate::runtime::task::local_set) fn insert(
            _: &Arc<LocalShared>,
            _: NonNull<Arena<Arc<LocalShared>>>,
        ) {
        }

        pub(in crate::runtime::task::local_set) fn remove(_: &LocalShared) {}

        pub(in crate::runtime::task::local_set) fn enter_runtime(&self) {}

        #[inline]
        pub(in crate::runtime::task::local_set) fn begin_poll(&self, _: RawTask) {}

        #[inline]
        pub(in crate::runtime::task::local_set) fn end_polls(&self) {}
    }
}

pub(super) use implementation::Listing;
#[cfg(feature = "diagnostics")]
pub(in crate::runtime) use implementation::{find_tasks, running_task, running_tasks};
