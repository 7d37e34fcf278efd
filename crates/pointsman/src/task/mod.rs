//! Asynchronous tasks: futures that a runtime polls to completion.
//!
//! [`spawn`] starts a task and returns a [`JoinHandle`], a future of its output. [`spawn_blocking`] runs a
//! blocking function on a thread pool. [`spawn_local`] starts a task that stays on the thread of its
//! [`LocalSet`].

pub(crate) mod abort;
pub(crate) mod activity;
pub(crate) mod arena;
pub(crate) mod body;
pub(crate) mod clock;
pub mod coop;
mod current;
pub(crate) mod error;
pub(crate) mod id;
pub(crate) mod inspect;
pub(crate) mod join;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod origin;
pub(crate) mod raw;
mod slab;
pub(crate) mod span;
mod state;
mod task_local;
#[cfg(test)]
pub(crate) mod test_util;
#[cfg(all(test, not(loom)))]
mod tests;
pub(crate) mod waker;
mod yield_now;

pub use abort::AbortHandle;
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join::JoinHandle;
#[doc(hidden)]
pub use task_local::LocalCell;
pub use task_local::{AccessError, LocalKey};
pub use yield_now::yield_now;

// This file is the public index of the module. The runtime builds on the files of `task`, so code of this crate imports
// from those files and not from here, which would be a cycle.
pub use crate::runtime::task::blocking::{block_in_place, spawn_blocking};
pub use crate::runtime::task::builder::Builder;
pub use crate::runtime::task::join_set::{self, JoinSet};
pub use crate::runtime::task::local_set::LocalSet;
pub use crate::runtime::task::local_set::shared::{LocalEnterGuard, spawn_local};
pub use crate::runtime::task::spawn::spawn;

/// Named future types.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
