//! Faults that I/O meets, one for each run of this program.
//!
//! ```text
//! faults NAME
//! ```
//!
//! It tells what it has found in lines that the runner understands, and panics where data is lost, something is not
//! over, or a descriptor is left. Each fault is met first in small, so that what the process has for good is there
//! when descriptors are counted.

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

/// A name, what runs it, how much of it in small, and how much.
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
    // As high as the system allows, in case it allows less than 100,000 connections and some.
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
