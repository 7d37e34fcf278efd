//! One thread that waits for all connections at once and echoes what it receives.

use std::io::{self, ErrorKind, Read, Write};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Events, Interest, Poll, Token};

pub(crate) trait Listener: Source {
    type Stream: Read + Write + Source;
    fn accept(&self) -> io::Result<Self::Stream>;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    fn accept(&self) -> io::Result<UnixStream> {
        self.accept().map(|(stream, _)| stream)
    }
}

const LISTENS: Token = Token(usize::MAX - 1);

/// Closes a connection after its first message if `once` is set.
pub(crate) fn serve<L: Listener>(mut listener: L, once: bool) {
    let mut poll = Poll::new().expect("a descriptor");
    let mut events = Events::with_capacity(1024);
    let registry = poll.registry().try_clone().expect("a descriptor");
    registry
        .register(&mut listener, LISTENS, Interest::READABLE)
        .expect("a socket that can be waited for");
    let mut streams: Vec<Option<L::Stream>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            waited => waited.expect("events can be waited for"),
        }
        for event in &events {
            if event.token() == LISTENS {
                while let Some(mut stream) = accepted(&listener) {
                    let index = free.pop().unwrap_or(streams.len());
                    registry
                        .register(&mut stream, Token(index), Interest::READABLE)
                        .expect("a socket that can be waited for");
                    if index == streams.len() {
                        streams.push(Some(stream));
                    } else {
                        streams[index] = Some(stream);
                    }
                }
                continue;
            }
            let index = event.token().0;
            let Some(stream) = &mut streams[index] else {
                continue;
            };
            if matches!(echo(stream, once), Echoed::Over) {
                // It is closed, so there are no more events for it.
                streams[index] = None;
                free.push(index);
            }
        }
    }
}

fn accepted<L: Listener>(listener: &L) -> Option<L::Stream> {
    match listener.accept() {
        Ok(stream) => Some(stream),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("no connection: {error}"),
    }
}

enum Echoed {
    Waits,
    Over,
}

fn echo(stream: &mut (impl Read + Write), once: bool) -> Echoed {
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => {
                if stream.write_all(&buffer[..count]).is_err() || once {
                    return Echoed::Over;
                }
                // A short read means that the socket is empty.
                if count < buffer.len() {
                    return Echoed::Waits;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Echoed::Waits,
            _ => return Echoed::Over,
        }
    }
}
