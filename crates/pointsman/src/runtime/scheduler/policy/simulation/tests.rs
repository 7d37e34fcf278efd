//! Properties that hold on any machine. Each run also checks that no task waits forever.

use super::engine::{TICK, run};
use super::rules::Rules;
use super::workload::{MICROSECOND, MILLISECOND, Workload};
use super::{Costs, Measured, ideal};

const LATENCY: u64 = 25 * MICROSECOND;

fn ours(workload: &Workload, cores: usize) -> Measured {
    run(workload, cores, Rules::Ours, Costs::with_latency(LATENCY))
}

fn with(rules: Rules, workload: &Workload, cores: usize) -> Measured {
    run(workload, cores, rules, Costs::with_latency(LATENCY))
}

#[test]
fn no_task_waits_forever() {
    for cores in [2, 8, 64] {
        for latency in [5, 50] {
            let costs = Costs::with_latency(latency * MICROSECOND);
            for workload in [
                Workload::burst(300, MICROSECOND),
                Workload::fork_and_join(5, 64, 300 * MICROSECOND),
                Workload::chains(cores, 20, 10 * MICROSECOND),
                Workload::steady(cores, 95, 500, 10 * MICROSECOND),
                Workload::blocking(cores, 30, 100),
            ] {
                for rules in [Rules::Ours, Rules::OneSearcher, Rules::Tokio] {
                    let measured = run(&workload, cores, rules, costs);
                    let ideal = ideal::run(&workload, cores);
                    assert!(measured.makespan >= ideal.makespan.min(measured.waits[0]));
                }
            }
        }
    }
}

#[test]
fn a_burst_reaches_most_cores_in_a_few_wake_ups() {
    // The time of a wake-up, the two calls before it, and the look and the steal after it.
    const GENERATION: u64 = LATENCY + 10 * MICROSECOND;
    for cores in [8_usize, 64, 128] {
        let burst = Workload::burst(10_000, 100 * MICROSECOND);
        // The last workers start later: thieves meet, and find short queues.
        let most = cores * 3 / 4;
        let ours = ours(&burst, cores).reached[most - 1];
        let one = with(Rules::OneSearcher, &burst, cores).reached[most - 1];
        assert!(ours < u64::from(6 * cores.ilog2()) * GENERATION);
        assert!(one > most as u64 * LATENCY, "one by one");
        assert!(cores < 64 || 3 * ours < one);
    }
}

#[test]
fn on_two_cores_one_worker_searches_at_a_time() {
    for workload in [
        Workload::burst(300, 10 * MICROSECOND),
        Workload::fork_and_join(5, 2, 300 * MICROSECOND),
        Workload::steady(2, 70, 1_000, 10 * MICROSECOND),
    ] {
        let (ours, one) = (ours(&workload, 2), with(Rules::OneSearcher, &workload, 2));
        assert_eq!(ours.makespan, one.makespan);
        assert_eq!(ours.processor_time(), one.processor_time());
    }
}

#[test]
fn two_forks_run_in_parallel() {
    let forks = Workload::fork_and_join(10, 2, 300 * MICROSECOND);
    for cores in [2, 64] {
        assert!(ours(&forks, cores).makespan < 10 * (300 + 60) * MICROSECOND);
    }
}

#[test]
fn no_task_waits_long_behind_a_blocked_one() {
    for cores in [16, 64, 128] {
        let measured = ours(&Workload::blocking(cores, 30, 1_000), cores);
        let bound = 2 * TICK + 2 * LATENCY;
        assert!(
            measured.longest_wait() < bound,
            "{cores} {}",
            measured.longest_wait()
        );
        assert!(bound < 10 * MILLISECOND);
    }
}

#[test]
fn waits_on_many_cores_are_shorter_than_with_one_searcher() {
    for (cores, percent) in [(64, 70), (128, 95)] {
        let load = Workload::steady(cores, percent, 10_000, 100 * MICROSECOND);
        let (ours, one) = (ours(&load, cores), with(Rules::OneSearcher, &load, cores));
        assert!(2 * ours.wait(99) < one.wait(99));
        assert!(ours.processor_time() < one.processor_time() * 102 / 100);
    }
}

#[test]
fn short_tasks_cost_little_more_processor_time_than_with_tokio() {
    for cores in [2, 16, 64] {
        for workload in [
            Workload::burst(10_000, MICROSECOND),
            Workload::steady(cores, 95, 10_000, 10 * MICROSECOND),
            Workload::chains(cores, 100, MICROSECOND),
        ] {
            let (ours, tokio) = (ours(&workload, cores), with(Rules::Tokio, &workload, cores));
            let (ours, tokio) = (ours.processor_time(), tokio.processor_time());
            assert!(
                ours < tokio * 115 / 100 + FIXED,
                "{} {cores}: {ours} {tokio}",
                workload.name
            );
        }
    }
}

/// Most of the difference is the price of shorter waits: on many cores more workers wake up.
#[test]
fn web_like_jobs_cost_at_most_2_percent_more_processor_time_than_with_tokio() {
    for cores in [8, 64, 128] {
        for percent in [10, 50, 90] {
            let load = Workload::web(cores, percent, 100 * cores);
            for costs in [Costs::with_latency(LATENCY), Costs::MEASURED] {
                let [ours, tokio] =
                    [Rules::Ours, Rules::Tokio].map(|rules| run(&load, cores, rules, costs));
                let (time, theirs) = (ours.processor_time(), tokio.processor_time());
                assert!(time < theirs * 102 / 100, "{cores} {percent}");
                if cores > 8 && percent > 10 {
                    assert!(ours.wait(99) < tokio.wait(99) * 7 / 10, "{cores} {percent}");
                }
            }
        }
    }
}

/// The cost of the last searches before all workers sleep, and of the watchdog.
const FIXED: u64 = 200 * MICROSECOND;
