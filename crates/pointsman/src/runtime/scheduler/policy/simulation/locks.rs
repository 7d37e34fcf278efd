//! What one lock costs on many cores, where all threads use it as often as they can: for the timers and the blocking
//! pool.
//!
//! An estimate, no measurement. A lock that is passed from core to core carries its cache line, and those that it
//! guards, with it; that takes longer the more cores there are, and a change of one word by all takes one such passage
//! each. So the line, not the processor, is what all wait for: it is passed on in turn, in the order of those who ask.
//! Real locks are not fair, and threads that fall asleep at one make it dearer.

use std::collections::VecDeque;

use super::workload::Random;

/// How long a cache line is on its way from one core to another, on average over such a machine. Two cores share a
/// cache, 64 are several groups of cores, and 128 two processors.
fn passage(cores: usize) -> u64 {
    match cores {
        0..=2 => 30,
        3..=8 => 45,
        9..=16 => 60,
        17..=64 => 100,
        _ => 140,
    }
}

/// What threads do again and again.
#[derive(Clone, Copy)]
struct Use {
    /// How many locks or words there are, one of which each thread has for its own use.
    shards: usize,
    /// How long one is held, without the passage.
    held: u64,
    /// How many lines have to come before it can be let go of.
    lines: u64,
    /// What a thread does between two uses.
    between: u64,
}

/// How long a thread waits for its shard on average, and how many uses there are in a microsecond in all.
fn simulate(cores: usize, each: Use) -> (u64, f64) {
    const ROUNDS: usize = 200;
    let mut random = Random::new(3);
    let mut free_at = vec![0; each.shards];
    let mut last_user = vec![usize::MAX; each.shards];
    // Who asks next, and when: those that ask at the same time take turns.
    let mut asking: VecDeque<(u64, usize)> = (0..cores)
        .map(|core| (random.below(each.between as usize + 1) as u64, core))
        .collect();
    let (mut waited, mut end) = (0, 0);
    for _ in 0..ROUNDS * cores {
        asking.make_contiguous().sort_unstable();
        let (time, core) = asking.pop_front().expect("as many as cores");
        let shard = core % each.shards;
        let begins = time.max(free_at[shard]);
        let is_near = std::mem::replace(&mut last_user[shard], core) == core;
        let fetched = if is_near {
            0
        } else {
            each.lines * passage(cores)
        };
        let ends = begins + fetched + each.held;
        waited += ends - time - each.held;
        free_at[shard] = ends;
        end = end.max(ends);
        asking.push_back((ends + each.between, core));
    }
    let uses = (ROUNDS * cores) as u64;
    (waited / uses, uses as f64 * 1e3 / end as f64)
}

pub(super) fn print_tables() {
    println!(
        "\nlocks, an estimate: ns of waiting for each use, and uses in a microsecond of all cores together"
    );
    println!(
        "{:44} {:>10} {:>14} {:>14} {:>14} {:>14}",
        "", "between", "2", "16", "64", "128"
    );
    for between in [200, 1_000, 10_000] {
        // A timer: the lock with the wheel's head, and the entry beside it.
        for shards in [1, 4, 16] {
            let timer = Use {
                shards,
                held: 50,
                lines: 2,
                between,
            };
            print_row(&format!("timers, shards: {shards}"), timer);
        }
        for held in [30, 100] {
            let queue = Use {
                shards: 1,
                held,
                lines: 2,
                between,
            };
            print_row(
                &format!("a blocking pool of one lock, held {held} ns"),
                queue,
            );
        }
        // The stack and the word, each passed on by itself: two places that are busy at the same time.
        let words = Use {
            shards: 1,
            held: 10,
            lines: 1,
            between: between + 10,
        };
        print_row("blocking pool: bringing a job, each word", words);
    }
}

fn print_row(name: &str, each: Use) {
    print!("{name:44} {:>7} ns", each.between);
    for cores in [2, 16, 64, 128] {
        let (waited, rate) = simulate(cores, each);
        print!(" {waited:>6} {rate:>5.1}/us");
    }
    println!();
}

#[test]
fn shards_carry_more_than_one_lock() {
    let one = Use {
        shards: 1,
        held: 50,
        lines: 2,
        between: 1_000,
    };
    let (waited, rate) = simulate(64, one);
    // No more than one use in each passage, whatever the number of cores.
    assert!(rate <= 1e3 / (50 + 2 * passage(64)) as f64);
    let (waited_sharded, rate_sharded) = simulate(64, Use { shards: 16, ..one });
    assert!(rate_sharded > 8.0 * rate);
    assert!(waited_sharded < waited / 8);
}
