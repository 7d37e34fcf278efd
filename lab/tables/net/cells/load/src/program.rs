//! The subject's program, from its start to its end.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use protocol::{Answer, Done, Greeting, Order, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) struct Program {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

pub(crate) enum Started {
    /// Its address and its note.
    Ready(Program, String, Option<String>),
    Unavailable(String),
}

impl Program {
    pub(crate) fn start(path: &str, words: &[&str]) -> Started {
        if !Path::new(path).exists() {
            let name = path.rsplit('/').next().unwrap_or(path);
            let why = format!("not here: {name}, which `make lab` installs if it can");
            return Started::Unavailable(why);
        }
        let mut process = Command::new(path)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let orders = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut program = Self {
            process,
            orders,
            answers,
        };
        match program.next_answer() {
            Greeting::Ready { address, note } => {
                Started::Ready(program, address.unwrap_or_default(), note)
            }
            Greeting::Unavailable(why) => Started::Unavailable(why),
        }
    }

    pub(crate) fn usage(&mut self) -> Usage {
        self.order(&Order::Use)
    }

    pub(crate) fn work(&mut self, duration: Duration) -> Done {
        self.order(&Order::Work(duration.as_millis() as u64))
    }

    fn order<T: DeserializeOwned>(&mut self, order: &impl Serialize) -> T {
        let line = serde_json::to_string(order).expect("an order is written as JSON");
        // A missing answer shows that the program has ended.
        let _ = writeln!(self.orders, "{line}");
        self.next_answer()
    }

    fn next_answer<T: DeserializeOwned>(&mut self) -> T {
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).expect("text");
        if count == 0 {
            let status = self.process.wait().expect("a child of this process");
            panic!("the subject's program ended: {status}");
        }
        let answer: Answer<T> =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        answer.unwrap_or_else(|why| panic!("{why}"))
    }
}

/// The program ends when the load does, and has time to remove its files.
impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
