//! The timers of a shard, by when they are due.
//!
//! A tick, a number of 48 bits, is eight digits of six bits. A timer is in the level of the highest digit
//! in which its tick differs from the wheel's now, in the slot of that digit. So those of level 0 are in
//! the slot of their own tick, and a slot of a higher level is spread over the lower ones when its first
//! tick comes.
//!
//! Invariant: no tick in the wheel is before now, and the first slot of the lowest level that is not empty
//! comes first.
//!
//! Cost: insertion and removal touch one list and one bit set; a timer moves at most once a level. No
//! allocation but the wheel itself, 8 KiB.

use std::ptr::NonNull;

use crate::list::List;

use super::timer::Timer;

const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = 8;

/// The last tick that there is, some 8,900 years after the start.
pub(crate) const LAST_TICK: u64 = (1 << (DIGIT as usize * LEVELS)) - 1;

#[derive(Debug)]
pub(super) struct Wheel {
    now: u64,
    /// For each level one bit for each slot: whether it has timers. Together, as all are looked at to find the
    /// first.
    occupied: [u64; LEVELS],
    /// Those of level 0 first.
    slots: Box<[List<Timer>]>,
}

/// A slot, and the first tick of it.
#[derive(Clone, Copy, Debug)]
struct Place {
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

    /// The tick up to which all timers have been taken out.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Moves on to a tick if the first slot begins later. Then what is put in has fewer levels to move down.
    pub(super) fn skip_to(&mut self, tick: u64) {
        if self.next().is_none_or(|next| tick < next) {
            self.now = self.now.max(tick);
        }
    }

    /// When something is to be done: not later than the earliest tick, and that tick itself if it is
    /// among the next 64. `None` if the wheel is empty.
    pub(super) fn next(&self) -> Option<u64> {
        self.first().map(|place| place.start)
    }

    fn first(&self) -> Option<Place> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        Some(self.place(level, slot))
    }

    fn place(&self, level: usize, slot: usize) -> Place {
        let shift = DIGIT * level as u32;
        let above = self.now >> (shift + DIGIT) << (shift + DIGIT);
        Place {
            level,
            slot,
            start: above | (slot as u64) << shift,
        }
    }

    /// Puts a timer in.
    ///
    /// # Safety
    /// The timer is live, pinned and in no list, and stays so until it is taken out. `now <= tick` and
    /// `tick <= LAST_TICK`.
    pub(super) unsafe fn insert(&mut self, timer: NonNull<Timer>, tick: u64) {
        debug_assert!(self.now <= tick && tick <= LAST_TICK);
        let level = ((tick ^ self.now) | 1).ilog2() / DIGIT;
        let slot = (tick >> (DIGIT * level)) as usize % SLOTS;
        let level = level as usize;
        let place = level * SLOTS + slot;
        // SAFETY: as the caller says.
        unsafe {
            Timer::set_slot(timer, place as u16);
            self.slots[place].push_back(timer);
        }
        self.occupied[level] |= 1 << slot;
    }

    /// Takes a timer out before it is due.
    ///
    /// # Safety
    /// The timer is in this wheel.
    pub(super) unsafe fn remove(&mut self, timer: NonNull<Timer>) {
        // SAFETY: it is in the wheel, so it is live, and whoever calls holds the wheel.
        let place = unsafe { Timer::slot(timer) } as usize;
        let list = &mut self.slots[place];
        // SAFETY: the timer knows its list.
        unsafe { list.remove(timer) };
        if list.is_empty() {
            self.occupied[place / SLOTS] &= !(1 << (place % SLOTS));
        }
    }

    /// Takes out a timer whose slot is due by `tick`, in the order of slots. Its own tick may be later if
    /// it was put off.
    pub(super) fn pop(&mut self, tick: u64) -> Option<NonNull<Timer>> {
        loop {
            let Some(place) = self.first().filter(|place| place.start <= tick) else {
                self.now = self.now.max(tick);
                return None;
            };
            self.now = self.now.max(place.start);
            if place.level == 0 {
                return self.pop_from(place);
            }
            while let Some(timer) = self.pop_from(place) {
                // SAFETY: it was in the wheel, so it is live, and its tick is not before its slot's.
                unsafe { self.insert(timer, Timer::tick(timer)) };
            }
        }
    }

    /// Takes out any timer.
    pub(super) fn pop_any(&mut self) -> Option<NonNull<Timer>> {
        self.first().and_then(|place| self.pop_from(place))
    }

    fn pop_from(&mut self, place: Place) -> Option<NonNull<Timer>> {
        let list = &mut self.slots[place.level * SLOTS + place.slot];
        let timer = list.pop_front();
        if list.is_empty() {
            self.occupied[place.level] &= !(1 << place.slot);
        }
        timer
    }
}
