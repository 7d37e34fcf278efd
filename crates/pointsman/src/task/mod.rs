//! Tasks: what the runtime runs.

pub mod coop;

/// Stands here until the runtime does.
pub fn spawn() {}
