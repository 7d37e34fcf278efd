//! Workloads: tasks, when they arrive, and which tasks they wait for.

use std::ops::Range;

/// In nanoseconds, as all times of the simulation.
pub(super) const MICROSECOND: u64 = 1_000;
pub(super) const MILLISECOND: u64 = 1_000 * MICROSECOND;

/// A deterministic pseudo-random generator (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Between 0 and 1.
    fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// The time between two independent events with this average distance.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.fraction().ln()
    }
}

/// A task that is polled once: it queues other tasks, computes, blocks its thread, and wakes a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    pub(super) forks: Range<usize>,
    pub(super) computes: u64,
    pub(super) blocks: u64,
    /// The task that this one wakes when it ends.
    pub(super) then: Option<usize>,
    /// How long it then sleeps before `then` is ready; 0 for not at all.
    pub(super) sleeps: u64,
    /// The number of tasks that must wake it before it is ready. 0 for a task that is forked or injected.
    pub(super) needs: usize,
}

impl Task {
    fn of_length(computes: u64) -> Self {
        Self {
            computes,
            ..Self::default()
        }
    }
}

pub(super) struct Workload {
    pub(super) name: String,
    pub(super) tasks: Vec<Task>,
    /// The arrival times of injected tasks, in order.
    pub(super) arrivals: Vec<(u64, usize)>,
    /// Whether one thread injects all tasks, which is delayed when it wakes a worker.
    pub(super) is_of_one_thread: bool,
}

fn length_name(length: u64) -> String {
    format!("{} us", length as f64 / MICROSECOND as f64)
}

impl Workload {
    /// A burst: `count` tasks of one length that one thread injects.
    pub(super) fn burst(count: usize, length: u64) -> Self {
        Self {
            name: format!("burst of {count} x {}", length_name(length)),
            tasks: vec![Task::of_length(length); count],
            arrivals: (0..count).map(|task| (0, task)).collect(),
            is_of_one_thread: true,
        }
    }

    /// Tasks that many threads inject independently, which keep `percent` of the cores busy.
    pub(super) fn steady(cores: usize, percent: usize, count: usize, length: u64) -> Self {
        Self {
            name: format!("{percent} % load of {}", length_name(length)),
            tasks: vec![Task::of_length(length); count],
            arrivals: arrivals(cores, percent, count, length as f64),
            is_of_one_thread: false,
        }
    }

    /// Jobs as a web server has them, as in the row `web-like jobs` of the lab's table `net`: each is injected, computes for
    /// 20 to 200 µs (47 on average), sleeps for 1 to 5 ms and computes for 2 µs. `percent` of the cores are busy.
    pub(super) fn web(cores: usize, percent: usize, jobs: usize) -> Self {
        const SENDS: u64 = 2 * MICROSECOND;
        let mut random = Random::new(11);
        let mut tasks = Vec::with_capacity(2 * jobs);
        for job in 0..jobs {
            let (length, sleep) = (random.fraction(), random.fraction());
            tasks.push(Task {
                then: Some(2 * job + 1),
                sleeps: MILLISECOND + (4.0 * sleep * MILLISECOND as f64) as u64,
                ..Task::of_length((20.0 * 10_f64.powf(length.powi(3)) * 1e3) as u64)
            });
            tasks.push(Task {
                needs: 1,
                ..Task::of_length(SENDS)
            });
        }
        let work: u64 = tasks.iter().map(|task| task.computes).sum();
        let arrivals = arrivals(cores, percent, jobs, work as f64 / jobs as f64);
        Self {
            name: format!("{percent} % load of web-like jobs"),
            tasks,
            arrivals: arrivals
                .into_iter()
                .map(|(time, job)| (time, 2 * job))
                .collect(),
            is_of_one_thread: false,
        }
    }

    /// Rounds of a task that forks `width` tasks and waits for them.
    pub(super) fn fork_and_join(rounds: usize, width: usize, length: u64) -> Self {
        let mut tasks = Vec::new();
        for round in 0..rounds {
            let first = tasks.len();
            let next = first + width + 1;
            tasks.push(Task {
                forks: first + 1..next,
                computes: MICROSECOND,
                then: Some(next),
                needs: if round == 0 { 0 } else { width + 1 },
                ..Task::default()
            });
            let forked = Task {
                then: Some(next),
                ..Task::of_length(length)
            };
            tasks.extend(std::iter::repeat_n(forked, width));
        }
        // The join of the last round.
        tasks.push(Task {
            needs: width + 1,
            ..Task::of_length(MICROSECOND)
        });
        Self {
            name: format!("fork and join {width} x {}", length_name(length)),
            tasks,
            arrivals: vec![(0, 0)],
            is_of_one_thread: true,
        }
    }

    /// Chains of tasks, each of which wakes the next.
    pub(super) fn chains(chains: usize, links: usize, length: u64) -> Self {
        let link = |index: usize| Task {
            then: (index % links + 1 < links).then_some(index + 1),
            needs: usize::from(index % links != 0),
            ..Task::of_length(length)
        };
        Self {
            name: format!("{chains} chains of {links} x {}", length_name(length)),
            tasks: (0..chains * links).map(link).collect(),
            arrivals: (0..chains).map(|chain| (0, chain * links)).collect(),
            is_of_one_thread: true,
        }
    }

    /// Injected tasks that fork nine each, all of 10 µs. One in 100 blocks its thread for 10 ms. `percent` of the
    /// workers compute or are blocked.
    pub(super) fn blocking(cores: usize, percent: usize, groups: usize) -> Self {
        const GROUP: usize = 10;
        let mut random = Random::new(7);
        let mut tasks = vec![Task::of_length(10 * MICROSECOND); groups * GROUP];
        for (index, task) in tasks.iter_mut().enumerate() {
            if index % GROUP == 0 {
                task.forks = index + 1..index + GROUP;
            }
            if random.below(100) == 0 {
                task.blocks = 10 * MILLISECOND;
            }
        }
        let mean = tasks
            .iter()
            .map(|task| task.computes + task.blocks)
            .sum::<u64>() as f64;
        let arrivals = arrivals(cores, percent, groups, mean / groups as f64);
        Self {
            name: format!("{percent} % load, 1 in 100 blocks"),
            tasks,
            arrivals: arrivals
                .into_iter()
                .map(|(time, group)| (time, group * GROUP))
                .collect(),
            is_of_one_thread: false,
        }
    }

    pub(super) fn work(&self) -> u64 {
        self.tasks.iter().map(|task| task.computes).sum()
    }
}

fn arrivals(cores: usize, percent: usize, count: usize, mean: f64) -> Vec<(u64, usize)> {
    let mut random = Random::new(42);
    let apart = mean * 100.0 / (percent * cores) as f64;
    let mut time = 0.0;
    (0..count)
        .map(|task| {
            time += random.exponential(apart);
            (time as u64, task)
        })
        .collect()
}
