//! A coarse clock of the process, which costs one load to read. The age of a task is measured with it.
//!
//! Workers set it at the end of each quantum and when they wake up, since they read the time there anyway. So
//! it lags by the length of the running polls, up to the period of the stall monitor, which also sets it. It
//! stops while all runtimes are idle: [`refresh`] is called before a thread that is not a worker spawns
//! a task in an idle runtime.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The unit of the clock, in milliseconds. With 32 bits, the clock wraps around after two years.
const TICK_MS: u64 = 16;

static NOW: AtomicU32 = AtomicU32::new(0);
static START: OnceLock<Instant> = OnceLock::new();

/// The time of the last [`refresh`].
#[inline]
pub(crate) fn now() -> u32 {
    NOW.load(Relaxed)
}

/// Sets the clock to `now`. Returns the time until it has to be set next.
#[cold]
pub(crate) fn refresh(now: Instant) -> Duration {
    let start = *START.get_or_init(|| now);
    let elapsed = now.saturating_duration_since(start);
    let ticks = (elapsed.as_millis() as u64 / TICK_MS) as u32;
    // Stored only if it changes, so that the workers share the cache line.
    if NOW.load(Relaxed) != ticks {
        NOW.store(ticks, Relaxed);
    }
    let into_tick = elapsed.as_nanos() as u64 % (TICK_MS * 1_000_000);
    Duration::from_nanos(TICK_MS * 1_000_000 - into_tick)
}

/// The time from `then` to the last refresh.
pub(crate) fn since(then: u32) -> Duration {
    let ticks = now().wrapping_sub(then);
    // Threads set the clock without a lock, so `then` may be a little ahead.
    match ticks > u32::MAX / 2 {
        true => Duration::ZERO,
        false => Duration::from_millis(u64::from(ticks) * TICK_MS),
    }
}
