//! Sources of I/O: the system tells which are ready, and the tasks that wait for them are woken.
//!
//! Edge-triggered: the system tells once when a source becomes ready, and what it has told is remembered until the
//! source says that it would block.
//!
//! Invariant: one thread at a time asks the system, and it hands on all that it was told before it lets another ask.

use std::io;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use mio::event::Source;
use mio::{Events, Poll, Registry, Token};

use super::super::metrics::Counter;
use super::readiness::{GENERATION_BITS, Readiness};
use super::slab::Slab;
use crate::io::{Interest, Ready};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicBool;
use crate::park::ThreadParker;
use crate::runtime::shutdown_error;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The event of [`Wakeup`]. Sources have smaller numbers.
const WAKEUP: Token = Token(usize::MAX);
/// The event of what tells of signals.
const SIGNALS: Token = Token(usize::MAX - 1);

pub(crate) struct Reactor {
    registry: Registry,
    polling: Mutex<Polling>,
    slab: Slab,
    wakeup: Waker,
    /// What is to be done when there are signals, since somebody asked for one.
    signals: Mutex<Option<fn()>>,
    /// Since the first registration.
    is_used: AtomicBool,
    is_shut_down: AtomicBool,
    pub(in crate::runtime) registered: Counter,
    pub(in crate::runtime) deregistered: Counter,
    /// Written by whoever asks the system.
    pub(in crate::runtime) events: Counter,
}

struct Polling {
    poll: Poll,
    events: Events,
    /// For those who look without waiting.
    busy_events: Events,
}

/// Ends the sleep of the thread that asks the system.
struct Wakeup(mio::Waker);

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0
            .wake()
            .expect("the descriptor that wakes a reactor can be written");
    }
}

impl Reactor {
    /// # Errors
    /// If the system gives no descriptors.
    pub(in crate::runtime) fn new(
        workers: usize,
        max_events: usize,
        max_events_if_busy: usize,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let wakeup = mio::Waker::new(&registry, WAKEUP)?;
        Ok(Self {
            registry,
            polling: Mutex::new(Polling {
                poll,
                events: Events::with_capacity(max_events),
                busy_events: Events::with_capacity(max_events_if_busy),
            }),
            slab: Slab::new(workers),
            wakeup: Waker::from(Arc::new(Wakeup(wakeup))),
            signals: Mutex::new(None),
            is_used: AtomicBool::new(false),
            is_shut_down: AtomicBool::new(false),
            registered: Counter::default(),
            deregistered: Counter::default(),
            events: Counter::default(),
        })
    }

    // --- sources ---

    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Registers a source: its place, and whether it is the first of all.
    ///
    /// # Errors
    /// If the runtime has ended, or the system refuses.
    pub(super) fn register(
        &self,
        source: &mut impl Source,
        interest: Interest,
        worker: Option<usize>,
    ) -> io::Result<(u32, bool)> {
        let index = self
            .slab
            .acquire(worker)
            .ok_or_else(|| io::Error::other("too many sources of I/O are registered"))?;
        let result = if self.is_shut_down.load(SeqCst) {
            // ORDERING: SeqCst, above: who has ended the reactor sees this place, or its end is seen.
            Err(shutdown_error())
        } else {
            let generation = self.slab.get(index).generation();
            let token = token_of(index, generation);
            self.registry.register(source, token, interest.to_mio())
        };
        if let Err(error) = result {
            self.slab.release(index);
            return Err(error);
        }
        self.registered.add_shared(1);
        Ok((index, self.is_first()))
    }

    /// Whether a source is the first of all.
    fn is_first(&self) -> bool {
        !self.is_used() && !self.is_used.swap(true, Relaxed)
    }

    /// Calls `deliver` when there is something to read in what tells of signals, from now on. Says whether that is the
    /// first source of all.
    ///
    /// # Errors
    /// If the runtime has ended, or the system refuses.
    #[cfg(all(unix, any(feature = "process", feature = "signal")))]
    pub(super) fn watch_signals(
        &self,
        source: &mut impl Source,
        deliver: fn(),
    ) -> io::Result<bool> {
        if self.is_shut_down.load(Relaxed) {
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

    pub(super) fn release(&self, index: u32) {
        self.deregistered.add_shared(1);
        self.slab.release(index);
    }

    pub(super) fn readiness(&self, index: u32) -> &Readiness {
        self.slab.get(index)
    }

    // --- asking the system ---

    /// Hands on what the system tells at once. False if another thread asks it.
    pub(super) fn try_turn(&self) -> bool {
        let Ok(mut polling) = self.polling.try_lock() else {
            return false;
        };
        let Polling {
            poll, busy_events, ..
        } = &mut *polling;
        ask(poll, busy_events, Some(Duration::ZERO));
        self.dispatch(busy_events);
        true
    }

    /// Sleeps until a source is ready, the thread is unparked, or the time elapses. If sources are ready, calls
    /// `before_wakers` and then wakes their tasks.
    pub(super) fn park(
        &self,
        parker: &ThreadParker,
        timeout: Option<Duration>,
        before_wakers: impl FnOnce(),
    ) {
        let mut polling = lock(&self.polling);
        let Polling { poll, events, .. } = &mut *polling;
        events.clear();
        parker.park_in(&self.wakeup, || ask(poll, events, timeout));
        if events.iter().any(|event| event.token() != WAKEUP) {
            before_wakers();
            self.dispatch(events);
        }
    }

    fn dispatch(&self, events: &Events) {
        let mut count = 0;
        for event in events {
            match event.token() {
                WAKEUP => (),
                SIGNALS => {
                    let deliver = *lock(&self.signals);
                    deliver.expect("it was put there under the lock")();
                }
                token => {
                    count += 1;
                    let (index, generation) = place_of(token);
                    let place = self.slab.get(index);
                    place.set(generation, Ready::from_mio(event));
                }
            }
        }
        self.events.add(count);
    }

    // --- the end ---

    /// Whoever waits gets an error, and so does who registers from now on.
    pub(super) fn shut_down(&self) {
        // ORDERING: SeqCst: see `register`.
        if !self.is_shut_down.swap(true, SeqCst) {
            self.slab.iter().for_each(Readiness::shut_down);
        }
    }
}

fn ask(poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) {
    match poll.poll(events, timeout) {
        Ok(()) => (),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
        // With valid arguments there is no other.
        Err(error) => panic!("the system does not tell of I/O: {error}"),
    }
}

const INDEX_BITS: u32 = usize::BITS - GENERATION_BITS;

fn token_of(index: u32, generation: u32) -> Token {
    Token((generation as usize) << INDEX_BITS | index as usize)
}

fn place_of(token: Token) -> (u32, u32) {
    let index = token.0 & ((1 << INDEX_BITS) - 1);
    (index as u32, (token.0 >> INDEX_BITS) as u32)
}
