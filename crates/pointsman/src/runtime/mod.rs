//! The runtime: runs tasks, fires timers, and takes blocking work elsewhere.

mod context;
pub(crate) use context::block_outside;
