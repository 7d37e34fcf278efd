//! The timers of one runtime, and the clock that they go by.
//!
//! Time is counted in ticks of a millisecond since the driver was made. A deadline is rounded up to a
//! tick, the clock is rounded down, so that no timer fires early.
//!
//! The timers are in several shards, each with a wheel and a lock, so that threads that register and cancel do not
//! wait for each other. A runtime of one thread has one shard: there timers fire in the order of their deadlines.
//! With several that holds for those of each shard.
//!
//! Invariant: `next` is not later than the tick of any timer. It becomes earlier under the lock of the shard where
//! that timer is put in, and whoever makes it so tells who waits; it becomes later under all locks. So who goes to
//! sleep by it is told of every timer that is earlier.
//!
//! Nothing that is not the driver's own runs under a lock, nor while a timer's owner is in here: wakers are cloned before, and what is
//! to be done with them after is given back as [`Then`].
//!
//! Cost: one lock to register, to cancel, and for each batch that fires, and then all, to find the next; none if
//! nothing is due.

use std::array;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use crate::loom::lock;
use crate::loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::wake_batch::WakeBatch;

use super::Instant;
use super::clock::{self, Clock};

mod current;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
mod timer;
mod wheel;

pub(crate) use current::set_current;
pub(super) use current::{Missing, current, current_id, tell, with_driver};
use timer::End;
pub(crate) use timer::{State, Timer};
use wheel::{LAST_TICK, Wheel};

/// There is no timer.
const NEVER: u64 = u64::MAX;

/// Each has a wheel of 8 KiB, and all are locked when timers have fired.
const MOST_SHARDS: usize = 16;

const NANOSECONDS_PER_TICK: u32 = 1_000_000;

/// Who waits for the next timer of a driver.
pub(crate) trait Waiter: Send + Sync {
    /// The next timer is earlier than all were: who sleeps longer is to look again.
    fn timer_is_earlier(&self);
}

/// What a timer's owner has to do when it holds nothing of the driver any more.
#[must_use]
#[derive(Debug)]
pub(super) enum Then {
    Nothing,
    Drop(Waker),
    Wake(Waker),
    /// The timer is the next of all now: who waits for that has to be told, by [`tell`].
    Tell,
}

pub(crate) struct Driver {
    /// No other driver of the process has or had it.
    id: u64,
    waiter: Weak<dyn Waiter>,
    clock: Clock,
    start: Instant,
    /// A power of two.
    shards: Box<[Shard]>,
    /// When there may be something to do, or [`NEVER`].
    next: AtomicU64,
    /// Set before all shards are emptied. No timer is put into a wheel after that.
    is_closed: AtomicBool,
}

/// Apart from others by two cache lines, as processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Wheel>);

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Wheel> {
        lock(&self.0)
    }
}

impl Driver {
    /// For a runtime of one thread, whose clock can be paused.
    pub(crate) fn new(start_paused: bool, waiter: Weak<dyn Waiter>) -> Arc<Self> {
        Self::with_clock(Clock::pausable(start_paused), 1, waiter)
    }

    /// For a runtime of several threads, whose clock cannot be paused.
    pub(crate) fn unpausable(threads: usize, waiter: Weak<dyn Waiter>) -> Arc<Self> {
        let shards = threads.next_power_of_two().min(MOST_SHARDS);
        Self::with_clock(Clock::real(), shards, waiter)
    }

    fn with_clock(clock: Clock, shards: usize, waiter: Weak<dyn Waiter>) -> Arc<Self> {
        let driver = Arc::new(Self {
            id: current::next_id(),
            waiter,
            start: clock.now(),
            clock,
            next: AtomicU64::new(NEVER),
            is_closed: AtomicBool::new(false),
            shards: (0..shards)
                .map(|_| Shard(Mutex::new(Wheel::new())))
                .collect(),
        });
        current::add(&driver);
        driver
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The first tick that is not before the deadline.
    fn tick_of(&self, deadline: Instant) -> u64 {
        ticks(deadline - self.start, NANOSECONDS_PER_TICK - 1)
    }

    fn last_tick_at(&self, instant: Instant) -> u64 {
        ticks(instant - self.start, 0)
    }

    /// The last tick that is not after the clock's time.
    fn now(&self) -> u64 {
        self.last_tick_at(self.clock.now())
    }

    /// Where a waiting timer is. For its owner.
    fn shard_of(&self, timer: &Timer) -> &Shard {
        &self.shards[timer.shard()]
    }

    /// Finds out which timer is the next of all, after some have gone.
    fn update_next(&self) -> u64 {
        // In the same order by all.
        let wheels: [_; MOST_SHARDS] =
            array::from_fn(|index| self.shards.get(index).map(Shard::lock));
        let next = wheels
            .iter()
            .flatten()
            .filter_map(|wheel| wheel.next())
            .min();
        let next = next.unwrap_or(NEVER);
        self.next.store(next, Ordering::Relaxed);
        next
    }

    /// How long it is, in real time, until a timer may be due. `None` if there is none, or if the clock is
    /// paused.
    pub(crate) fn until_next(&self) -> Option<Duration> {
        // The one that waits looks again after each timer that is earlier.
        let next = self.next.load(Ordering::Relaxed);
        if next == NEVER || self.clock.is_paused() {
            return None;
        }
        Some((self.start + Duration::from_millis(next)) - self.clock.now())
    }

    /// Whether [`fire`](Self::fire) would find something to do. Reads the clock only if there is a timer.
    #[inline]
    pub(crate) fn next_is_due(&self) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        next != NEVER && next <= self.now()
    }

