//! How signals of Unix come to those who listen.
//!
//! A handler does as little as it may: it marks the signal as come, and writes a byte into a pipe of the whole process.
//! Every runtime at which somebody listens watches the other end; the first that gets there empties the pipe and tells
//! all listeners, whatever runtime they belong to.
//!
//! Invariant: the mark is set before the byte is written, and the pipe is emptied before the marks are taken. So who
//! takes them after the last signal either finds its mark, or will be called again by its byte. If the pipe is full,
//! somebody has yet to empty it.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::c_int;
use mio::unix::{SourceFd, pipe};

use super::listener::Listener;
use crate::runtime::Handle;
use crate::sync::watch;

struct Registry {
    /// That of signal 1 comes first.
    signals: Box<[Signal]>,
    sender: pipe::Sender,
    receiver: pipe::Receiver,
}

#[derive(Default)]
struct Signal {
    has_come: AtomicBool,
    listeners: watch::Sender<()>,
    has_handler: Mutex<bool>,
    /// What is to be done beside telling the listeners.
    reaction: OnceLock<fn()>,
}

/// The pipe stays for as long as the process.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

impl Registry {
    fn get() -> io::Result<&'static Self> {
        if let Some(registry) = REGISTRY.get() {
            return Ok(registry);
        }
        let (sender, receiver) = pipe::new()?;
        // Who comes second drops a pipe.
        Ok(REGISTRY.get_or_init(|| Self {
            signals: (1..=last_signal()).map(|_| Signal::default()).collect(),
            sender,
            receiver,
        }))
    }

    /// The signal, which comes here from now on.
    fn handled(&'static self, number: c_int) -> io::Result<&'static Signal> {
        if number <= 0 || signal_hook_registry::FORBIDDEN.contains(&number) {
            let message = format!("Refusing to register signal {number}");
            return Err(io::Error::other(message));
        }
        let signal = self.signals.get(number as usize - 1);
        let signal = signal.ok_or_else(|| io::Error::other("signal too large"))?;
        let has_handler = signal.has_handler.lock();
        let mut has_handler = has_handler.unwrap_or_else(PoisonError::into_inner);
        if !*has_handler {
            let handler = || {
                // ORDERING: SeqCst: see the module; the system calls between them order as much.
                signal.has_come.store(true, SeqCst);
                // If it is full, there is enough to read.
                let _ = (&self.sender).write(&[0]);
            };
            // SAFETY: the handler stores an atomic and calls `write`, both of which it may.
            unsafe { signal_hook_registry::register(number, handler) }?;
            *has_handler = true;
        }
        Ok(signal)
    }

    fn deliver(&self) {
        let mut bytes = [0; 1024];
        // One that is not filled has emptied the pipe.
        while matches!((&self.receiver).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        for signal in &self.signals {
            // ORDERING: as in the handler.
            if signal.has_come.swap(false, SeqCst) {
                // A panic of a waker, which has been reported by then, ends here: the others are told.
                let tell = || signal.listeners.send_replace(());
                drop(catch_unwind(AssertUnwindSafe(tell)));
                if let Some(react) = signal.reaction.get() {
                    react();
                }
            }
        }
    }

    #[track_caller]
    fn watch_at(&self, handle: &Handle) -> io::Result<()> {
        let descriptor = self.receiver.as_raw_fd();
        handle.watch_signals(&mut SourceFd(&descriptor), || {
            if let Some(registry) = REGISTRY.get() {
                registry.deliver();
            }
        })
    }
}

/// On Linux and illumos there are real-time signals besides.
fn last_signal() -> c_int {
    #[cfg(any(target_os = "linux", target_os = "illumos"))]
    return libc::SIGRTMAX();
    #[cfg(not(any(target_os = "linux", target_os = "illumos")))]
    return 33;
}

/// A listener, which the runtime tells of signals from now on.
///
/// # Errors
/// If nobody may listen to the signal, the runtime has ended, or the system refuses.
///
/// # Panics
/// If the runtime has no I/O.
#[track_caller]
pub(crate) fn listen(number: c_int, handle: &Handle) -> io::Result<Listener> {
    let registry = Registry::get()?;
    registry.watch_at(handle)?;
    let signal = registry.handled(number)?;
    Ok(Listener::new(signal.listeners.subscribe()))
}

/// The runtime tells of signals from now on. Errors and panics are those of [`listen`].
#[cfg(feature = "process")]
#[track_caller]
pub(crate) fn watch_at(handle: &Handle) -> io::Result<()> {
    Registry::get()?.watch_at(handle)
}

/// The current runtime tells of signals from now on, if there is one and it can.
pub(super) fn watch_at_current() {
    if let (Some(registry), Ok(handle)) = (REGISTRY.get(), Handle::try_current()) {
        if handle.has_io() {
            // Without it, other runtimes tell.
            let _ = registry.watch_at(&handle);
        }
    }
}

/// Calls a function after each signal from now on, beside telling those who listen. One per signal.
///
/// # Errors
/// If the system refuses.
#[cfg(feature = "process")]
pub(crate) fn react_to(number: c_int, reaction: fn()) -> io::Result<()> {
    let signal = Registry::get()?.handled(number)?;
    signal.reaction.get_or_init(|| reaction);
    Ok(())
}
