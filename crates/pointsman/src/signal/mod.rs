//! Asynchronous signal handling.
//!
//! [`ctrl_c`] works on all platforms. `unix` has all signals of Unix, `windows` the events of a Windows console.
//!
//! A listener is notified of signals that arrive after its creation. Signals that arrive faster than they are received
//! coalesce; the last one is always reported.
//!
//! ```
//! # #[cfg(unix)]
//! # #[pointsman::main]
//! # async fn main() -> std::io::Result<()> {
//! use pointsman::signal::unix::{SignalKind, signal};
//!
//! let mut hangup = signal(SignalKind::hangup())?;
//! // SAFETY: it sends a signal to this process, which has a handler for it.
//! unsafe { libc::raise(libc::SIGHUP) };
//! hangup.recv().await;
//! println!("the configuration is read anew");
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

pub(crate) mod listener;
#[cfg(unix)]
pub(crate) mod registry;

#[cfg(feature = "signal")]
mod ctrl_c;
#[cfg(all(unix, feature = "signal"))]
pub mod unix;
#[cfg(all(windows, feature = "signal"))]
pub mod windows;

#[cfg(feature = "signal")]
pub use ctrl_c::ctrl_c;