    /// Fires all timers that are due. Several threads may do so at once.
    pub(crate) fn fire(&self) {
        let next = self.next.load(Ordering::Relaxed);
        if next == NEVER {
            return;
        }
        let now = self.now();
        if next <= now {
            self.fire_until(now);
        }
    }

    /// A panic of a waker, which has been reported by then, ends here: the thread has other timers to fire, and it
    /// is none of theirs.
    fn fire_until(&self, tick: u64) {
        self.empty(|wheel| {
            while let Some(timer) = wheel.pop(tick) {
                // SAFETY: a timer in the wheel is live. It is out of it now, under the lock, and is left
                // alone if it has ended.
                match unsafe { timer.as_ref().end_if_due(wheel.now()) } {
                    Ok(waker) => return Some(waker),
                    // SAFETY: it lives, as it has not ended, and its tick is later than now.
                    Err(later) => unsafe { wheel.insert(timer, later) },
                }
            }
            None
        });
    }

    /// Wakes all that `take` takes out of the wheels.
    fn empty(&self, take: impl Fn(&mut Wheel) -> Option<Waker>) {
        let mut batch = WakeBatch::new();
        for shard in &self.shards {
            let mut is_over = false;
            while !is_over {
                let mut wheel = shard.lock();
                while batch.has_room() && !is_over {
                    match take(&mut wheel) {
                        Some(waker) => batch.push(waker),
                        None => is_over = true,
                    }
                }
                drop(wheel);
                if !is_over {
                    batch.wake_all();
                }
            }
        }
        self.update_next();
        batch.wake_all();
    }

    /// Whether the clock stands still.
    pub(crate) fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// If the clock is paused, moves it to the next timer, if there is any, and fires what is due then. For
    /// a runtime that has nothing to do. Whether there was one: what it has woken is to be run, or else
    /// this is to be called again.
    pub(crate) fn auto_advance(&self) -> bool {
        if !self.clock.is_paused() {
            return false;
        }
        // Of one that was cancelled, the clock must not show the time.
        let next = self.update_next();
        if next == NEVER {
            return false;
        }
        let step = Duration::from_millis(next.saturating_sub(self.now()));
        // It fails only if another thread has started the clock meanwhile.
        if self.clock.advance(step).is_err() {
            return false;
        }
        self.fire();
        true
    }

    /// Wakes all that wait, as above. Whoever is polled after that sees [`State::Closed`].
    pub(crate) fn shutdown(&self) {
        // Whoever has a shard's lock later sees it.
        self.is_closed.store(true, Ordering::Relaxed);
        self.empty(|wheel| {
            wheel
                .pop_any()
                // SAFETY: a timer in the wheel is live; it is out of it now, under the lock, and is left alone from
                // here on.
                .map(|timer| unsafe { timer.as_ref().close() })
        });
    }

    /// Lets an idle timer wait for a deadline. It has ended at once if the deadline has come or the driver has
    /// shut down. `made` is when the sleep was made, if the clock was read for that, which is not read again: a
    /// timer that is due since then waits, and fires next.
    pub(super) fn register(
        &self,
        timer: Pin<&Timer>,
        deadline: Instant,
        made: Option<Instant>,
        waker: Waker,
    ) -> Then {
        let now = match made {
            // A clock that is held may have been moved since.
            Some(made) if clock::all_are_real() => self.last_tick_at(made),
            _ => self.now(),
        };
        timer.set_shard(current::thread_sequence() & (self.shards.len() - 1));
        self.register_tick(timer, self.tick_of(deadline), now, waker)
    }

