//! Sleeping, timeouts and intervals.
//!
//! [`sleep()`] waits, [`timeout()`] limits the duration of a future, [`interval()`] ticks. All need a runtime with time
//! enabled. Durations have a resolution of one millisecond and are counted from the call, not from the first poll. No
//! timer fires early.
//!
//! Tests can [`pause`] the clock: hours then pass in no time, and always in the same order.
//!
//! ```
//! # #[pointsman::main(flavor = "current_thread")] async fn main() {
//! use pointsman::time::{self, Duration};
//!
//! let answer = time::timeout(Duration::from_secs(1), async {
//!     time::sleep(Duration::from_millis(1)).await;
//!     42
//! });
//! assert_eq!(answer.await, Ok(42));
//! # }
//! ```

mod clock;
mod driver;
pub mod error;
mod instant;
mod interval;
mod sleep;
mod span;
mod timeout;

pub(crate) use clock::CANNOT_PAUSE;
pub use clock::{advance, pause, resume};
pub(crate) use driver::{Driver, Waiter, set_current};
pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
pub use timeout::{Timeout, timeout, timeout_at};
