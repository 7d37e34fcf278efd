//! A hierarchical timer wheel: the timers of one shard, by tick.
//!
//! A tick has 48 bits: eight digits of six bits. A timer is in the level of the highest digit in which its tick differs
//! from the wheel's `now`, in the slot of that digit. A timer in level 0 is thus in the slot of its exact tick. The
//! timers of a slot in a higher level are redistributed to lower levels when the first tick of the slot comes.
//!
//! Invariant: no tick in the wheel is before `now`, and the first occupied slot of the lowest occupied level is the
//! earliest.
//!
//! Cost: insertion and removal touch one list and one bit set; a timer moves at most once per level. The only
//! allocation is the wheel itself, 8 KiB.

use std::ptr::NonNull;

use crate::list::List;

use super::timer::Timer;

const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = 8;

/// The last tick, about 8,900 years after the start.
pub(crate) const LAST_TICK: u64 = (1 << (DIGIT as usize * LEVELS)) - 1;

#[derive(Debug)]
pub(super) struct Wheel {
    now: u64,
    /// For each level, a bit set of the slots that hold timers. Kept together, as all are read to find the first slot.
    occupied: [u64; LEVELS],
    /// Level 0 first.
    slots: Box<[List<Timer>]>,
}

/// A slot, and its first tick.
#[derive(Clone, Copy, Debug)]
struct DueSlot {
    level: usize,
    slot: usize,
    start: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            occupied: [0; LEVELS],
            slots: (0..LEVELS * SLOTS).map(|_| List::new()).collect(),
        }
    }

    /// The tick up to which all timers have been removed.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Advances `now` to a tick before the first slot. Timers inserted afterwards move through fewer levels.
    pub(super) fn skip_to(&mut self, tick: u64) {
        if self.next().is_none_or(|next| tick < next) {
            self.now = self.now.max(tick);
        }
    }

    /// The tick at which [`pop`](Self::pop) is to be called: not later than the earliest timer, and exactly its tick if
    /// that is among the next 64. `None` if the wheel is empty.
    pub(super) fn next(&self) -> Option<u64> {
        self.first().map(|due| due.start)
    }

    fn first(&self) -> Option<DueSlot> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        Some(self.due_slot(level, slot))
    }

    fn due_slot(&self, level: usize, slot: usize) -> DueSlot {
        let shift = DIGIT * level as u32;
        let above = self.now >> (shift + DIGIT) << (shift + DIGIT);
        DueSlot {
            level,
            slot,
            start: above | (slot as u64) << shift,
        }
    }

    /// Inserts a timer.
    ///
    /// # Safety
    /// The timer is live, pinned and in no list, and stays so until it is removed. `now <= tick` and `tick <=
    /// LAST_TICK`.
    pub(super) unsafe fn insert(&mut self, timer: NonNull<Timer>, tick: u64) {
        debug_assert!(self.now <= tick && tick <= LAST_TICK);
        let level = ((tick ^ self.now) | 1).ilog2() / DIGIT;
        let slot = (tick >> (DIGIT * level)) as usize % SLOTS;
        let level = level as usize;
        let index = level * SLOTS + slot;
        // SAFETY: the caller guarantees that the timer is live and in no list; `&mut self` is the lock that guards its slot.
        unsafe {
            Timer::set_slot(timer, index as u16);
            self.slots[index].push_back(timer);
        }
        self.occupied[level] |= 1 << slot;
    }

    /// Removes a timer before it is due.
    ///
    /// # Safety
    /// The timer is in this wheel.
    pub(super) unsafe fn remove(&mut self, timer: NonNull<Timer>) {
        // SAFETY: the caller guarantees that the timer is in this wheel, so it is live; `&mut self` is the lock that
        // guards its slot.
        let index = unsafe { Timer::slot(timer) } as usize;
        let list = &mut self.slots[index];
        // SAFETY: the timer's slot names the list that it is in; `insert` keeps it so.
        unsafe { list.remove(timer) };
        if list.is_empty() {
            self.occupied[index / SLOTS] &= !(1 << (index % SLOTS));
        }
    }

    /// Removes a timer whose slot is due by `tick`, in the order of slots. The timer's own tick may be later if it was
    /// postponed.
    pub(super) fn pop(&mut self, tick: u64) -> Option<NonNull<Timer>> {
        loop {
            let Some(due) = self.first().filter(|due| due.start <= tick) else {
                self.now = self.now.max(tick);
                return None;
            };
            self.now = self.now.max(due.start);
            if due.level == 0 {
                return self.pop_from(due);
            }
            while let Some(timer) = self.pop_from(due) {
                // SAFETY: the timer was in the wheel, so it is live, and it is in no list now. Its tick is not before
                // its slot's first, which is `now`.
                unsafe { self.insert(timer, Timer::tick(timer)) };
            }
        }
    }

    /// Removes any timer.
    pub(super) fn pop_any(&mut self) -> Option<NonNull<Timer>> {
        self.first().and_then(|due| self.pop_from(due))
    }

    fn pop_from(&mut self, due: DueSlot) -> Option<NonNull<Timer>> {
        let list = &mut self.slots[due.level * SLOTS + due.slot];
        let timer = list.pop_front();
        if list.is_empty() {
            self.occupied[due.level] &= !(1 << due.slot);
        }
        timer
    }
}