    fn register_tick(&self, timer: Pin<&Timer>, tick: u64, now: u64, waker: Waker) -> Then {
        let mut wheel = self.shard_of(&timer).lock();
        if self.is_closed.load(Ordering::Relaxed) {
            timer.end_at_once(End::Closed);
            return Then::Drop(waker);
        }
        if tick <= now.max(wheel.now()) {
            timer.end_at_once(End::Fired);
            return Then::Drop(waker);
        }
        wheel.skip_to(now);
        // SAFETY: the timer is idle and pinned, and leaves the wheel before it is dropped; its tick is later than
        // the wheel's.
        unsafe { self.insert(&mut wheel, timer, tick, waker) }
    }

    /// # Safety
    /// The caller is the owner of the timer, which is idle and leaves the wheel before it is dropped. The tick is
    /// later than the wheel's.
    unsafe fn insert(
        &self,
        wheel: &mut Wheel,
        timer: Pin<&Timer>,
        tick: u64,
        waker: Waker,
    ) -> Then {
        // SAFETY: as the caller says.
        unsafe {
            timer.begin(tick, waker);
            wheel.insert(NonNull::from(timer.get_ref()), tick);
        }
        // Most are not the next, and write nothing that others read.
        let is_next = tick < self.next.load(Ordering::Relaxed)
            && tick < self.next.fetch_min(tick, Ordering::Relaxed);
        match is_next {
            true => Then::Tell,
            false => Then::Nothing,
        }
    }

    /// Tells who waits for the next timer that there is an earlier one. Without the lock.
    fn tell(&self) {
        if let Some(waiter) = self.waiter.upgrade() {
            waiter.timer_is_earlier();
        }
    }

    /// Moves a waiting timer to another deadline, and keeps its waker, which is to be woken if that deadline has
    /// come. One that has ended meanwhile becomes idle: whoever ended it wakes the task.
    pub(super) fn move_to(&self, timer: Pin<&Timer>, deadline: Instant) -> Then {
        let tick = self.tick_of(deadline);
        if timer.put_off(tick) {
            return Then::Nothing;
        }
        self.move_to_tick(timer, tick, self.now())
    }

    fn move_to_tick(&self, timer: Pin<&Timer>, tick: u64, now: u64) -> Then {
        let mut wheel = self.shard_of(&timer).lock();
        if timer.state() != State::Waiting {
            timer.rewind();
            return Then::Nothing;
        }
        // SAFETY: it waits, so it is in the wheel; then it is out of it, and the caller is its owner.
        let waker = unsafe {
            wheel.remove(NonNull::from(timer.get_ref()));
            timer.give_up()
        };
        if tick <= now.max(wheel.now()) {
            timer.end_at_once(End::Fired);
            return Then::Wake(waker);
        }
        // SAFETY: it is idle and pinned, leaves the wheel before it is dropped, and its tick is later than the
        // wheel's.
        unsafe { self.insert(&mut wheel, timer, tick, waker) }
    }

    /// Changes whom a waiting timer wakes. Does nothing if it has ended meanwhile.
    pub(super) fn replace_waker(&self, timer: Pin<&Timer>, waker: Waker) -> Then {
        let _wheel = self.shard_of(&timer).lock();
        Then::Drop(if timer.state() == State::Waiting {
            // SAFETY: it waits, the lock is held, and the caller is its owner.
            unsafe { timer.replace_waker(waker) }
        } else {
            waker
        })
    }

    /// Takes a timer out of the wheel if it is still in it.
    ///
    /// `next` stays: timeouts that come and go, each later than the one before, would otherwise tell who
    /// waits for the next timer each time. It looks once for nothing.
    pub(super) fn cancel(&self, timer: Pin<&Timer>) -> Then {
        let mut wheel = self.shard_of(&timer).lock();
        if timer.state() != State::Waiting {
            return Then::Nothing;
        }
        // SAFETY: it waits, so it is in the wheel; then it is out of it, and the caller is its owner.
        Then::Drop(unsafe {
            wheel.remove(NonNull::from(timer.get_ref()));
            timer.give_up()
        })
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        current::remove(self.id);
        self.shutdown();
    }
}

/// Whole ticks of a duration after `more` nanoseconds were added.
fn ticks(duration: Duration, more: u32) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(((duration.subsec_nanos() + more) / NANOSECONDS_PER_TICK).into())
        .min(LAST_TICK)
}
