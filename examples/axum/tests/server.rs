//! Starts the program, sends requests to its port and stops it.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

use axum_on_pointsman::PLACES;

struct Server {
    child: Child,
    printed: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_axum-on-pointsman"))
            .env("PORT", "0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let line = next_line(&mut printed);
        let address = line.strip_prefix("listening on ").unwrap().parse().unwrap();
        Self {
            child,
            printed,
            address,
        }
    }

    /// Returns when the server has received the signal.
    fn stop(&mut self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(next_line(&mut self.printed), "stopping");
    }

    fn last_words(mut self) -> String {
        let last = next_line(&mut self.printed);
        assert!(self.child.wait().unwrap().success());
        last
    }
}

impl Drop for Server {
    /// Ends the server of a failed test.
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn next_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// A request whose body has not been sent yet.
struct Upload {
    stream: BufReader<TcpStream>,
    body: String,
}

impl Upload {
    fn begin(server: &Server, text: &str) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let body = format!(r#"{{ "text": "{text}" }}"#);
        write!(
            stream,
            "POST /texts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        Self {
            stream: BufReader::new(stream),
            body,
        }
    }

    /// The first line of the server's answer to the head: 100 Continue if the upload has a place.
    fn first_line(&mut self) -> String {
        let line = next_line(&mut self.stream);
        if line == "HTTP/1.1 100 Continue" {
            assert_eq!(next_line(&mut self.stream), "");
        }
        line
    }

    fn finish(mut self) -> String {
        self.stream
            .get_mut()
            .write_all(self.body.as_bytes())
            .unwrap();
        rest(self.stream)
    }
}

fn rest(mut stream: impl Read) -> String {
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

const CONTINUE: &str = "HTTP/1.1 100 Continue";

#[test]
fn it_answers_with_json() {
    let server = Server::start();
    let mut upload = Upload::begin(&server, "one two three");
    assert_eq!(upload.first_line(), CONTINUE);
    let response = upload.finish();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with(r#"{"texts":1,"words":3}"#), "{response}");

    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "GET /sums HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let response = rest(stream);
    assert!(
        response.contains("content-type: application/json\r\n"),
        "{response}"
    );
}

#[test]
fn requests_beyond_the_limit_are_refused_and_admitted_later() {
    let server = Server::start();
    let mut reading: Vec<Upload> = (0..PLACES).map(|_| Upload::begin(&server, "one")).collect();
    for upload in &mut reading {
        assert_eq!(upload.first_line(), CONTINUE);
    }
    let mut refused: Vec<Upload> = (0..20).map(|_| Upload::begin(&server, "one")).collect();
    for upload in &mut refused {
        assert_eq!(upload.first_line(), "HTTP/1.1 503 Service Unavailable");
    }
    let done = reading.pop().unwrap().finish();
    assert!(done.starts_with("HTTP/1.1 200 OK\r\n"), "{done}");
    let mut welcome = Upload::begin(&server, "one two");
    assert_eq!(welcome.first_line(), CONTINUE);
    let done = welcome.finish();
    assert!(done.starts_with("HTTP/1.1 200 OK\r\n"), "{done}");
}

#[test]
fn it_ends_when_the_running_requests_are_done() {
    let mut server = Server::start();
    let mut upload = Upload::begin(&server, "one two three");
    assert_eq!(upload.first_line(), CONTINUE);
    server.stop();
    let response = upload.finish();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    let address = server.address;
    assert_eq!(server.last_words(), "texts: 1, words: 3");
    assert!(TcpStream::connect(address).is_err());
}
