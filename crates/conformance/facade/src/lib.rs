//! Tokio's names for what Tokio's tests use: all of `pointsman`.
//!
//! Of Tokio itself there is only what `pointsman` does not have, input and output, so that files in which
//! some tests need it can be compiled.

pub use pointsman::*;
pub use tokio::{fs, io, net, process, signal};

/// The runtime, and what is asked of errors of input and output.
pub mod runtime {
    pub use pointsman::runtime::*;
    pub use tokio::runtime::is_rt_shutdown_err;
}
