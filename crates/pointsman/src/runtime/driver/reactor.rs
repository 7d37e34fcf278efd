//! I/O sources: polls the operating system for events and wakes the tasks that wait for them.
//!
//! Events are edge-triggered: the system reports a source once when it becomes ready.
//! [`ScheduledIo`](super::scheduled_io::ScheduledIo) remembers the readiness until a call has exhausted the source.
//!
//! Invariant: one thread at a time polls the system, and it dispatches all events before another thread may poll.

use std::io;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use mio::event::Source;
use mio::{Events, Poll, Registry, Token};

use super::super::counter::Counter;
#[cfg(all(unix, any(feature = "process", feature = "signal")))]
use super::super::error::shutdown_error;
use super::interest::Interest;
use super::ready::Ready;
use super::registrations::{Entry, Registrations};
use super::scheduled_io::GENERATION_BITS;
use super::source::RegisteredSource;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicBool;
use crate::loom::{lock, try_lock};
use crate::park::ThreadParker;
use std::sync::atomic::Ordering::Relaxed;

/// The token of [`Wakeup`]. The tokens of sources are smaller.
const WAKEUP: Token = Token(usize::MAX);
/// The token of the pipe that signals are announced through.
const SIGNALS: Token = Token(usize::MAX - 1);

pub(crate) struct Reactor {
    registry: Registry,
    polling: Mutex<Polling>,
    registrations: Registrations,
    wakeup: Waker,
    /// Called for an event of [`SIGNALS`]. Set when the first signal listener registers.
    signals: Mutex<Option<fn()>>,
    /// Whether a source was ever registered.
    is_used: AtomicBool,
    pub(in crate::runtime) registered: Counter,
    pub(in crate::runtime) deregistered: Counter,
    /// Written by the thread that polls.
    pub(in crate::runtime) events: Counter,
    /// The number of polls of the system. Written by the thread that polls.
    #[cfg(feature = "diagnostics")]
    turns: Counter,
}

struct Polling {
    poll: Poll,
    events: Events,
    /// The buffer for polls that do not wait.
    busy_events: Events,
}

/// Ends the wait of the thread that polls.
struct Wakeup(mio::Waker);

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0
            .wake()
            .expect("the descriptor that wakes a reactor is writable");
    }
}

