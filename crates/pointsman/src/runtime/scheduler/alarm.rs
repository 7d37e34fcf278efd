//! What the watchdog sleeps by: it can be told from outside to look soon, without being woken for that now.
//!
//! With I/O on Linux it is a timer of the kernel: a worker that leaves the driver for a moment sets it by a system call;
//! to wake the watchdog and let it sleep until then would cost two changes of threads.
//!
//! Invariant: [`wait`](Alarm::wait) returns once the time that was set last is over.

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
    /// If the system gives no descriptor.
    #[cfg(feature = "reactor")]
    pub(in crate::runtime) fn for_io() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            // SAFETY: it takes no pointers.
            let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
            match fd {
                -1 => Err(std::io::Error::last_os_error()),
                // SAFETY: the descriptor is new, and nobody else's.
                fd => Ok(Self::Timer(unsafe { OwnedFd::from_raw_fd(fd) })),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self::new())
    }

    /// Whether to set it costs less than to wake a thread.
    pub(super) fn is_cheap(&self) -> bool {
        !matches!(self, Self::Condvar(..))
    }

    /// From now on it rings after this time, whatever was set before.
    pub(super) fn set(&self, after: Duration) {
        match self {
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            // Zero would not ring at all.
            Self::Timer(fd) => set_timer(fd, after.max(Duration::from_nanos(1))),
            Self::Condvar(time, changed) => {
                let mut time = time.lock().unwrap_or_else(|error| error.into_inner());
                *time = Instant::now().checked_add(after);
                drop(time);
                changed.notify_one();
            }
        }
    }

    /// Sleeps until it rings. For one thread.
    pub(super) fn wait(&self) {
        match self {
            #[cfg(all(target_os = "linux", feature = "reactor"))]
            Self::Timer(fd) => {
                let mut times = 0_u64;
                // SAFETY: the buffer is as large as is said. A signal ends it early, which does no harm.
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

/// Once, after this time.
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
    // SAFETY: the descriptor is a timer's, and the time is valid.
    unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &timer, std::ptr::null_mut()) };
}
