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
use super::client::{Client, refusal};
use super::report::Report;
use crate::peer;

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
/// The token of the first client.
const FIRST: usize = 2;

/// The maximum number of connections.
const MAX_CLIENTS: usize = 16;

/// The minimum time from the end of one turn of answers, or of accepting connections, to the beginning of the next.
const PAUSE: Duration = Duration::from_millis(50);
/// The time from one turn of answers to the next is at least this many times as long as the first.
const REST: u32 = 4;

/// Small, since the thread only formats dumps and runs no code of the user.
const STACK: usize = 256 << 10;

struct Server {
    shared: Weak<Shared>,
    poll: Poll,
    listener: UnixListener,
    /// Whether there may be connections to accept.
    must_accept: bool,
    next_accept: Instant,
    /// The index of a client plus [`FIRST`] is its token.
    clients: [Option<Client>; MAX_CLIENTS],
    began: Instant,
    next_answers: Instant,
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
        must_accept: false,
        next_accept: now,
        clients: Default::default(),
        began: now,
        next_answers: now,
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
                    LISTENER => self.must_accept = true,
                    WAKER => return,
                    Token(token) => self.advance(token - FIRST),
                }
            }
            let now = Instant::now();
            if self.must_accept && now >= self.next_accept {
                self.must_accept = self.accept();
                self.next_accept = now + PAUSE;
            }
            let is_asked = self.clients().any(|client| client.request.is_some());
            if is_asked && now >= self.next_answers {
                let Some(shared) = self.shared.upgrade() else {
                    return;
                };
                self.answer(Handle { shared });
                let end = Instant::now();
                self.next_answers = end + PAUSE.max((end - now) * REST);
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
        let answers = is_asked.then_some(self.next_answers);
        let accept = self.must_accept.then_some(self.next_accept);
        let deadlines = self.clients().filter_map(Client::deadline);
        let next = deadlines.chain(answers).chain(accept).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Accepts connections that wait. Returns whether there may be more: a tool may connect again and again, or the process
    /// may have too many files open.
    fn accept(&mut self) -> bool {
        for _ in 0..MAX_CLIENTS {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return false,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return true,
                },
            }
        }
        true
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

    /// Answers one request of each client, all with the same dump.
    fn answer(&mut self, runtime: Handle) {
        let is_dump = |client: &Client| matches!(client.request, Some(Ok(_)));
        let report = self
            .clients()
            .any(is_dump)
            .then(|| Report::take(&runtime, self.began));
        drop(runtime);
        for client in &mut self.clients {
            client.take_if(|client| {
                let answer = match (client.request, &report) {
                    (Some(Ok(request)), Some(report)) => report.answer(request),
                    (Some(Err(reason)), _) => refusal(reason),
                    _ => return false,
                };
                client.answer(answer).is_err()
            });
        }
    }
}
