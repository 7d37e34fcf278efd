//! `select!`, `join!`, `try_join!` and `pin!`: futures that wait together within one task.
//!
//! Invariant: what a macro writes into another crate names everything through `$crate`, and declares no
//! constant or function that the caller's expressions could see.

mod join;
mod pin;
mod select;
pub mod support;
