//! Synchronization between tasks.
