//! Faults of I/O, one per run of this program.
//!
//! ```text
//! faults NAME
//! ```
//!
//! Prints its results in lines that the runner parses, and panics if data is lost, an operation does not complete, or a
//! descriptor leaks. Each fault is first run at small scale, so that permanent descriptors exist before they are
//! counted.

mod accept;
mod blocked;
mod children;
mod datagrams;
mod disks;
mod idle;
mod resets;
mod runtimes;
mod signals;
mod slow;
mod timeouts;

use std::thread;
use std::time::{Duration, Instant};

use faults::{Findings, descriptors, limit_descriptors};

/// Its name, its function, the small scale and the full scale.
type Fault = (&'static str, fn(usize, &mut Findings), usize, usize);

const FAULTS: &[Fault] = &[
    ("resets", resets::resets, 30, 20_000),
    ("half-open", timeouts::half_open, 20, 2_000),
    ("no-descriptors", accept::no_descriptors, 40, 400),
    ("accept-storm", accept::storm, 100, 50_000),
    ("full-disk", disks::full, 2, 500),
    ("signals", signals::storm, 100, 100_000),
    ("children", children::die_at_once, 10, 2_000),
    ("runtime-dropped", runtimes::dropped, 3, 1_000),
    ("idle", idle::connections, 10, 100_000),
    ("slow-readers", slow::readers, 100, 4_000),
    ("waker-blocks", blocked::waker, 10, 1_000),
    ("worker-blocks", blocked::one_of_two, 10, 1_000),
    ("only-worker-blocks", blocked::only, 10, 1_000),
    ("cancelled", timeouts::cancelled, 1_000, 1_000_000),
    ("datagrams", datagrams::flood, 1_000, 500_000),
];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => FAULTS.iter().for_each(|it| println!("{}", it.0)),
        ["--connect", address, count] => {
            limit_descriptors(u64::MAX >> 1);
            idle::connect(address.parse().unwrap(), count.parse().unwrap());
        }
        [name] => meet(name),
        _ => panic!("expected the name of a fault"),
    }
}

fn meet(name: &str) {
    let fault = FAULTS.iter().find(|it| it.0 == name);
    let &(_, run, small, amount) = fault.expect("there is no such fault");
    // As high as the system allows, in case it allows only slightly more than 100,000 connections.
    limit_descriptors(110_000);
    let mut found = Findings::default();
    run(small, &mut found);
    let before = descriptors();
    found = Findings::default();
    run(amount, &mut found);
    let waiting = Instant::now();
    while descriptors() > before && waiting.elapsed() < Duration::from_secs(2) {
        thread::sleep(Duration::from_millis(10));
    }
    let after = descriptors();
    for (name, number, unit) in found.figures {
        println!("figure\t{name}\t{number:.2}\t{unit}");
    }
    for outcome in found.outcomes.all() {
        println!("outcome\t{outcome}");
    }
    for note in found.notes {
        println!("note\t{note}");
    }
    assert!(
        after <= before,
        "{before} descriptors were open before, {after} are left"
    );
    println!("ended\t{after} descriptors, as before");
}
