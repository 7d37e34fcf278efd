//! Tasks: futures that a runtime runs.
//!
//! [`spawn`] starts one, and its [`JoinHandle`] waits for it. [`spawn_blocking`] runs what blocks in a thread
//! for that, [`spawn_local`] what cannot go to another thread in a [`LocalSet`].

mod abort;
mod blocking;
mod body;
pub mod coop;
mod error;
mod home;
mod id;
mod join;
pub mod join_set;
mod local;
#[cfg(all(test, loom))]
mod models;
mod raw;
mod spawn;
mod state;
mod task_local;
#[cfg(all(test, not(loom)))]
mod tests;
mod waker;
#[cfg(test)]
pub(crate) mod workbench;
mod yield_now;

pub use abort::AbortHandle;
pub use blocking::{block_in_place, spawn_blocking};
pub(crate) use blocking::{spawn_blocking_on, try_spawn_blocking_on};
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use error::JoinError;
pub(crate) use home::{Home, Schedule};
pub use id::{Id, id, try_id};
pub use join::JoinHandle;
pub use join_set::JoinSet;
pub use local::{LocalEnterGuard, LocalSet, spawn_local};
pub(crate) use raw::{Entry, Header, RawTask};
pub use spawn::spawn;
pub(crate) use spawn::spawn_on;
#[doc(hidden)]
pub use task_local::LocalPlace;
pub use task_local::{AccessError, LocalKey};
pub use yield_now::yield_now;

/// Futures with a name.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
