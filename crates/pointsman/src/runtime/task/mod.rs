//! Functions and sets that start tasks. They build on [`task`](crate::task), which knows no runtime and re-exports them.

pub(crate) mod blocking;
pub(crate) mod builder;
pub mod join_set;
pub(crate) mod local_set;
pub(crate) mod spawn;
