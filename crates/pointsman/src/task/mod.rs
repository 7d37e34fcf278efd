//! Tasks: futures that a runtime runs.
//!
//! [`spawn`] starts one, and its [`JoinHandle`] waits for it. [`spawn_blocking`] runs what blocks in a thread
//! for that, [`spawn_local`] what cannot go to another thread in a [`LocalSet`].

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
pub(crate) use arena::{Arena, Found, Schedule};
pub(crate) use body::is_large;
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join::JoinHandle;
pub(crate) use raw::{Header, Notified, RawTask};
#[doc(hidden)]
pub use task_local::LocalPlace;
pub use task_local::{AccessError, LocalKey};
pub use yield_now::yield_now;

// The one look upwards, for those who use the crate: what starts tasks needs a runtime, and is made there.
pub use crate::runtime::task::{
    JoinSet, LocalEnterGuard, LocalSet, block_in_place, join_set, spawn, spawn_blocking,
    spawn_local,
};

/// Futures with a name.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
