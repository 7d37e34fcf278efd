#![doc = include_str!("../README.md")]

pub use pointsman::*;
// In place of those of `pointsman`: what they write finds the runtime in this crate.
pub use pointsman_macros::{tokio_main as main, tokio_test as test};
