//! The thread that answers on a socket.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener as BlockingListener;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mio::net::{UnixListener, UnixStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::super::super::handle::Handle;
use super::super::super::scheduler::Shared;
use super::client::Client;
use super::report::Report;
use crate::peer;

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
/// The token of the first client.
const FIRST: usize = 2;

/// The maximum number of connections.
const MAX_CLIENTS: usize = 16;

/// The minimum time from the end of one dump to the beginning of the next.
const PAUSE: Duration = Duration::from_millis(50);
/// A pause is at least this many times as long as the dump before it.
const REST: u32 = 4;

/// Small, since the thread only formats dumps and runs no code of the user.
const STACK: usize = 256 << 10;

struct Server {
    shared: Weak<Shared>,
    poll: Poll,
    listener: UnixListener,
    /// Whether a connection could not be accepted, for example because the process has too many files open.
    must_retry: bool,
    /// The index of a client plus [`FIRST`] is its token.
    clients: [Option<Client>; MAX_CLIENTS],
    began: Instant,
    next_dump: Instant,
}

/// Starts the thread. It ends when the waker is called.
pub(super) fn start(shared: Weak<Shared>, listener: BlockingListener) -> io::Result<Arc<Waker>> {
    listener.set_nonblocking(true)?;
    let mut listener = UnixListener::from_std(listener);
    let poll = Poll::new()?;
    let registry = poll.registry();
    registry.register(&mut listener, LISTENER, Interest::READABLE)?;
    let waker = Arc::new(Waker::new(registry, WAKER)?);
    let now = Instant::now();
    let server = Server {
        shared,
        poll,
        listener,
        must_retry: false,
        clients: Default::default(),
        began: now,
        next_dump: now,
    };
    let builder = std::thread::Builder::new().name("pointsman-dump".into());
    // The waker must exist for as long as the thread polls.
    let for_thread = Arc::clone(&waker);
    builder.stack_size(STACK).spawn(move || {
        server.run();
        drop(for_thread);
    })?;
    Ok(waker)
}

impl Server {
    /// Runs until the waker is called or the runtime is dropped.
    fn run(mut self) {
        let mut events = Events::with_capacity(MAX_CLIENTS + FIRST);
        loop {
            match self.poll.poll(&mut events, self.timeout()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return,
                _ => {}
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.must_retry = true,
                    WAKER => return,
                    Token(token) => self.advance(token - FIRST),
                }
            }
            if self.must_retry {
                self.must_retry = self.accept().is_err();
            }
            let now = Instant::now();
            let is_asked = self.clients().any(|client| client.request.is_some());
            if is_asked && now >= self.next_dump {
                let Some(shared) = self.shared.upgrade() else {
                    return;
                };
                self.answer(Handle { shared });
                let end = Instant::now();
                self.next_dump = end + PAUSE.max((end - now) * REST);
            }
            for client in &mut self.clients {
                client.take_if(|client| client.deadline().is_some_and(|deadline| now >= deadline));
            }
        }
    }

    fn clients(&self) -> impl Iterator<Item = &Client> {
        self.clients.iter().flatten()
    }

    fn timeout(&self) -> Option<Duration> {
        let is_asked = self.clients().any(|client| client.request.is_some());
        let dump = is_asked.then_some(self.next_dump);
        let retry = self.must_retry.then(|| Instant::now() + PAUSE);
        let deadlines = self.clients().filter_map(Client::deadline);
        let next = deadlines.chain(dump).chain(retry).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Accepts all waiting connections.
    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(error),
                },
            }
        }
    }

    fn admit(&mut self, mut stream: UnixStream) {
        let user = peer::peer_of(stream.as_fd()).map(|peer| peer.uid);
        if !user.is_ok_and(|user| user == peer::effective_user()) {
            return;
        }
        let active = |&place: &usize| self.clients[place].as_ref().map(|client| client.active);
        let Some(place) = (0..MAX_CLIENTS).min_by_key(active) else {
            return;
        };
        // Closes the connection that had this place.
        self.clients[place] = None;
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = Token(FIRST + place);
        if self
            .poll
            .registry()
            .register(&mut stream, token, interest)
            .is_ok()
        {
            self.clients[place] = Some(Client::new(stream));
            self.advance(place);
        }
    }

    fn advance(&mut self, place: usize) {
        self.clients[place].take_if(|client| client.advance().is_err());
    }

    /// Answers all requests with one dump.
    fn answer(&mut self, runtime: Handle) {
        let report = Report::take(&runtime, self.began);
        drop(runtime);
        for client in &mut self.clients {
            client.take_if(|client| match client.request {
                Some(request) => client.answer(report.answer(request)).is_err(),
                None => false,
            });
        }
    }
}
