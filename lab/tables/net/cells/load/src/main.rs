//! The load: `net-load <program> <work> <cores | one> <quiet | blocked> <rate> <condition> [address]`.
//!
//! Starts the subject's program. In each slice it sends requests in a closed loop or at a rate, and reads the program's
//! resource usage before and after. It has one thread. `condition` is passed on to the lab.

mod answer;
mod churn;
mod echo;
mod program;
mod tls;

use std::time::Duration;

use lab::{Lab, Samples};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use protocol::{BLOCK_EVERY, Done, Usage};

use answer::Requests;
use program::{Program, Started};

const WARM_UP: Duration = Duration::from_millis(150);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy)]
enum Pace {
    AsFastAsAnswersCome,
    /// Due at times that do not depend on answers.
    PerSecond(u32),
}

/// Sends requests to a subject for a time, awaits all answers and reports them.
trait Driver {
    fn run(&mut self, program: &mut Program, duration: Duration, pace: Pace) -> Done;
}

/// Sends no requests: the program does its work for itself.
struct Itself;

impl Driver for Itself {
    fn run(&mut self, program: &mut Program, duration: Duration, _: Pace) -> Done {
        program.work(duration)
    }
}

fn main() {
    lab::fail_by_panic();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [
        program,
        work,
        workers,
        blocks,
        rate,
        condition,
        address @ ..,
    ] = words.as_slice()
    else {
        panic!("expected <program> <work> <workers> <blocks> <rate> <condition> [address]");
    };
    raise_descriptors();
    let redis = address.first().copied().unwrap_or_default();
    let started = Program::start(program, &[work, workers, blocks, redis]);
    let (mut program, address, note) = match started {
        Started::Ready(program, address, note) => (program, address, note),
        Started::Unavailable(why) => return lab::unavailable(&why),
    };
    let (kind, number) = work.split_once('/').expect("a work and its number");
    let connections = || number.parse::<usize>().expect("a number of connections");
    let mut driver: Box<dyn Driver> = match kind {
        "tcp" => Box::new(echo::tcp(&address, connections(), Requests::Messages)),
        "plaintext" => Box::new(echo::tcp(&address, connections(), answer::PLAINTEXT)),
        "json" => Box::new(echo::tcp(&address, connections(), answer::JSON)),
        "tls" => Box::new(echo::tls(&address, connections(), answer::PLAINTEXT)),
        "serve" => {
            let (connections, bytes) = number.split_once('x').expect("<connections>x<bytes>");
            let content = protocol::file_content(bytes.parse().expect("a number of bytes"));
            let connections = connections.parse().expect("a number of connections");
            let requests = Requests::File(content.into());
            Box::new(echo::tcp(&address, connections, requests))
        }
        "unix" => Box::new(echo::unix(&address, connections())),
        "udp" => Box::new(echo::udp(&address, connections())),
        "churn" => Box::new(churn::Churn::new(&address, connections())),
        _ => Box::new(Itself),
    };
    let pace = match rate
        .parse()
        .expect("requests a second, or 0 for as fast as answers come")
    {
        0 => Pace::AsFastAsAnswersCome,
        rate => Pace::PerSecond(rate),
    };
    driver.run(&mut program, WARM_UP, pace);
    let lab = Lab {
        condition: (*condition).to_owned(),
    };
    let (mut seconds, mut blocked) = (0.0, 0);
    lab.serve(|duration| {
        let before = program.usage();
        let done = driver.run(&mut program, duration, pace);
        let used = program.usage() - before;
        assert!(done.requests > 0, "no request was answered");
        seconds += done.seconds;
        blocked += used.blocks;
        samples(&done, used)
    });
    if *blocks == "blocked" {
        check_blocks(seconds, blocked);
    }
    lab::succeed(note.as_deref(), &Samples::new());
}

fn samples(done: &Done, used: Usage) -> Samples {
    let requests = done.requests as f64;
    Samples::from([
        ("rate", requests / done.seconds),
        ("p50", done.latency.p50),
        ("p99", done.latency.p99),
        ("processor", used.processor as f64 / requests),
        ("switches", used.switches as f64 / requests),
    ])
}

/// Fails a subject that delays the blocking task, because it would be blocked less than the others.
fn check_blocks(seconds: f64, blocks: u64) {
    let due = seconds / BLOCK_EVERY.as_secs_f64();
    assert!(
        blocks as f64 >= due * 0.7 - 1.0,
        "its task blocked {blocks} times, expected {due:.0}"
    );
}

/// Raises the limit of this process and of the program, which inherits it: each side has a descriptor per connection.
fn raise_descriptors() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit that can be read");
    setrlimit(Resource::RLIMIT_NOFILE, most, most)
        .expect("a soft limit may be raised to the hard one");
}