impl Reactor {
    /// # Errors
    /// If the system provides no descriptors.
    pub(in crate::runtime) fn new(
        workers: usize,
        max_events: usize,
        max_events_if_busy: usize,
    ) -> io::Result<Arc<Self>> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let wakeup = mio::Waker::new(&registry, WAKEUP)?;
        Ok(Arc::new(Self {
            registry,
            polling: Mutex::new(Polling {
                poll,
                events: Events::with_capacity(max_events),
                busy_events: Events::with_capacity(max_events_if_busy),
            }),
            registrations: Registrations::new(workers),
            wakeup: Waker::from(Arc::new(Wakeup(wakeup))),
            signals: Mutex::new(None),
            is_used: AtomicBool::new(false),
            registered: Counter::default(),
            deregistered: Counter::default(),
            events: Counter::default(),
            #[cfg(feature = "diagnostics")]
            turns: Counter::default(),
        }))
    }

    // --- sources ---

    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Registers a source; fails as `Handle::register` does. Also returns whether it is the first source
    /// of this reactor.
    pub(in crate::runtime) fn register(
        self: &Arc<Self>,
        source: &mut impl Source,
        interest: Interest,
        worker: Option<usize>,
    ) -> io::Result<(RegisteredSource, bool)> {
        let entry = self.registrations.acquire(worker)?;
        let token = token_of(entry.index, entry.io.generation());
        if let Err(error) = self.registry.register(source, token, interest.to_mio()) {
            self.registrations.release(entry);
            return Err(error);
        }
        self.registered.add_shared(1);
        // SAFETY: the entry was acquired above from this reactor, and nothing else releases it.
        let source = unsafe { RegisteredSource::new(self, entry) };
        Ok((source, self.is_first()))
    }

    /// Called after a registration. Returns whether it was the first one.
    fn is_first(&self) -> bool {
        !self.is_used() && !self.is_used.swap(true, Relaxed)
    }

    /// Does what `Handle::watch_signals` says. Returns whether this is the first source of this reactor.
    #[cfg(all(unix, any(feature = "process", feature = "signal")))]
    pub(in crate::runtime) fn watch_signals(
        &self,
        source: &mut impl Source,
        deliver: fn(),
    ) -> io::Result<bool> {
        if self.registrations.is_shut_down() {
            return Err(shutdown_error());
        }
        let mut signals = lock(&self.signals);
        if signals.is_some() {
            return Ok(false);
        }
        let interest = Interest::READABLE.to_mio();
        self.registry.register(source, SIGNALS, interest)?;
        *signals = Some(deliver);
        Ok(self.is_first())
    }

    pub(super) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.registry.deregister(source)
    }

    pub(super) fn release(&self, entry: &Entry) {
        self.deregistered.add_shared(1);
        self.registrations.release(entry);
    }

    // --- polling the system ---

    /// Dispatches the events that are available now. Returns false if another thread is polling.
    pub(super) fn try_turn(&self) -> bool {
        let Some(mut polling) = try_lock(&self.polling) else {
            return false;
        };
        let Polling {
            poll, busy_events, ..
        } = &mut *polling;
        poll_system(poll, busy_events, Some(Duration::ZERO));
        self.count_turn();
        self.dispatch(busy_events);
        true
    }

    /// Waits until a source is ready, the thread is unparked, or the timeout has elapsed. If sources are ready, calls
    /// `before_wakers` and then wakes their tasks. If another thread is polling, waits without polling.
    pub(super) fn park(
        &self,
        parker: &ThreadParker,
        timeout: Option<Duration>,
        before_wakers: impl FnOnce(),
    ) {
        // Waiting for the lock would lose calls of the scheduler: an unpark does not end that wait, and a waker may block the
        // thread that polls. That thread unparks this one afterwards: see `Driver::poll_io`.
        let Some(mut polling) = try_lock(&self.polling) else {
            parker.park(timeout);
            return;
        };
        let Polling { poll, events, .. } = &mut *polling;
        events.clear();
        parker.park_in(&self.wakeup, || poll_system(poll, events, timeout));
        self.count_turn();
        if events.iter().any(|event| event.token() != WAKEUP) {
            before_wakers();
            self.dispatch(events);
        }
    }

    #[inline]
    fn count_turn(&self) {
        #[cfg(feature = "diagnostics")]
        self.turns.add(1);
    }

    fn dispatch(&self, events: &Events) {
        let mut count = 0;
        for event in events {
            match event.token() {
                WAKEUP => (),
                SIGNALS => {
                    let deliver = *lock(&self.signals);
                    deliver.expect("`watch_signals` sets it under the lock")();
                }
                token => {
                    count += 1;
                    let (index, generation) = parts_of(token);
                    let entry = self.registrations.get(index);
                    entry.io.set(generation, Ready::from_mio(event));
                }
            }
        }
        self.events.add(count);
    }

    // --- for the stall watch ---

    /// The number of polls of the system.
    #[cfg(feature = "diagnostics")]
    pub(super) fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// Whether the system has events that no poll has taken. Does not take them.
    #[cfg(all(feature = "diagnostics", unix))]
    pub(super) fn has_events(&self) -> bool {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd {
            fd: self.registry.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: it is one valid entry, and the call does not wait.
        let has_result = self.is_used() && unsafe { libc::poll(&mut poll, 1, 0) } == 1;
        // Not if a system answers that it cannot tell.
        has_result && poll.revents & libc::POLLIN != 0
    }

    /// This system has no call to find out.
    #[cfg(all(feature = "diagnostics", not(unix)))]
    pub(super) fn has_events(&self) -> bool {
        false
    }

    // --- shutdown ---

    /// Fails all current and later operations on sources of this reactor with a shutdown error.
    pub(super) fn shut_down(&self) {
        self.registrations.shut_down();
    }
}

fn poll_system(poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) {
    match poll.poll(events, timeout) {
        Ok(()) => (),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
        // The arguments are valid, so the system has no other error to report.
        Err(error) => panic!("polling for I/O events failed: {error}"),
    }
}

const INDEX_BITS: u32 = usize::BITS - GENERATION_BITS;

fn token_of(index: u32, generation: u32) -> Token {
    Token((generation as usize) << INDEX_BITS | index as usize)
}

fn parts_of(token: Token) -> (u32, u32) {
    let index = token.0 & ((1 << INDEX_BITS) - 1);
    (index as u32, (token.0 >> INDEX_BITS) as u32)
}
