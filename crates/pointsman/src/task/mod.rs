//! Asynchronous tasks: futures that a runtime polls to completion.
//!
//! [`spawn`] starts a task and returns a [`JoinHandle`], a future of its output. [`spawn_blocking`] runs a
//! blocking function on a thread pool. [`spawn_local`] starts a task that stays on the thread of its
//! [`LocalSet`].

mod abort;
mod arena;
mod body;
pub mod coop;
mod current;
mod error;
mod id;
mod join;
#[cfg(all(test, loom))]
mod loom_tests;
mod raw;
mod slab;
mod state;
mod task_local;
#[cfg(test)]
pub(crate) mod test_util;
#[cfg(all(test, not(loom)))]
mod tests;
mod waker;
mod yield_now;

pub use abort::AbortHandle;
pub(crate) use arena::{Arena, FoundTasks, Schedule};
pub(crate) use body::is_large;
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join::JoinHandle;
pub(crate) use raw::{Header, Notified, RawTask};
#[doc(hidden)]
pub use task_local::LocalCell;
pub use task_local::{AccessError, LocalKey};
pub use yield_now::yield_now;

// The only import from a higher layer: the functions that start tasks need a runtime and are defined there.
pub use crate::runtime::task::{
    JoinSet, LocalEnterGuard, LocalSet, block_in_place, join_set, spawn, spawn_blocking,
    spawn_local,
};

/// Named future types.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
