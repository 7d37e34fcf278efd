//! `select!`, `join!`, `try_join!` and `pin!`: waiting for several futures within one task.
//!
//! Invariant: the code that a macro emits into another crate names everything through `$crate`, and declares no
//! constant or function that the caller's expressions could see.

mod join;
mod pin;
mod select;
pub mod support;
