//! The processor's time stamp counter, where it may stand in for the clock.
//!
//! To read it takes a third of the time of the operating system's clock (7.5 ns and 25 ns measured). It is
//! used on x86_64 Linux if the counter runs at a constant rate and the kernel itself keeps time by it.
//!
//! Even so a counter may go on while the clock stands, begin anew or change its rate: when the machine is
//! suspended, or moved to another. So both are read together several times in a millisecond, and a count
//! stands for a time only until the next such reading. If the two have not gone on together since the one
//! before, the clock is asked until they have again.
//!
//! Invariant: the time that is made of a count is not before the time at which it was taken. What could be
//! wrong is taken to be late: pairs are taken with the count first, and the line through the last of them is
//! steeper than the clock ever becomes. The kernel lets a daemon that corrects the time slow its clock down and
//! speed it up by a tenth; from the one to the other at once is a factor of 11/9, and the line has 5/4. That it
//! is late, by a quarter of the time between two readings and some microseconds, harms nobody: what a deadline
//! is counted from is not after the clock's own time when the deadline is looked at.
//!
//! Cost: three loads and a multiplication more than the counter. Counter and clock are read together at most
//! every [`SPAN`](implementation::SPAN) counts, 100 ns in 200,000.

pub(super) use implementation::Ticks;

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom)))]
mod implementation {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::fs;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock};
    use std::time::{Duration, Instant};

    /// Counts after which the clock is read again: a part of a millisecond.
    pub(super) const SPAN: u64 = 1 << 19;

    /// How far apart two readings have to be that tell the rate, in nanoseconds.
    const AGE: u64 = 10_000_000;

    /// Counts between which a clock was read, if it was not interrupted.
    const MOST_BETWEEN: u64 = 1 << 12;

    /// What all that may amount to for two readings, with the order of execution and counters that are not
    /// quite equal.
    const SLACK: u64 = 4_000;

    /// The part by which two readings may differ from the rate: what the kernel does all the time to keep
    /// its clock right, and how exactly the rate was measured.
    const INEXACTNESS: u64 = 1_024;

    /// The part by which a time may go on faster than the rate says until the next reading.
    const STEEPNESS: u64 = 4;

    /// Fractions of a nanosecond in a rate.
    const FRACTION: u32 = 32;

    static LINE: SharedLine = SharedLine {
        anchor: AtomicU64::new(0),
        offset: AtomicU64::new(0),
        slope: AtomicU64::new(0),
    };
    /// `std`'s own lock, which nobody waits for.
    static BOOK: Mutex<Book> = Mutex::new(Book::new());
    static IS_UNUSABLE: AtomicBool = AtomicBool::new(false);
    /// What nanoseconds are counted from.
    static BASE: OnceLock<Instant> = OnceLock::new();

    fn base() -> Instant {
        *BASE.get_or_init(Instant::now)
    }

    #[inline(always)]
    fn count() -> u64 {
        // SAFETY: every x86_64 has this instruction.
        unsafe { _rdtsc() }
    }

    /// What the counter has shown and, at the same time or a little later, the clock.
    #[derive(Clone, Copy, Debug)]
    struct Pair {
        count: u64,
        nanoseconds: u64,
    }

    impl Pair {
        /// `None` if something came between.
        fn read() -> Option<Self> {
            let base = base();
            let before = count();
            let instant = Instant::now();
            let is_close = count().wrapping_sub(before) < MOST_BETWEEN;
            is_close.then(|| Self {
                count: before,
                nanoseconds: (instant - base).as_nanos() as u64,
            })
        }
    }

    /// Nanoseconds for each count, with a fraction.
    #[derive(Clone, Copy, Debug)]
    struct Rate(u64);

    impl Rate {
        fn measured(counts: u64, nanoseconds: u64) -> Option<Self> {
            let rate = (u128::from(nanoseconds) << FRACTION).checked_div(u128::from(counts))?;
            // None that is nonsense, so that nothing overflows.
            (1 << (FRACTION - 6)..1 << (FRACTION + 6))
                .contains(&rate)
                .then_some(Self(rate as u64))
        }

        #[inline(always)]
        fn nanoseconds(self, counts: u64) -> u64 {
            ((u128::from(counts) * u128::from(self.0)) >> FRACTION) as u64
        }

        /// Whether the counter and the clock have gone on together.
        fn fits(self, counts: u64, nanoseconds: u64) -> bool {
            let expected = self.nanoseconds(counts);
            nanoseconds.abs_diff(expected) <= expected / INEXACTNESS + SLACK
        }

        fn steeper(self) -> Self {
            Self(self.0 + self.0 / STEEPNESS)
        }
    }

    /// Times for counts, from one at which the clock was read as well.
    #[derive(Clone, Copy, Debug)]
    struct Line {
        anchor: u64,
        /// The time at count zero, which may be before all time.
        offset: u64,
        slope: Rate,
    }

    impl Line {
        fn new(anchor: Pair, rate: Rate) -> Self {
            let slope = rate.steeper();
            let time = anchor.nanoseconds + SLACK;
            Self {
                anchor: anchor.count,
                offset: time.wrapping_sub(slope.nanoseconds(anchor.count)),
                slope,
            }
        }

        /// `None` if the clock was not read for too long.
        #[inline(always)]
        fn at(self, count: u64) -> Option<u64> {
            (count.wrapping_sub(self.anchor) < SPAN)
                .then(|| self.slope.nanoseconds(count).wrapping_add(self.offset))
        }
    }

    /// On a cache line of its own.
    #[repr(align(64))]
    struct SharedLine {
        /// 0: there is no line.
        anchor: AtomicU64,
        offset: AtomicU64,
        slope: AtomicU64,
    }

    impl SharedLine {
        #[inline(always)]
        fn load(&self) -> Option<Line> {
            // ORDERING: acquire: with the release of `store`. What belongs to a later anchor may be read, as the
            // count that is taken after it is too far from this one then.
            let anchor = self.anchor.load(Ordering::Acquire);
            (anchor != 0).then(|| Line {
                anchor,
                offset: self.offset.load(Ordering::Relaxed),
                slope: Rate(self.slope.load(Ordering::Relaxed)),
            })
        }

        fn store(&self, line: Option<Line>) {
            if let Some(line) = line {
                self.offset.store(line.offset, Ordering::Relaxed);
                self.slope.store(line.slope.0, Ordering::Relaxed);
            }
            // ORDERING: release: with the acquire of `load`.
            self.anchor
                .store(line.map_or(0, |line| line.anchor), Ordering::Release);
        }
    }

    /// What was read last, and the rate from which no reading has differed since it was measured.
    struct Book {
        last: Option<Pair>,
        rate: Option<Rate>,
        is_in_use: bool,
    }

    impl Book {
        const fn new() -> Self {
            Self {
                last: None,
                rate: None,
                is_in_use: false,
            }
        }

        /// Takes down one more reading. The line to be used from now on; `None` if the clock is to be asked.
        fn note(&mut self, now: Pair) -> Option<Line> {
            let Some(last) = self.last else {
                self.last = Some(now);
                return None;
            };
            let nanoseconds = now.nanoseconds.saturating_sub(last.nanoseconds);
            if !self.is_in_use && nanoseconds < AGE {
                return None;
            }
            self.last = Some(now);
            // None if the counter has gone back.
            let counts = now.count.checked_sub(last.count);
            let proved = self
                .rate
                .filter(|rate| counts.is_some_and(|counts| rate.fits(counts, nanoseconds)));
            self.is_in_use = proved.is_some();
            if !self.is_in_use {
                // The next reading shows whether this is right.
                self.rate = counts.and_then(|counts| Rate::measured(counts, nanoseconds));
            }
            proved.map(|rate| Line::new(now, rate))
        }
    }

    /// A time that was made of a count of the processor's clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::time) struct Ticks(u64);

    impl Ticks {
        /// `None` if the clock is to be asked instead.
        #[inline(always)]
        pub(in crate::time) fn now() -> Option<Self> {
            let ticks = LINE.load().and_then(|line| line.at(count()));
            if ticks.is_none() {
                renew();
            }
            ticks.map(Self)
        }

        /// When the count was taken, or a little later, and what the clock shows now.
        pub(in crate::time) fn to_instant(self) -> (Instant, Instant) {
            let made = base() + Duration::from_nanos(self.0);
            let now = Instant::now();
            (made.min(now), now)
        }
    }

    #[cold]
    fn renew() {
        if IS_UNUSABLE.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut book) = BOOK.try_lock() else {
            return;
        };
        if book.last.is_none() && !is_usable() {
            IS_UNUSABLE.store(true, Ordering::Relaxed);
            return;
        }
        if let Some(pair) = Pair::read() {
            LINE.store(book.note(pair));
        }
    }

    fn is_usable() -> bool {
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const CONSTANT_RATE: u32 = 1 << 8;
        // SAFETY: each x86-64 has the instruction.
        #[allow(unused_unsafe, reason = "it is unsafe to compilers before 1.93")]
        let cpuid = |leaf| unsafe { __cpuid(leaf) };
        let has_leaf = cpuid(0x8000_0000).eax >= POWER_MANAGEMENT;
        has_leaf
            && cpuid(POWER_MANAGEMENT).edx & CONSTANT_RATE != 0
            && fs::read_to_string(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .is_ok_and(|source| matches!(source.trim(), "tsc" | "kvm-clock"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::thread;

        const MILLISECOND: u64 = 1_000_000;

        /// A machine with a counter of 2.5 GHz.
        struct Machine {
            now: Pair,
            book: Book,
            line: Option<Line>,
        }

        impl Machine {
            fn new() -> Self {
                let now = Pair {
                    count: 7 << 40,
                    nanoseconds: 3,
                };
                Self {
                    now,
                    book: Book::new(),
                    line: None,
                }
            }

            /// One whose line is in use.
            fn ready() -> Self {
                let mut machine = Self::new();
                machine.read();
                for _ in 0..2 {
                    machine.pass(10 * MILLISECOND, 1.0);
                    machine.read();
                }
                assert!(machine.line.is_some());
                machine
            }

            fn pass(&mut self, nanoseconds: u64, speed_of_counter: f64) {
                self.now.nanoseconds += nanoseconds;
                self.now.count += (nanoseconds as f64 * 2.5 * speed_of_counter) as u64;
            }

            fn read(&mut self) {
                self.line = self.book.note(self.now);
            }

            fn time(&self) -> Option<u64> {
                self.line?.at(self.now.count)
            }

            /// What is read from here on is not used at first, and then again.
            fn assert_recovers(&mut self, speed_of_counter: f64) {
                self.read();
                assert!(self.line.is_none());
                for _ in 0..3 {
                    self.pass(11 * MILLISECOND, speed_of_counter);
                    self.read();
                }
                self.pass(MILLISECOND / 10, speed_of_counter);
                self.assert_is_right();
            }

            fn assert_is_right(&self) {
                let time = self.time().expect("the counter may be used");
                let late = time.checked_sub(self.now.nanoseconds).expect("it is early");
                assert!(late <= MILLISECOND / 10, "late by {late} ns");
            }
        }

        #[test]
        fn three_readings_that_agree_are_needed() {
            let mut machine = Machine::new();
            for _ in 0..2 {
                machine.read();
                assert!(machine.line.is_none());
                machine.pass(9 * MILLISECOND, 1.0);
                machine.read();
                assert!(machine.line.is_none(), "too young to tell the rate");
                machine.pass(MILLISECOND, 1.0);
            }
            machine.read();
            machine.assert_is_right();
        }

        #[test]
        fn a_rate_that_the_next_reading_does_not_show_is_not_used() {
            let mut machine = Machine::new();
            machine.read();
            machine.pass(10 * MILLISECOND, 50.0);
            machine.read();
            machine.pass(10 * MILLISECOND, 1.0);
            machine.assert_recovers(1.0);
        }

        #[test]
        fn the_kernel_changes_the_rate_of_its_clock_a_little_all_the_time() {
            let mut machine = Machine::ready();
            for step in 0..10_000_u64 {
                let change = [1.0 - 1.0 / 2000.0, 1.0, 1.0 + 1.0 / 2000.0][(step % 7 % 3) as usize];
                machine.pass(step * 7_919 % (MILLISECOND / 4), change);
                if machine.time().is_none() {
                    machine.read();
                }
                machine.assert_is_right();
            }
        }

        #[test]
        fn no_time_is_early_while_a_daemon_corrects_the_clock_as_fast_as_the_kernel_lets_it() {
            for step in [MILLISECOND / 100, MILLISECOND / 30, MILLISECOND / 6] {
                let mut machine = Machine::ready();
                let turns = 2_000 * MILLISECOND / step;
                let mut times = 0;
                for turn in 0..turns {
                    // Slower and faster by up to a tenth, for a while each.
                    let phase = turn * step / (100 * MILLISECOND);
                    let clock = [0.9, 1.1, 1.0, 1.05, 0.95, 1.1, 0.9][(phase % 7) as usize];
                    machine.pass((step as f64 * clock) as u64, 1.0 / clock);
                    if machine.time().is_some() {
                        machine.assert_is_right();
                        times += 1;
                    } else {
                        machine.read();
                    }
                }
                assert!(
                    times > turns / 4,
                    "{times} of {turns} times were made of a count"
                );
            }
        }

        #[test]
        fn a_reading_after_long_is_needed_and_is_enough() {
            let mut machine = Machine::ready();
            machine.pass(3_600_000 * MILLISECOND, 1.0);
            assert_eq!(machine.time(), None);
            machine.read();
            machine.assert_is_right();
        }

        #[test]
        fn a_counter_that_goes_on_while_the_clock_stands_is_not_used() {
            for counts in [SPAN, 1 << 30, 1 << 50] {
                let mut machine = Machine::ready();
                machine.now.count += counts;
                assert_eq!(machine.time(), None);
                machine.pass(MILLISECOND, 1.0);
                machine.assert_recovers(1.0);
            }
        }

        #[test]
        fn a_counter_that_begins_anew_is_not_used() {
            for count in [0, 1 << 30, (7 << 40) - 1] {
                let mut machine = Machine::ready();
                machine.now.count = count;
                assert_eq!(machine.time(), None);
                machine.pass(MILLISECOND, 1.0);
                assert_eq!(machine.time(), None);
                machine.pass(MILLISECOND, 1.0);
                machine.assert_recovers(1.0);
            }
        }

        #[test]
        fn a_counter_that_stands_while_the_clock_goes_on_is_not_used() {
            let mut machine = Machine::ready();
            machine.now.nanoseconds += 60_000 * MILLISECOND;
            machine.pass(8 * MILLISECOND, 1.0);
            machine.assert_recovers(1.0);
        }

        #[test]
        fn a_counter_of_another_rate_is_measured_again() {
            for speed in [0.5, 0.99, 1.01, 2.0] {
                let mut machine = Machine::ready();
                machine.pass(20 * MILLISECOND, speed);
                assert_eq!(machine.time(), None);
                machine.assert_recovers(speed);
            }
        }

        /// Takes counts at instants that lie between two readings of the clock.
        fn check(count_of_checks: usize) {
            for _ in 0..count_of_checks {
                let before = Instant::now();
                let Some(ticks) = Ticks::now() else { continue };
                let made = base() + Duration::from_nanos(ticks.0);
                assert!(before <= made, "early by {:?}", before - made);
                let (made, now) = ticks.to_instant();
                assert!(before <= made, "early by {:?}", before - made);
                assert!(made <= now);
            }
        }

        fn wait_until_ready() {
            while Ticks::now().is_none() {
                thread::yield_now();
            }
        }

        #[test]
        fn what_a_count_means_is_never_before_it_was_taken() {
            if !is_usable() {
                return;
            }
            wait_until_ready();
            check(100_000);
            let (before, ticks) = loop {
                let before = Instant::now();
                if let Some(ticks) = Ticks::now() {
                    break (before, ticks);
                }
            };
            let after = Instant::now();
            thread::sleep(Duration::from_millis(20));
            let (made, _) = ticks.to_instant();
            assert!(before <= made);
            assert!(made <= after + Duration::from_millis(1));
            check(100_000);
        }

        #[test]
        fn a_count_of_the_future_means_now() {
            let (made, now) = Ticks(u64::MAX).to_instant();
            assert_eq!(made, now);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom))))]
mod implementation {
    use std::time::Instant;

    /// There are none here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::time) enum Ticks {}

    impl Ticks {
        #[inline(always)]
        pub(in crate::time) fn now() -> Option<Self> {
            None
        }

        pub(in crate::time) fn to_instant(self) -> (Instant, Instant) {
            match self {}
        }
    }
}
