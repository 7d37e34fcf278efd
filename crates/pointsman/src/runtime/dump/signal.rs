//! Prints dumps on signals, for [`Builder::dump_on_signal`](super::super::Builder::dump_on_signal).
//!
//! The handler writes the number of the signal to a socket. One thread per process, which the first runtime with this
//! option starts, reads it and prints the dumps, also while all workers are stuck. It sleeps between signals.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{process, thread};

use libc::c_int;

use super::super::handle::Handle;
use super::super::scheduler::Shared;

struct Signals {
    /// The end of the socket that the handlers write to, once the thread has started. Never closed.
    sender: Option<&'static UnixStream>,
    /// The signals that have a handler.
    handled: Vec<c_int>,
    runtimes: Vec<(c_int, Weak<Shared>)>,
    /// The id of the process that all this is of; 0 before the first.
    process: u32,
}

impl Signals {
    const NONE: Self = Self {
        sender: None,
        handled: Vec::new(),
        runtimes: Vec::new(),
        process: 0,
    };
}

static SIGNALS: Mutex<Signals> = Mutex::new(Signals::NONE);

fn signals() -> MutexGuard<'static, Signals> {
    SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the process handle the signal.
///
/// # Errors
/// If the signal cannot be handled, or the thread cannot be started.
pub(in crate::runtime) fn handle(signal: c_int) -> io::Result<()> {
    let number = u8::try_from(signal).ok();
    let is_allowed = |_: &u8| signal > 0 && !signal_hook_registry::FORBIDDEN.contains(&signal);
    let Some(number) = number.filter(is_allowed) else {
        let message = format!("Refusing to register signal {signal}");
        return Err(io::Error::other(message));
    };
    let mut signals = signals();
    let process = process::id();
    if signals.process != process {
        // A process that was forked has no thread that prints, and its parent's runtimes do not run in it.
        *signals = Signals {
            process,
            ..Signals::NONE
        };
    }
    let sender = match signals.sender {
        Some(sender) => sender,
        None => start()?,
    };
    signals.sender = Some(sender);
    if !signals.handled.contains(&signal) {
        let handler = move || {
            // A process that was forked has this handler too, and the socket of its parent.
            if process::id() == process {
                // A full socket already has enough bytes.
                drop((&*sender).write(&[number]));
            }
        };
        // SAFETY: the handler asks for the id of the process and sends on a socket, which is async-signal-safe.
        unsafe { signal_hook_registry::register(signal, handler) }?;
        signals.handled.push(signal);
    }
    Ok(())
}

/// Prints a dump of the runtime on each further signal, which must be handled.
pub(in crate::runtime) fn watch(signal: c_int, shared: &Arc<Shared>) {
    let runtimes = &mut signals().runtimes;
    runtimes.retain(|(_, runtime)| runtime.strong_count() > 0);
    runtimes.push((signal, Arc::downgrade(shared)));
}

/// Starts the thread. Returns the end of the socket that the handlers write to.
fn start() -> io::Result<&'static UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    sender.set_nonblocking(true)?;
    let builder = thread::Builder::new().name("pointsman-dump".into());
    builder.spawn(move || run(&receiver))?;
    Ok(Box::leak(Box::new(sender)))
}

fn run(mut receiver: &UnixStream) {
    let mut bytes = [0; 64];
    loop {
        // Only an interrupted call can fail, since the other end is never closed.
        let count = receiver.read(&mut bytes).unwrap_or(0);
        let mut numbers = bytes[..count].to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            // Dropped without the lock, as it may be the last reference.
            let is_alive = |(signal, runtime): &(c_int, Weak<Shared>)| match *signal {
                signal if signal == c_int::from(number) => runtime.upgrade(),
                _ => None,
            };
            let runtimes: Vec<_> = signals().runtimes.iter().filter_map(is_alive).collect();
            for shared in runtimes {
                // The thread continues if standard error is closed.
                let _ = catch_unwind(AssertUnwindSafe(|| print(shared)));
            }
        }
    }
}

fn print(shared: Arc<Shared>) {
    let handle = Handle { shared };
    let mut text = format!("pointsman: dump of runtime {}", handle.id());
    if let Some(name) = &handle.shared.config.name {
        text += &format!(" {name:?}");
    }
    text += &format!("\n{}\n", handle.dump());
    let _ = io::stderr().write_all(text.as_bytes());
}
