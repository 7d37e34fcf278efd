//! The timers of one runtime, and its clock.
//!
//! Time is counted in ticks of one millisecond since the driver was created. A deadline is rounded up and the clock is
//! rounded down, so that no timer fires early.
//!
//! The timers are divided into shards, each with a wheel and a lock, so that threads that register and cancel timers
//! rarely contend. A runtime with one thread has one shard, and its timers fire in the order of their deadlines. With
//! several shards that holds within each.
//!
//! Invariant: `next` is not later than the tick of any timer. It is lowered under the lock of the shard into which that
//! timer is inserted, and the thread that lowers it notifies the driver's waiter; it is raised under the locks of all
//! shards. A waiter that sleeps until `next` is therefore notified of each earlier timer.
//!
//! No user code runs under a lock, nor while a timer is borrowed from its owner: wakers are cloned before, and what
//! remains to be done with them is returned as [`FollowUp`].
//!
//! Cost: one lock to register and to cancel, one for each batch that fires and then all of them to find the next timer;
//! none if nothing is due.

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
pub(super) use current::{Missing, current, current_id, notify_waiter, with_driver};
use timer::End;
pub(crate) use timer::{Timer, TimerState};
use wheel::{LAST_TICK, Wheel};

/// No timer is registered.
const NEVER: u64 = u64::MAX;

/// Bounds the memory, 8 KiB a wheel, and the locks that are taken after timers have fired.
const MAX_SHARDS: usize = 16;

const NANOSECONDS_PER_TICK: u32 = 1_000_000;

/// Sleeps until the next timer of a driver is due.
pub(crate) trait Waiter: Send + Sync {
    /// The next timer has become earlier: a waiter that sleeps past it must look again.
    fn timer_is_earlier(&self);
}

/// What the caller does after it has released all locks and borrows.
#[must_use]
#[derive(Debug)]
pub(super) enum FollowUp {
    Nothing,
    Drop(Waker),
    Wake(Waker),
    /// The timer is now the earliest of all: the driver's waiter must be notified, by [`notify_waiter`].
    NotifyWaiter,
}

pub(crate) struct Driver {
    /// Unique in the process, never reused.
    id: u64,
    waiter: Weak<dyn Waiter>,
    clock: Clock,
    start: Instant,
    /// Their number is a power of two.
    shards: Box<[Shard]>,
    /// The tick at which a timer may be due, or [`NEVER`].
    next: AtomicU64,
    /// Set before all shards are emptied. No timer is inserted afterwards.
    is_closed: AtomicBool,
}

/// Aligned to two cache lines, as processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Wheel>);

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Wheel> {
        lock(&self.0)
    }
}

impl Driver {
    /// Creates the driver of a runtime with one thread, whose clock can be paused.
    pub(crate) fn new(start_paused: bool, waiter: Weak<dyn Waiter>) -> Arc<Self> {
        Self::with_clock(Clock::pausable(start_paused), 1, waiter)
    }

