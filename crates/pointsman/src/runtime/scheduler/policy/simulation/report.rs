//! The tables of `make policy`.

use super::engine::run;
use super::rules::Rules;
use super::workload::{MICROSECOND, MILLISECOND, Workload};
use super::{Costs, Measured, ideal, locks};

/// The numbers of cores, unless the environment variable `CORES` gives one.
const CORES: [usize; 5] = [2, 8, 16, 64, 128];
const LENGTHS: [u64; 5] = [
    100,
    MICROSECOND,
    10 * MICROSECOND,
    100 * MICROSECOND,
    MILLISECOND,
];

/// The maximum rate of injected tasks: each changes the same cache line.
const MAX_PER_MICROSECOND: f64 = 20.0;

fn duration(nanoseconds: u64) -> String {
    let microseconds = nanoseconds as f64 / 1e3;
    match microseconds {
        ..10.0 => format!("{microseconds:.1}u"),
        10.0..1e3 => format!("{microseconds:.0}u"),
        1e3..1e4 => format!("{:.2}m", microseconds / 1e3),
        _ => format!("{:.0}m", microseconds / 1e3),
    }
}

fn print(cores: usize, workload: &Workload, what: &str, show: impl Fn(&Measured) -> String) {
    let costs = Costs::with_latency(25 * MICROSECOND);
    let ideal = ideal::run(workload, cores);
    print!(
        "{cores:5}  {:34} {what:8} {:>9}",
        workload.name,
        show(&ideal)
    );
    let runs = [Rules::Ours, Rules::OneSearcher, Rules::Tokio]
        .map(|rules| run(workload, cores, rules, costs));
    for measured in &runs {
        print!(" {:>9}", show(measured));
    }
    print!("  |");
    for measured in &runs {
        let ratio = measured.processor_time() as f64 / measured.work as f64;
        print!(" {ratio:6.2}");
    }
    println!();
}

fn makespan(cores: usize, workload: &Workload) {
    print(cores, workload, "makespan", |run| duration(run.makespan));
}

fn waits(cores: usize, workload: &Workload) {
    print(cores, workload, "p50", |run| duration(run.wait(50)));
    print(cores, workload, "p99", |run| duration(run.wait(99)));
}

#[test]
#[ignore = "prints tables: make policy"]
fn print_tables() {
    let only: Option<usize> = std::env::var("CORES")
        .ok()
        .and_then(|cores| cores.parse().ok());
    let cores = CORES
        .into_iter()
        .filter(|&cores| only.is_none_or(|only| cores == only));
    println!(
        "u: microseconds, m: milliseconds; right of the line processor time, as a multiple of the tasks' own"
    );
    println!(
        "{:5}  {:34} {:8} {:>9} {:>9} {:>9} {:>9}  | {:>6} {:>6} {:>6}",
        "cores", "workload", "", "ideal", "ours", "one", "Tokio", "ours", "one", "Tokio"
    );
    for cores in cores.clone() {
        for count in [100, 10_000] {
            for length in LENGTHS {
                makespan(cores, &Workload::burst(count, length));
            }
        }
    }
    for cores in cores.clone() {
        for width in [2, 64] {
            makespan(
                cores,
                &Workload::fork_and_join(20, width, 300 * MICROSECOND),
            );
        }
        for chains in [1, cores / 2, cores] {
            for length in [MICROSECOND, 100 * MICROSECOND] {
                makespan(cores, &Workload::chains(chains, 200, length));
            }
        }
    }
    for cores in cores.clone() {
        for length in LENGTHS {
            for percent in [30, 70, 95] {
                let rate = (cores * percent) as f64 / 100.0 * 1e3 / length as f64;
                if rate <= MAX_PER_MICROSECOND {
                    waits(cores, &Workload::steady(cores, percent, 20_000, length));
                }
            }
        }
        waits(cores, &Workload::blocking(cores, 30, 2_000));
    }
    half_load(cores);
    quanta();
    locks::print_tables();
}

/// Compares the processor time of web-like jobs beyond their own, with a wake-up as expensive as assumed elsewhere and as
/// measured.
fn half_load(cores: impl Iterator<Item = usize>) {
    println!(
        "\nweb-like jobs: us of processor time for each job beyond its own, of which searches; and waits"
    );
    for cores in cores {
        for percent in [10, 50, 90] {
            let jobs = 500 * cores;
            let load = Workload::web(cores, percent, jobs);
            let each = |time: u64| time as f64 / jobs as f64 / 1e3;
            let ideal = ideal::run(&load, cores);
            for costs in [Costs::with_latency(25 * MICROSECOND), Costs::MEASURED] {
                let (call, p99) = (duration(costs.call), duration(ideal.wait(99)));
                println!(
                    "{cores:5}  {}, {call} for a call; ideal: p99 {p99}",
                    load.name
                );
                for rules in [Rules::Ours, Rules::OneSearcher, Rules::Tokio] {
                    let run = run(&load, cores, rules, costs);
                    println!(
                        "       {:12} {:6.2} {:6.2}  p50 {:>6}  p99 {:>6}",
                        format!("{rules:?}"),
                        each(run.processor_time() - run.work),
                        each(run.searched),
                        duration(run.wait(50)),
                        duration(run.wait(99)),
                    );
                }
            }
        }
    }
}

/// Compares other quanta.
fn quanta() {
    println!("\nquantum, where a wake-up takes so long: makespan and processor time");
    for cores in [2, 64] {
        for latency in [5, 25, 50] {
            for workload in [
                Workload::burst(10_000, MICROSECOND),
                Workload::burst(10_000, 10 * MICROSECOND),
                Workload::fork_and_join(20, 2, 50 * MICROSECOND),
                Workload::fork_and_join(20, 8, 10 * MICROSECOND),
                Workload::steady(cores, 30, 10_000, 10 * MICROSECOND),
            ] {
                print!("{cores:5}  {:34} {latency:2} us", workload.name);
                for quantum in [25, 50, 100] {
                    let costs = Costs {
                        quantum: quantum * MICROSECOND,
                        ..Costs::with_latency(latency * MICROSECOND)
                    };
                    let run = run(&workload, cores, Rules::Ours, costs);
                    print!(
                        "  {quantum}: {:>6} p99 {:>6} {:5.2}",
                        duration(run.makespan),
                        duration(run.wait(99)),
                        run.processor_time() as f64 / run.work as f64
                    );
                }
                println!();
            }
        }
    }
}
