//! The watchdog's alarm: other threads can set when the watchdog looks next, without waking it now.
//!
//! With I/O on Linux it is a kernel timer, which a worker sets with one system call. Waking the watchdog so that it could
//! set a timeout itself would cost two context switches.
//!
//! Invariant: [`wait`](Alarm::wait) returns once the time that was set last has passed.

#[cfg(all(target_os = "linux", feature = "reactor"))]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

pub(in crate::runtime) enum Alarm {
    #[cfg(all(target_os = "linux", feature = "reactor"))]
    Timer(OwnedFd),
    Condvar(Mutex<Option<Instant>>, Condvar),
}

impl Alarm {
    pub(in crate::runtime) fn new() -> Self {
        Self::Condvar(Mutex::new(None), Condvar::new())
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
                fd => Ok(Self::Timer(unsafe { OwnedFd::from_raw_fd(fd) })),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self::new())
    }

    /// Whether setting the alarm costs less than waking a thread.
    pub(super) fn is_cheap(&self) -> bool {
        !matches!(self, Self::Condvar(..))
    }

    /// Sets the alarm to ring after this time. Replaces an earlier setting.
    pub(super) fn set(&self, after: Duration) {
        match self {
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            // A time of zero would disarm the timer.
            Self::Timer(fd) => set_timer(fd, after.max(Duration::from_nanos(1))),
            Self::Condvar(time, changed) => {
                let mut time = time.lock().unwrap_or_else(|error| error.into_inner());
                *time = Instant::now().checked_add(after);
                drop(time);
                changed.notify_one();
            }
        }
    }

    pub(super) fn wait(&self) {
        match self {
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            Self::Timer(fd) => {
                let mut times = 0_u64;
                // A signal may end the read early: the watchdog then looks early.
                // SAFETY: `times` is a live `u64`, and the length is its size.
                unsafe { libc::read(fd.as_raw_fd(), (&raw mut times).cast(), size_of::<u64>()) };
            }
            Self::Condvar(time, changed) => {
                let mut time = time.lock().unwrap_or_else(|error| error.into_inner());
                loop {
                    let left = time.map(|time| time.saturating_duration_since(Instant::now()));
                    time = match left {
                        Some(Duration::ZERO) => break,
                        Some(left) => match changed.wait_timeout(time, left) {
                            Ok((time, _)) => time,
                            Err(error) => error.into_inner().0,
                        },
                        None => changed
                            .wait(time)
                            .unwrap_or_else(|error| error.into_inner()),
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
