//! Signals of Unix.

use std::io;
use std::os::raw::c_int;
use std::task::{Context, Poll};

use super::listener::Listener;
use super::registry;
use crate::runtime::Handle;

/// Which signal. There is one function for each that is common; [`from_raw`](Self::from_raw) has the others.
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
    /// The signal of this number. Whether there is one, and a process may listen to it, [`signal`] says.
    ///
    /// ```
    /// # use pointsman::signal::unix::SignalKind;
    /// assert_eq!(SignalKind::from_raw(libc::SIGHUP), SignalKind::hangup());
    /// ```
    pub const fn from_raw(signum: c_int) -> Self {
        Self(signum)
    }

    /// The number.
    ///
    /// ```
    /// # use pointsman::signal::unix::SignalKind;
    /// assert_eq!(SignalKind::interrupt().as_raw_value(), libc::SIGINT);
    /// ```
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }
}

macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident = $signal:ident;)*) => {
        impl SignalKind {
            $($(#[$attribute])*
            pub const fn $name() -> Self {
                Self(libc::$signal)
            })*
        }
    };
}

kinds! {
    /// `SIGALRM`: a timer of the system has run out. Ends the process unless somebody has listened.
    alarm = SIGALRM;
    /// `SIGCHLD`: a child process has ended, stopped or gone on. Ignored unless somebody has listened.
    child = SIGCHLD;
    /// `SIGHUP`: the terminal is gone; by convention, a daemon reads its configuration anew. Ends the process unless
    /// somebody has listened.
    hangup = SIGHUP;
    /// `SIGINFO`: a terminal asks how far the process is. Ignored unless somebody has listened.
    #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    ))]
    info = SIGINFO;
    /// `SIGINT`: ctrl-c at a terminal. Ends the process unless somebody has listened.
    interrupt = SIGINT;
    /// `SIGPOLL`: a descriptor is ready. Ignored unless somebody has listened.
    #[cfg(target_os = "haiku")]
    io = SIGPOLL;
    /// `SIGIO`: a descriptor is ready. What happens unless somebody has listened depends on the system.
    #[cfg(not(target_os = "haiku"))]
    io = SIGIO;
    /// `SIGPIPE`: a pipe was written that nobody reads. Programs in Rust ignore it unless somebody has listened.
    pipe = SIGPIPE;
    /// `SIGQUIT`: ctrl-\ at a terminal. Ends the process with a core dump unless somebody has listened.
    quit = SIGQUIT;
    /// `SIGTERM`: the process is asked to end. Ends it unless somebody has listened.
    terminate = SIGTERM;
    /// `SIGUSR1`, which has the meaning that the program gives it. Ends the process unless somebody has listened.
    user_defined1 = SIGUSR1;
    /// `SIGUSR2`, which has the meaning that the program gives it. Ends the process unless somebody has listened.
    user_defined2 = SIGUSR2;
    /// `SIGWINCH`: the terminal has another size. Ignored unless somebody has listened.
    window_change = SIGWINCH;
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

/// Hears of a signal, again and again. Made by [`signal`].
///
/// Any number of them hear of the same signal, at any runtime. Signals that come before one is received are one.
///
/// What the system would do at a signal, such as to end the process, it does not do any more once somebody has listened
/// to it, for as long as the process lives: also when this is dropped.
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

/// A listener, which hears of what comes from now on.
///
/// # Errors
/// If nobody may listen to the signal (`SIGKILL`, `SIGSTOP`, `SIGILL`, `SIGFPE`, `SIGSEGV`), there is none of this number, or the runtime is
/// ending.
///
/// # Panics
/// If there is no current runtime, or it has no I/O.
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
    /// Waits for the next signal, or gives at once what has come since the last was received. Never `None`.
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

    /// As [`recv`](Self::recv), for a future that is written by hand: the task that polled last is woken.
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
