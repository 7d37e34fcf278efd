//! The requests of a connection, and the check of the answers.

use std::rc::Rc;

use protocol::message;

const PAGE: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const FILE: &[u8] = b"GET /file HTTP/1.1\r\nhost: localhost\r\n\r\n";
const STATUS: &[u8] = b"HTTP/1.1 200 OK\r\n";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const LONGEST_HEAD: usize = 1024;

#[derive(Clone)]
pub(crate) enum Requests {
    /// Messages that come back.
    Messages,
    /// Requests to a web server, whose answer has this body.
    Page(&'static str),
    /// The same, for a file with this content.
    File(Rc<[u8]>),
}

pub(crate) const PLAINTEXT: Requests = Requests::Page("Hello, World!");
pub(crate) const JSON: Requests = Requests::Page("{\"message\":\"Hello, World!\"}");

/// The part of an answer that has been received, which is as expected.
#[derive(Default)]
pub(crate) struct Answer {
    head: Vec<u8>,
    /// The number of bytes of the body; of a message, all of it.
    body: usize,
}

impl Requests {
    pub(crate) fn write(&self, number: u32, turn: u32, send: impl FnOnce(&[u8])) {
        match self {
            Self::Messages => send(&message(number, turn)),
            Self::Page(_) => send(PAGE),
            Self::File(_) => send(FILE),
        }
    }

    /// Adds received bytes to the answer to that request. Returns true once it is complete.
    pub(crate) fn is_answered(
        &self,
        (number, turn): (u32, u32),
        answer: &mut Answer,
        received: &[u8],
    ) -> bool {
        match self {
            Self::Messages => answer.add(
                received,
                &message(number, turn),
                "the echo differs from the message",
            ),
            Self::Page(body) => answer.add_of_server(received, body.as_bytes()),
            Self::File(body) => answer.add_of_server(received, body),
        }
    }
}

impl Answer {
    pub(crate) fn begin(&mut self) {
        self.head.clear();
        self.body = 0;
    }

    fn add(&mut self, received: &[u8], expected: &[u8], otherwise: &str) -> bool {
        let end = self.body + received.len();
        let is_expected = expected.get(self.body..end) == Some(received);
        assert!(is_expected, "{otherwise}");
        self.body = end;
        end == expected.len()
    }

    fn add_of_server(&mut self, received: &[u8], body: &[u8]) -> bool {
        const OTHERWISE: &str = "a web server sent another body";
        if self.head.ends_with(END_OF_HEAD) {
            return self.add(received, body, OTHERWISE);
        }
        let before = self.head.len();
        self.head.extend(received.iter().take(LONGEST_HEAD));
        let end = self
            .head
            .windows(END_OF_HEAD.len())
            .position(|part| part == END_OF_HEAD);
        let Some(end) = end.map(|end| end + END_OF_HEAD.len()) else {
            assert!(
                self.head.len() < LONGEST_HEAD,
                "a web server's head is too long"
            );
            return false;
        };
        self.head.truncate(end);
        assert!(
            self.head.starts_with(STATUS),
            "a web server answered with another status"
        );
        self.add(&received[end - before..], body, OTHERWISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n";

    fn is_answered(answer: &mut Answer, received: &[u8]) -> bool {
        PLAINTEXT.is_answered((0, 0), answer, received)
    }

    #[test]
    fn an_answer_may_arrive_in_parts_of_any_length() {
        let whole = [HEAD, b"Hello, World!"].concat();
        for length in 1..=whole.len() {
            let mut answer = Answer::default();
            for turn in 0..2 {
                answer.begin();
                let parts: Vec<bool> = whole
                    .chunks(length)
                    .map(|part| is_answered(&mut answer, part))
                    .collect();
                let (last, others) = parts.split_last().expect("a part");
                assert!(*last && !others.contains(&true), "{length} {turn}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "another body")]
    fn a_longer_body_is_seen() {
        is_answered(&mut Answer::default(), &[HEAD, b"Hello, World!!"].concat());
    }

    #[test]
    #[should_panic(expected = "another status")]
    fn another_status_is_seen() {
        let head = b"HTTP/1.1 404 Not Found\r\n\r\n";
        is_answered(&mut Answer::default(), head);
    }
}
