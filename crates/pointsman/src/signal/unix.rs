//! Unix signals.

use std::io;
use std::os::raw::c_int;
use std::task::{Context, Poll};

use super::listener::Listener;
use super::registry;
use crate::runtime::Handle;

/// The kind of a signal. There is a function for each common signal; [`from_raw`](Self::from_raw) covers the others.
///
/// ```
/// use pointsman::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::terminate().as_raw_value(), libc::SIGTERM);
/// assert_eq!(SignalKind::from(libc::SIGTERM), SignalKind::terminate());
/// ```
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
pub struct SignalKind(c_int);

impl SignalKind {
    /// Creates the kind of this signal number. [`signal`] checks whether it exists and can be handled.
    ///
    /// ```
    /// # use pointsman::signal::unix::SignalKind;
    /// assert_eq!(SignalKind::from_raw(libc::SIGHUP), SignalKind::hangup());
    /// ```
    pub const fn from_raw(signum: c_int) -> Self {
        Self(signum)
    }

    /// Returns the signal number.
    ///
    /// ```
    /// # use pointsman::signal::unix::SignalKind;
    /// assert_eq!(SignalKind::interrupt().as_raw_value(), libc::SIGINT);
    /// ```
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }
}

impl SignalKind {
    /// `SIGALRM`: a system timer has expired. Terminates the process by default.
    pub const fn alarm() -> Self {
        Self(libc::SIGALRM)
    }

    /// `SIGCHLD`: a child process has exited, stopped or continued. Ignored by default.
    pub const fn child() -> Self {
        Self(libc::SIGCHLD)
    }

    /// `SIGHUP`: the terminal was closed; daemons conventionally reload their configuration. Terminates the process by
    /// default.
    pub const fn hangup() -> Self {
        Self(libc::SIGHUP)
    }

    /// `SIGINFO`: the terminal requests a status report. Ignored by default.
    #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    ))]
    pub const fn info() -> Self {
        Self(libc::SIGINFO)
    }

    /// `SIGINT`: ctrl-c in a terminal. Terminates the process by default.
    pub const fn interrupt() -> Self {
        Self(libc::SIGINT)
    }

    /// `SIGPOLL`: a descriptor is ready. Ignored by default.
    #[cfg(target_os = "haiku")]
    pub const fn io() -> Self {
        Self(libc::SIGPOLL)
    }

    /// `SIGIO`: a descriptor is ready. The default action depends on the platform.
    #[cfg(not(target_os = "haiku"))]
    pub const fn io() -> Self {
        Self(libc::SIGIO)
    }

    /// `SIGPIPE`: a write to a pipe without readers. Rust programs ignore it by default.
    pub const fn pipe() -> Self {
        Self(libc::SIGPIPE)
    }

    /// `SIGQUIT`: ctrl-\ in a terminal. Terminates the process with a core dump by default.
    pub const fn quit() -> Self {
        Self(libc::SIGQUIT)
    }

    /// `SIGTERM`: a request to terminate. Terminates the process by default.
    pub const fn terminate() -> Self {
        Self(libc::SIGTERM)
    }

    /// `SIGUSR1`: defined by the program. Terminates the process by default.
    pub const fn user_defined1() -> Self {
        Self(libc::SIGUSR1)
    }

    /// `SIGUSR2`: defined by the program. Terminates the process by default.
    pub const fn user_defined2() -> Self {
        Self(libc::SIGUSR2)
    }

    /// `SIGWINCH`: the terminal was resized. Ignored by default.
    pub const fn window_change() -> Self {
        Self(libc::SIGWINCH)
    }
}

impl From<c_int> for SignalKind {
    fn from(signum: c_int) -> Self {
        Self(signum)
    }
}

impl From<SignalKind> for c_int {
    fn from(kind: SignalKind) -> Self {
        kind.0
    }
}

/// A listener for one kind of signal, from [`signal`].
///
/// Any number of listeners, in any runtimes, can listen to the same signal. Signals that arrive before one is received
/// coalesce.
///
/// The first listener replaces the signal's default action for the lifetime of the process, even after all listeners
/// are dropped.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::signal::unix::{SignalKind, signal};
///
/// let mut one = signal(SignalKind::user_defined1())?;
/// let mut other = signal(SignalKind::user_defined1())?;
/// // SAFETY: it sends a signal to this process, which has a handler for it.
/// unsafe { libc::raise(libc::SIGUSR1) };
/// one.recv().await;
/// other.recv().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "a listener hears nothing unless it is asked"]
#[derive(Debug)]
pub struct Signal {
    listener: Listener,
}

/// Creates a listener for signals that arrive from now on.
///
/// # Errors
/// If the signal cannot be handled (`SIGKILL`, `SIGSTOP`, `SIGILL`, `SIGFPE`, `SIGSEGV`) or does not exist, or the
/// runtime is shutting down.
///
/// # Panics
/// If called outside of a runtime, or in one without I/O.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::signal::unix::{SignalKind, signal};
///
/// let mut stop = signal(SignalKind::terminate())?;
/// pointsman::select! {
///     _ = stop.recv() => println!("asked to end"),
///     () = async { /* serve */ } => (),
/// }
/// assert!(signal(SignalKind::from_raw(libc::SIGKILL)).is_err());
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let listener = registry::listen(kind.0, &Handle::current())?;
    Ok(Signal { listener })
}

impl Signal {
    /// Waits for the next signal; ready at once if one has arrived since the last was received. Never returns `None`.
    ///
    /// # Cancel safety
    /// Cancel safe: a signal that was not received is there for the next call.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::signal::unix::{SignalKind, signal};
    /// let mut resized = signal(SignalKind::window_change())?;
    /// // SAFETY: it sends a signal to this process, which has a handler for it.
    /// unsafe { libc::raise(libc::SIGWINCH) };
    /// assert_eq!(resized.recv().await, Some(()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls [`recv`](Self::recv). Only the task that polled last is woken.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::signal::unix::{SignalKind, signal};
    /// use std::future::poll_fn;
    /// use std::task::Poll;
    ///
    /// let mut alarm = signal(SignalKind::alarm())?;
    /// poll_fn(|cx| {
    ///     assert!(alarm.poll_recv(cx).is_pending());
    ///     Poll::Ready(())
    /// })
    /// .await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.listener.poll(cx).map(Some)
    }
}
