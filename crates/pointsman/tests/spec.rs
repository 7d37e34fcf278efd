//! Runs the scenarios of `spec/` on each primitive that they describe.
//!
//! A scenario is skipped only because it needs a capability that the primitive declares it lacks, or because the
//! primitive is listed as different; then it must really differ. Each test prints how many scenarios it ran and
//! skipped, and with `--nocapture` why.

#![cfg(not(loom))]

mod spec {
    pub(crate) mod channel;
    pub(crate) mod implementation;
    pub(crate) mod notify;
    pub(crate) mod rwlock;
    pub(crate) mod scenario;
    pub(crate) mod semaphore;
    pub(crate) mod stage;
    pub(crate) mod subscribers;
}

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::{fs, io};

use spec::channel::CHANNEL;
use spec::implementation::Implementation;
use spec::notify::{BARRIER, NOTIFY};
use spec::rwlock::{OWNED_RWLOCK, RWLOCK};
use spec::scenario::{files_of, root};
use spec::semaphore::{MUTEX, OWNED_MUTEX, OWNED_SEMAPHORE, SEMAPHORE, WRITTEN_RWLOCK};
use spec::stage::play;
use spec::subscribers::{BROADCAST, WATCH};

/// Primitives without a counterpart in this crate.
const NOT_APPLICABLE: [&str; 6] = [
    "condition",
    "keyed-mutex",
    "keyed-rwlock",
    "keyed-semaphore",
    "latch",
    "lock-all",
];

#[test]
fn semaphore() {
    play_all(&SEMAPHORE);
}

#[test]
fn semaphore_with_owned_permits() {
    play_all(&OWNED_SEMAPHORE);
}

#[test]
fn mutex() {
    play_all(&MUTEX);
}

#[test]
fn mutex_with_owned_guards() {
    play_all(&OWNED_MUTEX);
}

#[test]
fn rwlock_that_is_only_written() {
    play_all(&WRITTEN_RWLOCK);
}

#[test]
fn rwlock() {
    play_all(&RWLOCK);
}

#[test]
fn rwlock_with_owned_guards() {
    play_all(&OWNED_RWLOCK);
}

#[test]
fn notify() {
    play_all(&NOTIFY);
}

#[test]
fn barrier() {
    play_all(&BARRIER);
}

#[test]
fn mpsc() {
    play_all(&CHANNEL);
}

#[test]
fn broadcast() {
    play_all(&BROADCAST);
}

#[test]
fn watch() {
    play_all(&WATCH);
}

#[test]
fn every_primitive_is_played_or_has_no_counterpart() {
    let has_scenarios = |name: &String| {
        fs::read_dir(root().join(name))
            .into_iter()
            .flatten()
            .any(|file| file.unwrap().path().extension() == Some("yaml".as_ref()))
    };
    let found: BTreeSet<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(has_scenarios)
        .collect();
    let known = [
        &SEMAPHORE, &MUTEX, &RWLOCK, &NOTIFY, &BARRIER, &CHANNEL, &BROADCAST, &WATCH,
    ]
    .map(|played| played.primitive)
    .into_iter()
    .chain(NOT_APPLICABLE);
    assert_eq!(found, known.map(str::to_owned).collect());
}

fn play_all(implementation: &Implementation) {
    let mut played = 0;
    let mut left_out = BTreeMap::<_, usize>::new();
    let mut differ = BTreeSet::new();
    let mut problems = String::new();
    for (path, file) in files_of(implementation.primitive) {
        for scenario in file.scenarios {
            let lacked = scenario
                .needs
                .iter()
                .find_map(|need| (implementation.lacks)(*need));
            if let Some(reason) = lacked {
                *left_out.entry(reason).or_default() += 1;
                continue;
            }
            let difference = implementation
                .differs
                .iter()
                .find(|difference| difference.file == path && difference.scenario == scenario.name);
            let problem = match (play(&scenario, implementation), difference) {
                (Ok(()), None) => {
                    played += 1;
                    continue;
                }
                (Err(problem), Some(difference)) if problem.contains(difference.sees) => {
                    differ.insert(difference);
                    *left_out.entry(difference.why).or_default() += 1;
                    continue;
                }
                (Err(problem), _) => problem,
                (Ok(()), Some(_)) => "no longer differs".to_owned(),
            };
            write!(problems, "\n  {path}: {}\n    {problem}", scenario.name).unwrap();
        }
    }
    for (reason, count) in &left_out {
        println!("{count:>3} left out: {reason}");
    }
    let name = implementation.name;
    let count: usize = left_out.values().sum();
    let report = format!("{name}: {played} scenarios played, {count} left out\n");
    // Bypasses the harness, which captures the output.
    io::stderr().write_all(report.as_bytes()).unwrap();
    assert!(problems.is_empty(), "{name}:{problems}");
    assert_eq!(differ, implementation.differs.iter().collect());
    assert!(
        played >= implementation.at_least,
        "{name}: {played} scenarios are too few"
    );
}
