//! Estimates the cost of one lock on many cores that use it all the time, for the timers and the blocking pool.
//!
//! This is an estimate, not a measurement. A lock that passes from core to core moves its cache line and those that it
//! guards; that takes longer on more cores. An atomic change of one word by all cores moves one line each. So the cores
//! wait for the line, which is passed on in the order of the requests. Real locks are not fair, and threads that sleep
//! at a lock make it more expensive.

use std::collections::VecDeque;

use super::workload::Random;

/// The average time to move a cache line between two cores. Two cores share a cache, 64 are several groups of cores,
/// and 128 are two processors.
fn passage(cores: usize) -> u64 {
    match cores {
        0..=2 => 30,
        3..=8 => 45,
        9..=16 => 60,
        17..=64 => 100,
        _ => 140,
    }
}

/// The operation that threads repeat.
#[derive(Clone, Copy)]
struct Use {
    /// The number of locks or words; each thread uses one of them.
    shards: usize,
    /// How long a lock is held, without moving lines.
    held: u64,
    /// The number of cache lines that must be moved before it is released.
    lines: u64,
    /// The time between two uses by one thread.
    between: u64,
}

/// Returns the average wait of a thread for its shard, and the number of uses per microsecond in total.
fn simulate(cores: usize, each: Use) -> (u64, f64) {
    const ROUNDS: usize = 200;
    let mut random = Random::new(3);
    let mut free_at = vec![0; each.shards];
    let mut last_user = vec![usize::MAX; each.shards];
    // The next request of each core; requests at the same time take turns.
    let mut asking: VecDeque<(u64, usize)> = (0..cores)
        .map(|core| (random.below(each.between as usize + 1) as u64, core))
        .collect();
    let (mut waited, mut end) = (0, 0);
    for _ in 0..ROUNDS * cores {
        asking.make_contiguous().sort_unstable();
        let (time, core) = asking.pop_front().expect("one request per core");
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
        // A timer: the lock with the head of the wheel, and the neighbouring entry.
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
        // The stack and the word, which are passed on independently.
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
    // At most one use per passage, for any number of cores.
    assert!(rate <= 1e3 / (50 + 2 * passage(64)) as f64);
    let (waited_sharded, rate_sharded) = simulate(64, Use { shards: 16, ..one });
    assert!(rate_sharded > 8.0 * rate);
    assert!(waited_sharded < waited / 8);
}
