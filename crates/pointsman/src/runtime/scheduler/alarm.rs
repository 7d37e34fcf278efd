//! The watchdog's alarm: other threads can set when the watchdog looks next, without waking it now.
//!
//! With I/O on Linux it is a kernel timer, which a worker sets with one system call. Waking the watchdog so that it could
//! set a timeout itself would cost two context switches.
//!
//! Invariant: [`wait`](Alarm::wait) returns once the earliest of the times has passed that were set since it last returned.
//! So a thread that sets the alarm during a look cannot be overruled by the watchdog or by another thread.

#[cfg(all(target_os = "linux", feature = "reactor"))]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(in crate::runtime) struct Alarm {
    /// When the alarm rings. `None`: it is not set.
    time: Mutex<Option<Instant>>,
    bell: Bell,
}

enum Bell {
    #[cfg(all(target_os = "linux", feature = "reactor"))]
    Timer(OwnedFd),
    Condvar(Condvar),
}

impl Alarm {
    pub(in crate::runtime) fn new() -> Self {
        Self::with(Bell::Condvar(Condvar::new()))
    }

    /// For a runtime with I/O.
    ///
    /// # Errors
    /// If the system provides no descriptor.
    #[cfg(feature = "reactor")]
    pub(in crate::runtime) fn for_io() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            // SAFETY: the call takes no pointers.
            let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
            match fd {
                -1 => Err(std::io::Error::last_os_error()),
                // SAFETY: the descriptor is new and open, and nothing else owns it.
                fd => Ok(Self::with(Bell::Timer(unsafe { OwnedFd::from_raw_fd(fd) }))),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self::new())
    }

    fn with(bell: Bell) -> Self {
        Self {
            time: Mutex::new(None),
            bell,
        }
    }

    fn time(&self) -> MutexGuard<'_, Option<Instant>> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the alarm ring after this time, unless it is set to an earlier time.
    pub(super) fn ring_within(&self, after: Duration) {
        let Some(new) = Instant::now().checked_add(after) else {
            return;
        };
        let mut time = self.time();
        if time.is_some_and(|time| time <= new) {
            return;
        }
        *time = Some(new);
        match &self.bell {
            // With the lock held, so that the timer has the earliest time. A time of zero would disarm the timer.
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            Bell::Timer(fd) => set_timer(fd, after.max(Duration::from_nanos(1))),
            Bell::Condvar(changed) => {
                drop(time);
                changed.notify_one();
            }
        }
    }

    /// Waits until the alarm rings. It is not set then.
    pub(super) fn wait(&self) {
        match &self.bell {
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            Bell::Timer(fd) => {
                let mut times = 0_u64;
                // A signal may end the read early: the watchdog then looks early.
                // SAFETY: `times` is a live `u64`, and the length is its size.
                unsafe { libc::read(fd.as_raw_fd(), (&raw mut times).cast(), size_of::<u64>()) };
                *self.time() = None;
            }
            Bell::Condvar(changed) => {
                let mut time = self.time();
                loop {
                    let left = time.map(|time| time.saturating_duration_since(Instant::now()));
                    time = match left {
                        Some(Duration::ZERO) => break,
                        Some(left) => match changed.wait_timeout(time, left) {
                            Ok((time, _)) => time,
                            Err(error) => error.into_inner().0,
                        },
                        None => changed.wait(time).unwrap_or_else(PoisonError::into_inner),
                    };
                }
                *time = None;
            }
        }
    }
}

#[cfg(all(target_os = "linux", feature = "reactor"))]
fn set_timer(fd: &OwnedFd, after: Duration) {
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let timer = libc::itimerspec {
        it_interval: zero,
        it_value: libc::timespec {
            tv_sec: after.as_secs().min(i32::MAX as u64) as _,
            tv_nsec: after.subsec_nanos() as _,
        },
    };
    // SAFETY: `timer` lives during the call, the old value is not requested, and `fd` is open while it is borrowed.
    unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &timer, std::ptr::null_mut()) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn alarms() -> Vec<Alarm> {
        vec![
            Alarm::new(),
            #[cfg(feature = "reactor")]
            Alarm::for_io().unwrap(),
        ]
    }

    #[test]
    fn an_alarm_rings_at_the_earliest_of_its_times() {
        for alarm in alarms() {
            for times in [[Duration::ZERO, HOUR], [HOUR, Duration::ZERO]] {
                times.into_iter().for_each(|time| alarm.ring_within(time));
                alarm.wait();
            }
        }
    }

    #[test]
    fn a_time_that_has_passed_is_not_replaced() {
        for alarm in alarms() {
            alarm.ring_within(Duration::from_nanos(1));
            while alarm.time().is_some_and(|time| time > Instant::now()) {}
            alarm.ring_within(Duration::from_millis(1));
            alarm.ring_within(HOUR);
            alarm.wait();
            assert_eq!(*alarm.time(), None);
        }
    }

    #[test]
    fn a_time_that_never_comes_is_ignored() {
        for alarm in alarms() {
            alarm.ring_within(Duration::MAX);
            assert_eq!(*alarm.time(), None);
        }
    }
}