    /// Creates the driver of a runtime with several threads, whose clock cannot be paused.
    pub(crate) fn unpausable(threads: usize, waiter: Weak<dyn Waiter>) -> Arc<Self> {
        let shards = threads.next_power_of_two().min(MAX_SHARDS);
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

    /// The first tick at or after the deadline.
    fn tick_of(&self, deadline: Instant) -> u64 {
        ticks(deadline - self.start, NANOSECONDS_PER_TICK - 1)
    }

    fn last_tick_at(&self, instant: Instant) -> u64 {
        ticks(instant - self.start, 0)
    }

    /// The last tick at or before the clock's time.
    fn now(&self) -> u64 {
        self.last_tick_at(self.clock.now())
    }

    /// The shard of a waiting timer. Called by the timer's owner.
    fn shard_of(&self, timer: &Timer) -> &Shard {
        &self.shards[timer.shard()]
    }

    /// Recomputes `next` after timers have been removed.
    fn update_next(&self) -> u64 {
        // All threads lock the shards in the same order.
        let wheels: [_; MAX_SHARDS] =
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

    /// Real time until a timer may be due. `None` if there is no timer, or the clock is paused.
    pub(crate) fn until_next(&self) -> Option<Duration> {
        // Relaxed: the waiter is notified of each timer that lowers `next`.
        let next = self.next.load(Ordering::Relaxed);
        if next == NEVER || self.clock.is_paused() {
            return None;
        }
        Some((self.start + Duration::from_millis(next)) - self.clock.now())
    }

    /// Whether [`fire`](Self::fire) would find a timer that may be due. Reads the clock only if there is a timer.
    #[inline]
    pub(crate) fn next_is_due(&self) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        next != NEVER && next <= self.now()
    }

    /// Fires all timers that are due. Several threads may call it at once.
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

    /// A waker's panic, which has already been reported, is caught: the remaining timers must still fire.
    fn fire_until(&self, tick: u64) {
        self.empty(|wheel| {
            while let Some(timer) = wheel.pop(tick) {
                // SAFETY: timers in the wheel are live, as their owners remove them before they drop them. This one was
                // removed under the lock, and is not touched after `end_if_due` has ended it.
                match unsafe { timer.as_ref().end_if_due(wheel.now()) } {
                    Ok(waker) => return Some(waker),
                    // SAFETY: the timer has not ended, so its owner must take this lock to remove it: it is live. Its
                    // new tick is later than the wheel's.
                    Err(later) => unsafe { wheel.insert(timer, later) },
                }
            }
            None
        });
    }

    /// Wakes all wakers that `take` removes from the wheels.
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

    #[cfg(feature = "test-util")]
    pub(crate) fn has_timers(&self) -> bool {
        self.update_next() != NEVER
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// If the clock is paused, advances it to the next timer and fires what is then due. Called when the runtime is
    /// idle. Returns whether there was a timer; the caller then runs the woken tasks or calls again.
    pub(crate) fn auto_advance(&self) -> bool {
        if !self.clock.is_paused() {
            return false;
        }
        // The clock must not advance to the deadline of a cancelled timer.
        let next = self.update_next();
        if next == NEVER {
            return false;
        }
        let step = Duration::from_millis(next.saturating_sub(self.now()));
        // Fails only if another thread has resumed the clock.
        if self.clock.advance(step).is_err() {
            return false;
        }
        self.fire();
        true
    }

    /// Ends all timers and wakes their tasks, which see [`TimerState::Closed`].
    pub(crate) fn shutdown(&self) {
        // A thread that takes a shard's lock later sees the store.
        self.is_closed.store(true, Ordering::Relaxed);
        self.empty(|wheel| {
            wheel
                .pop_any()
                // SAFETY: timers in the wheel are live, as their owners remove them before they drop them. This one was
                // removed under the lock, and is not touched after `close`.
                .map(|timer| unsafe { timer.as_ref().close() })
        });
    }

    /// Registers an idle timer for a deadline. The timer ends at once if the deadline has passed or the driver has shut
    /// down. `created` is the time at which the sleep was created, if the clock was read for that; the clock is then
    /// not read again, and a timer that became due since is fired next.
    pub(super) fn register(
        &self,
        timer: Pin<&Timer>,
        deadline: Instant,
        created: Option<Instant>,
        waker: Waker,
    ) -> FollowUp {
        let now = match created {
            // A paused clock may have advanced since.
            Some(created) if clock::all_are_real() => self.last_tick_at(created),
            _ => self.now(),
        };
        timer.set_shard(current::thread_sequence() & (self.shards.len() - 1));
        self.register_tick(timer, self.tick_of(deadline), now, waker)
    }

    fn register_tick(&self, timer: Pin<&Timer>, tick: u64, now: u64, waker: Waker) -> FollowUp {
        let mut wheel = self.shard_of(&timer).lock();
        if self.is_closed.load(Ordering::Relaxed) {
            timer.end_at_once(End::Closed);
            return FollowUp::Drop(waker);
        }
        if tick <= now.max(wheel.now()) {
            timer.end_at_once(End::Fired);
            return FollowUp::Drop(waker);
        }
        wheel.skip_to(now);
        // SAFETY: the caller is the timer's owner and has seen it idle; it is pinned, and its owner removes it before
        // it drops it. The tick is later than the wheel's: checked above.
        unsafe { self.insert(&mut wheel, timer, tick, waker) }
    }

    /// # Safety
    /// The caller is the owner of the timer, which is idle and is removed before it is dropped. The tick is later than
    /// the wheel's.
    unsafe fn insert(
        &self,
        wheel: &mut Wheel,
        timer: Pin<&Timer>,
        tick: u64,
        waker: Waker,
    ) -> FollowUp {
        // SAFETY: the caller guarantees what both functions ask, and holds the lock of this wheel.
        unsafe {
            timer.begin(tick, waker);
            wheel.insert(NonNull::from(timer.get_ref()), tick);
        }
        // Most timers are not the earliest and write nothing that other threads read.
        let is_next = tick < self.next.load(Ordering::Relaxed)
            && tick < self.next.fetch_min(tick, Ordering::Relaxed);
        match is_next {
            true => FollowUp::NotifyWaiter,
            false => FollowUp::Nothing,
        }
    }

    /// Notifies the waiter that the next timer has become earlier. Called without a lock.
    fn notify_waiter(&self) {
        if let Some(waiter) = self.waiter.upgrade() {
            waiter.timer_is_earlier();
        }
    }

    /// Moves a waiting timer to another deadline. Keeps its waker, to be woken if that deadline has passed. A timer
    /// that has ended meanwhile becomes idle; the thread that ended it wakes the task.
    pub(super) fn move_to(&self, timer: Pin<&Timer>, deadline: Instant) -> FollowUp {
        let tick = self.tick_of(deadline);
        if timer.postpone(tick) {
            return FollowUp::Nothing;
        }
        self.move_to_tick(timer, tick, self.now())
    }

    fn move_to_tick(&self, timer: Pin<&Timer>, tick: u64, now: u64) -> FollowUp {
        let mut wheel = self.shard_of(&timer).lock();
        if timer.state() != TimerState::Waiting {
            timer.rewind();
            return FollowUp::Nothing;
        }
        // SAFETY: the timer waits, seen under its shard's lock, so it is in this wheel; `remove` takes it out, and the
        // caller is its owner.
        let waker = unsafe {
            wheel.remove(NonNull::from(timer.get_ref()));
            timer.cancel()
        };
        if tick <= now.max(wheel.now()) {
            timer.end_at_once(End::Fired);
            return FollowUp::Wake(waker);
        }
        // SAFETY: `cancel` has made the timer idle; it is pinned, and its owner removes it before it drops it. The
        // tick is later than the wheel's: checked above.
        unsafe { self.insert(&mut wheel, timer, tick, waker) }
    }

    /// Replaces the waker of a waiting timer. Does nothing if the timer has ended.
    pub(super) fn replace_waker(&self, timer: Pin<&Timer>, waker: Waker) -> FollowUp {
        let _wheel = self.shard_of(&timer).lock();
        FollowUp::Drop(if timer.state() == TimerState::Waiting {
            // SAFETY: the timer waits, seen under its shard's lock, which is held, and the caller is its owner.
            unsafe { timer.replace_waker(waker) }
        } else {
            waker
        })
    }

    /// Removes a timer from the wheel if it is still in it.
    ///
    /// `next` is left as it is: raising it would make timeouts that are registered and cancelled in turn, each later
    /// than the one before, notify the waiter every time. The waiter wakes at most once in vain.
    pub(super) fn cancel(&self, timer: Pin<&Timer>) -> FollowUp {
        let mut wheel = self.shard_of(&timer).lock();
        if timer.state() != TimerState::Waiting {
            return FollowUp::Nothing;
        }
        // SAFETY: the timer waits, seen under its shard's lock, so it is in this wheel; `remove` takes it out, and the
        // caller is its owner.
        FollowUp::Drop(unsafe {
            wheel.remove(NonNull::from(timer.get_ref()));
            timer.cancel()
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

/// Whole ticks of a duration to which `more` nanoseconds were added.
fn ticks(duration: Duration, more: u32) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(((duration.subsec_nanos() + more) / NANOSECONDS_PER_TICK).into())
        .min(LAST_TICK)
}
