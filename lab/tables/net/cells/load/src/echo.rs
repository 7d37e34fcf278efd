//! Requests over lasting connections, one in flight on each: messages that are echoed, or requests to a web server.
//!
//! Without a rate, a connection sends its next message when the last one came back, and a request is timed from its
//! write to the read that completes its answer. At a rate, requests are due at random times that do not depend on
//! answers, the same for every subject; a connection that still awaits an answer sends the request after it. The
//! request is timed from when it was due, so a stall of the server counts for all requests due meanwhile. Either way
//! the time includes the wait for this thread.
//!
//! Invariant: every answer is checked before the next request is sent, and at the end of a run none is missing.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::{Duration, Instant};

use fastrand::Rng;
use mio::event::Source;
use mio::net::{TcpStream, UdpSocket, UnixStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use protocol::{Done, Latencies};

use crate::answer::{Answer, Requests};
use crate::program::Program;
use crate::tls::{self, Tls};
use crate::{Driver, LONGEST_WAIT, Pace};

const MOST_EVENTS: usize = 1024;
const IS_DUE: Token = Token(usize::MAX - 1);
const SEED: u64 = 1;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

pub(crate) struct Echo<S> {
    poll: Poll,
    events: Events,
    connections: Vec<Connection<S>>,
    buffer: Box<[u8]>,
}

struct Connection<S> {
    stream: S,
    requests: Requests,
    number: u32,
    turn: u32,
    /// When the request in flight was due.
    waits_since: Option<Instant>,
    /// The due times of requests that could not be sent yet.
    overdue: VecDeque<Instant>,
    answer: Answer,
}

pub(crate) fn tcp(address: &str, connections: usize, requests: Requests) -> Echo<TcpStream> {
    let connect = || {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(TcpStream::from_std(stream))
    };
    Echo::new(connections, requests, connect)
}

/// `address` is followed by the path of the certificate.
pub(crate) fn tls(address: &str, connections: usize, requests: Requests) -> Echo<Tls> {
    let (address, certificate) = address.split_once(' ').expect("<address> <certificate>");
    let config = tls::trust(certificate);
    let connect = || {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        tls::connect(stream, &config)
    };
    Echo::new(connections, requests, connect)
}

pub(crate) fn unix(path: &str, connections: usize) -> Echo<UnixStream> {
    let connect = || {
        let stream = StdUnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        Ok(UnixStream::from_std(stream))
    };
    Echo::new(connections, Requests::Messages, connect)
}

pub(crate) fn udp(address: &str, sockets: usize) -> Echo<Datagrams> {
    let server: SocketAddr = address.parse().expect("an address");
    let connect = || {
        let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        socket.connect(server)?;
        Ok(Datagrams(socket))
    };
    Echo::new(sockets, Requests::Messages, connect)
}

/// A socket that sends and receives one message as a whole.
pub(crate) struct Datagrams(UdpSocket);

impl<S: Read + Write + Source> Echo<S> {
    fn new(count: usize, requests: Requests, connect: impl Fn() -> io::Result<S>) -> Self {
        let poll = Poll::new().expect("a descriptor");
        let connections = (0..count)
            .map(|index| {
                let mut stream =
                    connect().unwrap_or_else(|error| panic!("connection {index}: {error}"));
                poll.registry()
                    .register(&mut stream, Token(index), Interest::READABLE)
                    .expect("a socket that can be waited for");
                Connection::new(stream, requests.clone(), index)
            })
            .collect();
        Self {
            poll,
            events: Events::with_capacity(MOST_EVENTS),
            connections,
            buffer: vec![0; BUFFER].into(),
        }
    }

    fn as_fast_as_answers_come(&mut self, duration: Duration) -> Done {
        let started_at = Instant::now();
        let until = started_at + duration;
        for connection in &mut self.connections {
            connection.send(Instant::now());
        }
        let mut latencies = Latencies::default();
        while Instant::now() < until {
            self.turn(until, |connection, took, now| {
                latencies.record(took);
                connection.send(now);
            });
        }
        self.wait_for_all(|_, took| latencies.record(took));
        done(&latencies, started_at.elapsed())
    }

    fn at_rate(&mut self, duration: Duration, rate: u32) -> Done {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK);
        let timer = timer.expect("a descriptor");
        let descriptor = timer.as_fd().as_raw_fd();
        let mut source = SourceFd(&descriptor);
        let registry = self.poll.registry();
        registry
            .register(&mut source, IS_DUE, Interest::READABLE)
            .expect("a timer can be waited for");

        let mut random = Rng::with_seed(SEED);
        let mut gap = || Duration::from_secs_f64(-(1.0 - random.f64()).ln() / f64::from(rate));
        let started_at = Instant::now();
        let until = started_at + duration;
        let mut due = started_at + gap();
        let mut latencies = Latencies::default();
        for next in (0..self.connections.len()).cycle() {
            while due > Instant::now() {
                // At least a nanosecond, because zero disarms the timer.
                let left = due.saturating_duration_since(Instant::now());
                let left = left.max(Duration::from_nanos(1));
                timer
                    .set(Expiration::OneShot(left.into()), TimerSetTimeFlags::empty())
                    .expect("a timer can be set");
                self.turn(due + LONGEST_WAIT, |connection, took, _| {
                    latencies.record(took);
                    connection.send_overdue();
                });
            }
            let connection = &mut self.connections[next];
            connection.overdue.push_back(due);
            connection.send_overdue();
            due += gap();
            if due >= until {
                break;
            }
        }
        self.poll
            .registry()
            .deregister(&mut source)
            .expect("it was registered");
        let took = started_at.elapsed();
        self.wait_for_all(|connection, took| {
            latencies.record(took);
            connection.send_overdue();
        });
        done(&latencies, took)
    }

    /// Awaits the answers to all requests, also of those that are overdue: as long as answers come.
    fn wait_for_all(&mut self, mut answered: impl FnMut(&mut Connection<S>, Duration)) {
        let mut until = Instant::now() + LONGEST_WAIT;
        while self
            .connections
            .iter()
            .any(|connection| connection.waits_since.is_some())
        {
            assert!(Instant::now() < until, "a request was never answered");
            self.turn(until, |connection, took, _| {
                answered(connection, took);
                until = Instant::now() + LONGEST_WAIT;
            });
        }
    }

    /// Receives until then, and reports each answer.
    fn turn(
        &mut self,
        until: Instant,
        mut answered: impl FnMut(&mut Connection<S>, Duration, Instant),
    ) {
        let left = until.saturating_duration_since(Instant::now());
        match self.poll.poll(&mut self.events, Some(left)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            waited => waited.expect("events can be waited for"),
        }
        for event in &self.events {
            if event.token() == IS_DUE {
                continue;
            }
            let connection = &mut self.connections[event.token().0];
            if let Some(due) = connection.receive(&mut self.buffer) {
                let now = Instant::now();
                answered(connection, now - due, now);
            }
        }
    }
}

