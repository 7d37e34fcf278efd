//! Delivers Unix signals to listeners.
//!
//! The signal handler does the minimum: it sets the signal's pending flag and writes a byte to a pipe that the whole
//! process shares. Each runtime with a listener polls the other end; the first to see the byte drains the pipe and
//! notifies all listeners, regardless of their runtime.
//!
//! Invariant: the flag is set before the byte is written, and the pipe is drained before the flags are taken. A
//! delivery after the last signal thus either sees its flag, or is run again by its byte. If the pipe is full, a
//! delivery is still to come.

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
    /// Indexed by signal number, minus 1.
    signals: Box<[SignalEntry]>,
    sender: pipe::Sender,
    receiver: pipe::Receiver,
}

#[derive(Default)]
struct SignalEntry {
    is_pending: AtomicBool,
    listeners: watch::Sender<()>,
    has_handler: Mutex<bool>,
    /// Called in addition to notifying the listeners.
    reaction: OnceLock<fn()>,
}

/// The pipe is never closed.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

impl Registry {
    fn get() -> io::Result<&'static Self> {
        if let Some(registry) = REGISTRY.get() {
            return Ok(registry);
        }
        let (sender, receiver) = pipe::new()?;
        // If two threads race, one pipe is dropped.
        Ok(REGISTRY.get_or_init(|| Self {
            signals: (1..=last_signal())
                .map(|_| SignalEntry::default())
                .collect(),
            sender,
            receiver,
        }))
    }

    /// Returns the signal's entry, with a handler installed.
    fn handled(&'static self, number: c_int) -> io::Result<&'static SignalEntry> {
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
                // ORDERING: SeqCst: the flag is set before the byte is written; `deliver` swaps it after reading the
                // byte. The system calls between order as much.
                signal.is_pending.store(true, SeqCst);
                // A full pipe already has enough bytes to trigger a delivery.
                let _ = (&self.sender).write(&[0]);
            };
            // SAFETY: the handler stores to an atomic and calls `write`, which are both async-signal-safe.
            unsafe { signal_hook_registry::register(number, handler) }?;
            *has_handler = true;
        }
        Ok(signal)
    }

    fn deliver(&self) {
        let mut bytes = [0; 1024];
        // A read that does not fill the buffer has drained the pipe.
        while matches!((&self.receiver).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        for signal in &self.signals {
            // ORDERING: SeqCst: the swap comes after the pipe was drained, so it sees the flag of each byte that was
            // read; pairs with the handler's store.
            if signal.is_pending.swap(false, SeqCst) {
                // A waker's panic, which has already been reported, is caught: the remaining listeners must be
                // notified.
                let notify = || signal.listeners.send_replace(());
                drop(catch_unwind(AssertUnwindSafe(notify)));
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

/// Linux and illumos also have real-time signals.
fn last_signal() -> c_int {
    #[cfg(any(target_os = "linux", target_os = "illumos"))]
    return libc::SIGRTMAX();
    #[cfg(not(any(target_os = "linux", target_os = "illumos")))]
    return 33;
}

/// Creates a listener, and makes the runtime deliver signals from now on.
///
/// # Errors
/// If the signal cannot be handled, the runtime has shut down, or the system refuses.
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

/// Makes the runtime deliver signals from now on. Errors and panics are those of [`listen`].
#[cfg(feature = "process")]
#[track_caller]
pub(crate) fn watch_at(handle: &Handle) -> io::Result<()> {
    Registry::get()?.watch_at(handle)
}

/// Makes the current runtime deliver signals from now on, if there is one with I/O.
pub(super) fn watch_at_current() {
    if let (Some(registry), Ok(handle)) = (REGISTRY.get(), Handle::try_current()) {
        if handle.has_io() {
            // On an error other runtimes still deliver.
            let _ = registry.watch_at(&handle);
        }
    }
}

/// Calls a function after each such signal, in addition to notifying listeners. One function per signal.
///
/// # Errors
/// If the system refuses to deregister it.
#[cfg(feature = "process")]
pub(crate) fn react_to(number: c_int, reaction: fn()) -> io::Result<()> {
    let signal = Registry::get()?.handled(number)?;
    signal.reaction.get_or_init(|| reaction);
    Ok(())
}
