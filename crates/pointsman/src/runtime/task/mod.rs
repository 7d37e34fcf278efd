//! What starts tasks: it builds on [`task`](crate::task), which knows no runtime, and is public there.

mod blocking;
pub mod join_set;
mod local_set;
mod spawn;

pub(super) use blocking::spawn_blocking_on;
pub(crate) use blocking::try_spawn_blocking_on;
pub use blocking::{block_in_place, spawn_blocking};
pub use join_set::JoinSet;
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
pub use spawn::spawn;
pub(super) use spawn::spawn_on;
