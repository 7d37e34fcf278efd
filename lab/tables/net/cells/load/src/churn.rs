//! Connections that come and go: each connects, sends a message, receives it back and sees the other side close.
//!
//! Invariant: during a run the number of open connections is constant, and between runs there is none. The subject
//! closes first and this side then resets the connection, so none lingers in the system and ports do not run out.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use protocol::{Done, Latencies, MESSAGE, message};
use socket2::SockRef;

use crate::program::Program;
use crate::{Driver, LONGEST_WAIT, Pace};

pub(crate) struct Churn {
    address: SocketAddr,
    poll: Poll,
    count: usize,
    next: u32,
}

struct Connection {
    stream: TcpStream,
    number: u32,
    begun_at: Instant,
    is_sent: bool,
    received: [u8; MESSAGE + 1],
    count: usize,
}

impl Churn {
    pub(crate) fn new(address: &str, count: usize) -> Self {
        Self {
            address: address.parse().expect("an address"),
            poll: Poll::new().expect("a descriptor"),
            count,
            next: 0,
        }
    }

    fn connect(&mut self, index: usize) -> Connection {
        self.next += 1;
        Connection::new(self.address, self.next, self.poll.registry(), Token(index))
    }
}

impl Driver for Churn {
    fn run(&mut self, _: &mut Program, duration: Duration, _: Pace) -> Done {
        let started_at = Instant::now();
        let mut connections: Vec<_> = (0..self.count).map(|index| self.connect(index)).collect();
        let mut open = self.count;
        let mut events = Events::with_capacity(open);
        let mut latencies = Latencies::default();
        while open > 0 {
            match self.poll.poll(&mut events, Some(LONGEST_WAIT)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                waited => waited.expect("events can be waited for"),
            }
            assert!(!events.is_empty(), "a request was never answered");
            for event in &events {
                let index = event.token().0;
                if !connections[index].go_on() {
                    continue;
                }
                latencies.record(connections[index].begun_at.elapsed());
                if started_at.elapsed() < duration {
                    connections[index] = self.connect(index);
                } else {
                    connections[index].close(self.poll.registry());
                    open -= 1;
                }
            }
        }
        Done {
            requests: latencies.count(),
            seconds: started_at.elapsed().as_secs_f64(),
            latency: latencies.percentiles(),
        }
    }
}

impl Connection {
    fn new(address: SocketAddr, number: u32, registry: &Registry, token: Token) -> Self {
        let begun_at = Instant::now();
        let mut stream = TcpStream::connect(address).expect("a port that is free");
        SockRef::from(&stream)
            .set_linger(Some(Duration::ZERO))
            .expect("a socket that is open");
        registry
            .register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)
            .expect("a socket that can be waited for");
        Self {
            stream,
            number,
            begun_at,
            is_sent: false,
            received: [0; MESSAGE + 1],
            count: 0,
        }
    }

    /// No more events come for it.
    fn close(&mut self, registry: &Registry) {
        registry
            .deregister(&mut self.stream)
            .expect("it was registered");
    }

    /// Advances as far as possible. Returns true once the other side has answered and closed.
    fn go_on(&mut self) -> bool {
        if !self.is_sent {
            match self.stream.write(&message(self.number, 0)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::NotConnected => return false,
                count => assert_eq!(count.expect("a connection"), MESSAGE),
            }
            self.is_sent = true;
        }
        loop {
            match self.stream.read(&mut self.received[self.count..]) {
                Ok(0) => {
                    let sent = message(self.number, 0);
                    let received = &self.received[..self.count];
                    assert!(received == sent, "the echo differs from the message");
                    return true;
                }
                Ok(count) => self.count += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => panic!("a connection broke: {error}"),
            }
        }
    }
}
