//! The connection to a process.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longer than any answer of this version.
const MAX_ANSWER: u64 = 64 << 20;

/// How long `--once` and `--json` wait for an answer. The interactive screen keeps waiting, and shows for how long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of tasks in a request.
const COUNT: usize = 1_000;

pub(crate) struct Connection {
    stream: BufReader<UnixStream>,
}

/// The tasks that the answer has to include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) order: Order,
    /// The id of a task that the answer includes if it exists.
    pub(crate) task: Option<u64>,
}

/// The order of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// The oldest first.
    Age,
    /// Those with the most polls first.
    Polls,
    /// Those with the longest poll first.
    Longest,
}

impl Connection {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let file = fs::metadata(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                format!("there is no {shown}: does the program run, and does it call `Handle::serve_dumps`?")
            }
            _ => format!("{shown}: {error}"),
        })?;
        if !file.file_type().is_socket() {
            return Err(format!("{shown} is not a socket"));
        }
        let (owner, user) = (file.uid(), rustix::process::geteuid().as_raw());
        if owner != user {
            return Err(format!(
                "{shown} belongs to user {owner}, and only that user can connect; this is user {user}"
            ));
        }
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => {
                format!("no process serves {shown}: the one that did has ended")
            }
            _ => format!("{shown}: {error}"),
        })?;
        let stream = BufReader::new(stream);
        Ok(Self { stream })
    }

    /// Makes [`ask`](Self::ask) fail after a time instead of waiting without a limit.
    pub(crate) fn with_patience(self) -> Result<Self, String> {
        let stream = self.stream.get_ref();
        let set = stream.set_read_timeout(Some(PATIENCE));
        set.map(|()| self).map_err(|error| error.to_string())
    }

    /// Returns the line that answers the request.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Vec<u8>, String> {
        let order = match request.order {
            Order::Age => "age",
            Order::Polls => "polls",
            Order::Longest => "longest",
        };
        let task = request
            .task
            .map_or(String::new(), |task| format!(" {task}"));
        let line = format!("dump {order} {COUNT}{task}\n");
        let ended = "the process has ended, or has closed the connection";
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::WouldBlock => format!(
                "no answer for {} s: is the process stopped?",
                PATIENCE.as_secs()
            ),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ended.to_owned(),
            _ => error.to_string(),
        };
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(failed)?;
        let mut answer = Vec::new();
        let mut limited = (&mut self.stream).take(MAX_ANSWER);
        limited.read_until(b'\n', &mut answer).map_err(failed)?;
        match answer.last() {
            Some(b'\n') => Ok(answer),
            _ if answer.len() as u64 == MAX_ANSWER => Err("the answer is too long".into()),
            _ => Err(ended.into()),
        }
    }
}
