//! The processor's time stamp counter, where it may stand in for the clock.
//!
//! To read it takes a third of the time of the operating system's clock (7.5 ns and 25 ns measured). It is
//! used on x86_64 Linux if the counter runs at a constant rate and the kernel itself keeps time by it.
//!
//! Invariant: the time that is made of a count is not before the time at which it was taken. Pairs of a
//! count and the clock's time are taken with the count first, so that a line through two of them is never
//! ahead of the clock; the kernel changes the rate of its clock by at most 1/2000, and twice as much is
//! taken off.

pub(super) use implementation::Ticks;

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom)))]
mod implementation {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::fs;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    /// Nobody has asked yet.
    const UNKNOWN: u8 = 0;
    /// The first pair is too young to tell the rate.
    const TOO_YOUNG: u8 = 1;
    const READY: u8 = 2;
    const UNUSABLE: u8 = 3;

    static STAGE: AtomicU8 = AtomicU8::new(UNKNOWN);
    static FIRST: OnceLock<Pair> = OnceLock::new();

    /// How old the first pair has to be.
    const AGE: Duration = Duration::from_millis(10);

    /// What the order of execution, and counters that are not quite equal, may amount to.
    const SLACK_NANOSECONDS: u64 = 200;

    #[derive(Clone, Copy)]
    struct Pair {
        count: u64,
        instant: Instant,
    }

    impl Pair {
        fn now() -> Self {
            Self {
                count: count(),
                instant: Instant::now(),
            }
        }
    }

    #[inline(always)]
    fn count() -> u64 {
        // SAFETY: every x86_64 has this instruction.
        unsafe { _rdtsc() }
    }

    /// A count of the processor's clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::time) struct Ticks(u64);

    impl Ticks {
        /// `None` if the clock is to be asked instead.
        #[inline(always)]
        pub(in crate::time) fn now() -> Option<Self> {
            // ORDERING: acquire: counts are later than the first pair; with the release of `prepare`.
            if STAGE.load(Ordering::Acquire) == READY {
                return Some(Self(count()));
            }
            prepare();
            None
        }

        /// When the count was taken, or a little later, and what the clock shows now.
        pub(in crate::time) fn to_instant(self) -> (Instant, Instant) {
            let first = FIRST.get().copied().unwrap_or_else(Pair::now);
            let now = Pair::now();
            let passed = now.count.saturating_sub(self.0) as f64;
            let total = now.count.saturating_sub(first.count).max(1) as f64;
            let real = (now.instant - first.instant).as_nanos() as f64;
            let nanoseconds = (real * (passed / total)) as u64;
            let certain = (nanoseconds - nanoseconds / 1_024).saturating_sub(SLACK_NANOSECONDS);
            (now.instant - Duration::from_nanos(certain), now.instant)
        }
    }

    #[cold]
    fn prepare() {
        match STAGE.load(Ordering::Relaxed) {
            UNKNOWN => {
                let stage = if is_usable() {
                    FIRST.get_or_init(Pair::now);
                    TOO_YOUNG
                } else {
                    UNUSABLE
                };
                STAGE.store(stage, Ordering::Relaxed);
            }
            TOO_YOUNG
                if FIRST
                    .get()
                    .is_some_and(|first| first.instant.elapsed() >= AGE) =>
            {
                // ORDERING: release: with the acquire of `Ticks::now`.
                STAGE.store(READY, Ordering::Release);
            }
            _ => {}
        }
    }

    fn is_usable() -> bool {
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const CONSTANT_RATE: u32 = 1 << 8;
        let has_leaf = __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT;
        has_leaf
            && __cpuid(POWER_MANAGEMENT).edx & CONSTANT_RATE != 0
            && fs::read_to_string(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .is_ok_and(|source| matches!(source.trim(), "tsc" | "kvm-clock"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::thread;

        /// Takes counts at instants that lie between two readings of the clock.
        fn check(count_of_checks: usize) {
            for _ in 0..count_of_checks {
                let before = Instant::now();
                let ticks = Ticks(count());
                let (made, now) = ticks.to_instant();
                assert!(before <= made, "early by {:?}", before - made);
                assert!(made <= now);
            }
        }

        #[test]
        fn what_a_count_means_is_never_before_it_was_taken() {
            FIRST.get_or_init(Pair::now);
            check(10_000);
            let before = Instant::now();
            let ticks = Ticks(count());
            let after = Instant::now();
            thread::sleep(Duration::from_millis(20));
            let (made, now) = ticks.to_instant();
            assert!(before <= made);
            // Late by a fraction of the time that has passed since, and by what lay between the readings.
            assert!(made <= after + (now - before) / 512 + Duration::from_millis(1));
            check(10_000);
        }

        #[test]
        fn a_count_of_the_future_means_now() {
            FIRST.get_or_init(Pair::now);
            let (made, now) = Ticks(u64::MAX).to_instant();
            assert_eq!(made, now);
        }

        #[test]
        fn becomes_ready_when_the_first_pair_is_old_enough() {
            if !is_usable() {
                return;
            }
            while Ticks::now().is_none() {
                thread::yield_now();
            }
            assert!(FIRST.get().unwrap().instant.elapsed() >= AGE);
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