fn done(latencies: &Latencies, took: Duration) -> Done {
    Done {
        requests: latencies.count(),
        seconds: took.as_secs_f64(),
        latency: latencies.percentiles(),
    }
}

impl<S: Read + Write + Source> Driver for Echo<S> {
    fn run(&mut self, _: &mut Program, duration: Duration, pace: Pace) -> Done {
        match pace {
            Pace::AsFastAsAnswersCome => self.as_fast_as_answers_come(duration),
            Pace::PerSecond(rate) => self.at_rate(duration, rate),
        }
    }
}

impl<S: Read + Write> Connection<S> {
    fn new(stream: S, requests: Requests, index: usize) -> Self {
        Self {
            stream,
            requests,
            number: index as u32,
            turn: 0,
            waits_since: None,
            overdue: VecDeque::new(),
            answer: Answer::default(),
        }
    }

    fn send(&mut self, due: Instant) {
        self.turn = self.turn.wrapping_add(1);
        self.waits_since = Some(due);
        self.answer.begin();
        self.requests.write(self.number, self.turn, |request| {
            let count = self.stream.write(request);
            assert_eq!(count.expect("room for a request"), request.len());
        });
    }

    fn send_overdue(&mut self) {
        if self.waits_since.is_none()
            && let Some(due) = self.overdue.pop_front()
        {
            self.send(due);
        }
    }

    /// Returns when the request was due, once the answer is complete. Nothing can follow the answer, so the socket need
    /// not be read until it is empty.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<Instant> {
        let due = self.waits_since?;
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => panic!("a connection was closed"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => panic!("a connection broke: {error}"),
            };
            let request = (self.number, self.turn);
            let (requests, answer) = (&self.requests, &mut self.answer);
            if requests.is_answered(request, answer, &buffer[..count]) {
                self.waits_since = None;
                return Some(due);
            }
        }
    }
}

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)
    }
}

impl Write for Datagrams {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.0.send(datagram)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Datagrams {
    fn register(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.0.register(to, token, interest)
    }

    fn reregister(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.0.reregister(to, token, interest)
    }

    fn deregister(&mut self, from: &Registry) -> io::Result<()> {
        self.0.deregister(from)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use protocol::MESSAGE;

    use super::*;

    /// Serves one connection; `answer` modifies each message.
    fn server(mut answer: impl FnMut(&mut [u8; MESSAGE]) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut message = [0; MESSAGE];
            while stream.read_exact(&mut message).is_ok() {
                answer(&mut message);
                if stream.write_all(&message).is_err() {
                    break;
                }
            }
        });
        address
    }

    /// Stalls once, after that many messages.
    fn server_that_stands_still() -> String {
        let mut count = 0;
        server(move |_| {
            count += 1;
            if count == 20 {
                thread::sleep(Duration::from_millis(100));
            }
        })
    }

    #[test]
    #[should_panic(expected = "the echo differs from the message")]
    fn a_wrong_answer_is_seen() {
        let address = server(|message| message[MESSAGE / 2] ^= 1);
        tcp(&address, 1, Requests::Messages).as_fast_as_answers_come(Duration::from_secs(10));
    }

    #[test]
    fn all_that_would_have_been_asked_meanwhile_is_late() {
        let mut echo = tcp(&server_that_stands_still(), 1, Requests::Messages);
        let done = echo.at_rate(Duration::from_millis(500), 1_000);
        // About a hundred of five hundred requests are due during the stall.
        assert!(done.requests > 300);
        assert!(done.latency.p99 > 80_000.0);
    }

    #[test]
    fn in_a_closed_loop_one_request_is_late() {
        let mut echo = tcp(&server_that_stands_still(), 1, Requests::Messages);
        let done = echo.as_fast_as_answers_come(Duration::from_millis(500));
        assert!(done.requests > 1_000);
        assert!(done.latency.p99 < 80_000.0);
    }
}
