//! The load: `net-load <program> <work> <cores | one> <quiet | blocked> <rate> <warm-up ms> <measure ms> [tool]`.
//!
//! Starts the subject's program, sends requests in a closed loop or at a rate, and reads the program's resource usage
//! before and after. It has one thread.
//!
//! Invariant: the last line of standard output is a measurement in JSON in every case. A wrong or missing answer is a
//! failed measurement with its reason, never a fast one.

mod churn;
mod echo;
mod measurement;
mod oha;
mod program;

use std::panic;
use std::process;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use protocol::{BLOCK_EVERY, Done, Usage};

use measurement::Measurement;
use program::{Program, Started};

#[derive(Clone, Copy)]
enum Pace {
    AsFastAsAnswersCome,
    /// Due at times that do not depend on answers.
    PerSecond(u32),
}

/// Sends requests to a subject for a time and reports the answers.
trait Driver {
    fn run(&mut self, program: &mut Program, duration: Duration, pace: Pace) -> Done;
    /// After the last run: checks that every request was answered.
    fn end(&mut self) {}
}

/// Sends no requests: the program does its work for itself.
struct Itself;

impl Driver for Itself {
    fn run(&mut self, program: &mut Program, duration: Duration, _: Pace) -> Done {
        program.work(duration)
    }
}

fn main() {
    panic::set_hook(Box::new(|what| {
        let message = what.payload_as_str().unwrap_or("it panicked");
        Measurement::failed(message).print();
        process::exit(0);
    }));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [
        program,
        work,
        workers,
        condition,
        rate,
        warm_up,
        measure,
        tool @ ..,
    ] = words.as_slice()
    else {
        panic!(
            "expected <program> <work> <workers> <condition> <rate> <warm-up ms> <measure ms> [tool]"
        );
    };
    let tool = tool.first().copied().unwrap_or_default();
    raise_descriptors();
    let (kind, number) = work.split_once('/').expect("a work and its number");
    if tool.is_empty() && ["redis", "plaintext", "json"].contains(&kind) {
        let needed = if kind == "redis" {
            "redis-server or valkey-server"
        } else {
            "oha, which `make oha` builds"
        };
        Measurement::unavailable(&format!("not here: {needed}")).print();
        return;
    }
    let started = Program::start(program, &[work, workers, condition, tool]);
    let (mut program, address, note) = match started {
        Started::Ready(program, address, note) => (program, address, note),
        Started::Unavailable(why) => return Measurement::unavailable(&why).print(),
    };
    let connections: usize = number.parse().expect("a number of connections");
    let mut driver: Box<dyn Driver> = match kind {
        "tcp" => Box::new(echo::tcp(&address, connections)),
        "unix" => Box::new(echo::unix(&address, connections)),
        "udp" => Box::new(echo::udp(&address, connections)),
        "churn" => Box::new(churn::Churn::new(&address, connections)),
        "plaintext" => Box::new(oha::Oha::new(tool, &address, connections, oha::PLAINTEXT)),
        "json" => Box::new(oha::Oha::new(tool, &address, connections, oha::JSON)),
        _ => Box::new(Itself),
    };
    let pace = match rate
        .parse()
        .expect("requests a second, or 0 for as fast as answers come")
    {
        0 => Pace::AsFastAsAnswersCome,
        rate => Pace::PerSecond(rate),
    };
    driver.run(&mut program, milliseconds(warm_up), pace);
    let before = program.usage();
    let done = driver.run(&mut program, milliseconds(measure), pace);
    let used = program.usage() - before;
    driver.end();
    assert!(done.requests > 0, "nothing was answered");
    if *condition == "blocked" {
        check_blocks(&done, used);
    }
    Measurement::of(&done, used, note).print();
}

/// A subject that delays the blocking task would have less to bear than the others.
fn check_blocks(done: &Done, used: Usage) {
    let due = done.seconds / BLOCK_EVERY.as_secs_f64();
    let enough = due * 0.7 - 1.0;
    let blocks = used.blocks;
    assert!(
        blocks as f64 >= enough,
        "its task blocked {blocks} times, of {due:.0}"
    );
}

/// In this process and in the program, which inherits the limit: each connection is a descriptor on both sides.
fn raise_descriptors() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit that can be read");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("a limit that may be used up");
}

fn milliseconds(text: &str) -> Duration {
    let milliseconds: f64 = text.parse().expect("a number of milliseconds");
    Duration::from_secs_f64(milliseconds / 1e3)
}
