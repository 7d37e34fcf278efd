//! One connection. Its memory is bounded: it keeps one request and one answer, and reads the next request only after
//! the answer has been sent.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::net::UnixStream;

use super::json::Json;
use super::report::VERSION;
use super::request::{MAX_LENGTH, Request};

/// A tool that reads no part of its answer for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Client {
    pub(super) stream: UnixStream,
    received: Vec<u8>,
    /// What was requested and is not answered yet, or why it is refused. Refusals have to wait for their turn too, so that
    /// a tool cannot keep the thread busy with them.
    pub(super) request: Option<Result<Request, &'static str>>,
    answer: Vec<u8>,
    /// The number of bytes of the answer that were sent.
    sent: usize,
    /// Whether the connection ends with this answer.
    is_last: bool,
    /// When the last bytes were received or sent.
    pub(super) active: Instant,
}

/// The connection has ended.
pub(super) struct Ended;

impl Client {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
            request: None,
            answer: Vec::new(),
            sent: 0,
            is_last: false,
            active: Instant::now(),
        }
    }

    /// The time at which the client is disconnected unless it reads.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.answer.is_empty()).then(|| self.active + PATIENCE)
    }

    pub(super) fn answer(&mut self, answer: Vec<u8>) -> Result<(), Ended> {
        self.request = None;
        self.answer = answer;
        self.active = Instant::now();
        self.advance()
    }

    /// Receives and sends without waiting. Must be called when the stream becomes readable or writable.
    pub(super) fn advance(&mut self) -> Result<(), Ended> {
        while self.request.is_none() {
            let can_continue = match self.answer.is_empty() {
                true => self.receive()?,
                false => self.send()?,
            };
            if !can_continue {
                break;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<bool, Ended> {
        let result = self.stream.write(&self.answer[self.sent..]);
        let Some(written) = self.transferred(result)? else {
            return Ok(false);
        };
        self.sent += written;
        if self.sent < self.answer.len() {
            return Ok(true);
        }
        if self.is_last {
            return Err(Ended);
        }
        // Frees its memory too.
        self.answer = Vec::new();
        self.sent = 0;
        Ok(true)
    }

    fn receive(&mut self) -> Result<bool, Ended> {
        if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
            let request = Request::parse(&self.received[..end]);
            let usage = "a request is `dump age|polls|longest <count> [<task>]`";
            self.request = Some(request.ok_or(usage));
            self.received.drain(..=end);
            return Ok(true);
        }
        let mut buffer = [0; MAX_LENGTH];
        let free = MAX_LENGTH - self.received.len();
        if free == 0 {
            self.request = Some(Err("the request is too long"));
            self.is_last = true;
            return Ok(true);
        }
        let result = self.stream.read(&mut buffer[..free]);
        let Some(read) = self.transferred(result)? else {
            return Ok(false);
        };
        self.received.extend_from_slice(&buffer[..read]);
        Ok(true)
    }

    /// Returns the number of bytes; `None` if the stream is not ready.
    fn transferred(&mut self, result: io::Result<usize>) -> Result<Option<usize>, Ended> {
        match result {
            Ok(0) => Err(Ended),
            Ok(bytes) => {
                self.active = Instant::now();
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Some(0)),
            Err(_) => Err(Ended),
        }
    }
}

/// The answer to a request that is refused.
pub(super) fn refusal(reason: &str) -> Vec<u8> {
    let mut json = Json::default();
    json.object(|json| {
        json.key("version").plain(VERSION);
        json.key("error").string(reason);
    });
    json.into_line()
}
