//! Signals of the operating system, asynchronously.
//!
//! [`ctrl_c`] is there on every system. `unix` has all signals of Unix, `windows` the events of a console.
//!
//! A listener hears of what comes after it was made. Signals that come faster than they are received are one; after
//! the last of them a listener is always told once more.
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
