//! The answer to a tool: a dump and the metrics of the runtime as a line of JSON.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::super::handle::{Handle, RuntimeFlavor};
use super::super::super::metrics::RuntimeMetrics;
use super::super::super::scheduler::Current;
use super::super::super::stall;
use super::super::{Dump, Holder, Problem, Resource, State, Task, Wait};
use super::json::Json;
use super::request::{MAX_TASKS, Order, Request};
use crate::task::id::Id;

/// Changes when a field changes its meaning or is removed. New fields may appear in a version.
pub(super) const VERSION: u32 = 1;

/// The maximum numbers of problems in an answer, and of tasks in a problem.
const MAX_PROBLEMS: usize = 50;
const MAX_MEMBERS: usize = 50;

pub(super) struct Report {
    dump: Dump,
    runtime: u64,
    name: Option<String>,
    flavor: RuntimeFlavor,
    /// Since the socket was created.
    now: Duration,
    workers: Vec<Worker>,
    metrics: RuntimeMetrics,
    max_blocking_threads: usize,
}

struct Worker {
    state: &'static str,
    task: Option<Id>,
    /// How long the current poll has lasted, if that is known.
    poll: Option<Duration>,
}

impl Report {
    pub(super) fn take(runtime: &Handle, began: Instant) -> Self {
        let metrics = runtime.metrics();
        let worker = |worker| {
            let (steps, current) = (runtime.shared.steps(worker), runtime.shared.current(worker));
            let state = match current {
                _ if !runtime.shared.is_awake(worker) => "idle",
                Current::Task(_) => "task",
                Current::BlockOn => "block_on",
                Current::Nothing => "busy",
            };
            let poll = (state != "idle")
                .then(|| stall::polls_since(runtime.id().0, worker, steps))
                .flatten();
            Worker {
                state,
                task: None,
                poll,
            }
        };
        let mut workers: Vec<_> = (0..metrics.num_workers()).map(worker).collect();
        let dump = runtime.dump();
        for task in dump.tasks.iter() {
            if let Some(worker) = task.worker() {
                workers[worker].task = Some(task.id());
            }
        }
        Self {
            dump,
            workers,
            runtime: runtime.id().0,
            name: runtime.name().map(str::to_owned),
            flavor: runtime.runtime_flavor(),
            now: began.elapsed(),
            metrics,
            max_blocking_threads: runtime.shared.config.max_blocking_threads,
        }
    }

    pub(super) fn answer(&self, request: Request) -> Vec<u8> {
        let mut json = Json::default();
        json.object(|json| {
            json.key("version").plain(VERSION);
            json.key("process").object(|json| {
                let program = std::env::args_os().next();
                let name = program.as_deref().map(Path::new).and_then(Path::file_name);
                json.key("id").plain(std::process::id());
                json.key("name").text(name.map(OsStr::to_string_lossy));
                json.key("pointsman").string(env!("CARGO_PKG_VERSION"));
            });
            json.key("runtime").object(|json| {
                json.key("id").plain(self.runtime);
                json.key("name").text(self.name.as_ref());
                json.key("flavor").string(match self.flavor {
                    RuntimeFlavor::CurrentThread => "current_thread",
                    RuntimeFlavor::MultiThread => "multi_thread",
                });
            });
            time(json, "now_us", self.now);
            let workers = self.workers.iter().enumerate();
            json.key("workers").array(workers, |json, (index, worker)| {
                json.object(|json| self.write_worker(json, index, worker));
            });
            json.key("global_queue")
                .plain(self.metrics.global_queue_depth());
            json.key("blocking").object(|json| {
                json.key("threads")
                    .plain(self.metrics.num_blocking_threads());
                json.key("idle")
                    .plain(self.metrics.num_idle_blocking_threads());
                json.key("max").plain(self.max_blocking_threads);
                json.key("queue").plain(self.metrics.blocking_queue_depth());
            });
            json.key("counts").object(|json| self.write_counts(json));
            let problems = self.dump.problems();
            json.key("problem_count").plain(problems.len());
            let problems = problems.iter().take(MAX_PROBLEMS);
            json.key("problems").array(problems, |json, problem| {
                let (kind, tasks) = parts(problem);
                json.object(|json| {
                    json.key("kind").string(kind);
                    json.key("task_count").plain(tasks.len());
                    let tasks = tasks.iter().take(MAX_MEMBERS);
                    json.key("tasks").array(tasks, |json, id| json.plain(id));
                });
            });
            json.key("tasks").array(self.choose(request), write_task);
        });
        json.into_line()
    }

    fn write_worker(&self, json: &mut Json, index: usize, worker: &Worker) {
        let metrics = &self.metrics;
        json.key("state").string(worker.state);
        json.key("task").number(worker.task.map(Id::as_number));
        json.key("poll_us").number(worker.poll.map(micros));
        json.key("queue")
            .plain(metrics.worker_local_queue_depth(index));
        json.key("polls").plain(metrics.worker_poll_count(index));
        time(json, "busy_us", metrics.worker_total_busy_duration(index));
        let mean = metrics.worker_mean_poll_time(index);
        json.key("mean_poll_ns").plain(mean.as_nanos());
        json.key("parks").plain(metrics.worker_park_count(index));
        json.key("steals").plain(metrics.worker_steal_count(index));
    }

    fn write_counts(&self, json: &mut Json) {
        let mut counts = [0_u64; 3];
        let mut blocking = 0_u64;
        for task in self.dump.tasks.iter() {
            counts[task.state() as usize] += 1;
            blocking += u64::from(task.is_blocking());
        }
        json.key("tasks").plain(self.dump.tasks.len());
        for state in [State::Running, State::Queued, State::Waiting] {
            json.key(name_of(state)).plain(counts[state as usize]);
        }
        json.key("blocking").plain(blocking);
        json.key("spawned")
            .plain(self.metrics.spawned_tasks_count());
    }

    /// Returns the tasks of an answer: the first ones in the requested order, and then those that the answer refers to.
    fn choose(&self, request: Request) -> Vec<&Task> {
        let mut tasks: Vec<_> = self.dump.tasks.iter().collect();
        if request.count < tasks.len() {
            tasks.select_nth_unstable_by_key(request.count, |task| rank(task, request.order));
            tasks.truncate(request.count);
        }
        tasks.sort_unstable_by_key(|task| rank(task, request.order));
        let mut chosen: HashSet<_> = tasks.iter().map(|task| task.id()).collect();
        let problems = self.dump.problems().iter().take(MAX_PROBLEMS);
        let members = problems.flat_map(|problem| parts(problem).1.iter().take(MAX_MEMBERS));
        let mut mentioned: Vec<_> = members.copied().collect();
        mentioned.extend(request.task.filter(|&task| task > 0).map(Id::from_number));
        mentioned.extend(tasks.iter().copied().flat_map(mentioned_by));
        for id in mentioned {
            if tasks.len() >= MAX_TASKS {
                break;
            }
            if let Some(task) = self.dump.task(id).filter(|_| chosen.insert(id)) {
                tasks.push(task);
            }
        }
        tasks
    }
}

fn rank(task: &Task, order: Order) -> (Reverse<u128>, Id) {
    let most = match order {
        Order::Age => task.age().as_nanos(),
        Order::Polls => u128::from(task.polls()),
        Order::Longest => task.longest_poll().as_nanos(),
    };
    (Reverse(most), task.id())
}

fn parts(problem: &Problem) -> (&'static str, &[Id]) {
    match problem {
        Problem::Deadlock(tasks) => ("deadlock", tasks),
        Problem::Futurelock(task) => ("futurelock", std::slice::from_ref(task)),
        Problem::NoWaker(task) => ("lost", std::slice::from_ref(task)),
    }
}

fn mentioned_by(task: &Task) -> impl Iterator<Item = Id> {
    let wait = task.waits_for();
    let holders = wait.map_or(&[][..], Wait::holders);
    let one = [task.spawner(), wait.and_then(Wait::task)];
    let holders = holders.iter().filter_map(Holder::task);
    one.into_iter().flatten().chain(holders)
}

fn name_of(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Queued => "queued",
        State::Waiting => "waiting",
    }
}

fn write_task(json: &mut Json, task: &Task) {
    json.object(|json| {
        json.key("id").plain(task.id());
        json.key("name").text(task.name());
        json.key("location").text(task.location());
        json.key("spawner")
            .number(task.spawner().map(Id::as_number));
        json.key("state").string(name_of(task.state()));
        json.key("blocking").plain(task.is_blocking());
        time(json, "age_us", task.age());
        json.key("polls").plain(task.polls());
        time(json, "longest_poll_us", task.longest_poll());
        json.key("wait");
        match task.waits_for() {
            Some(wait) => json.object(|json| write_wait(json, wait)),
            None => json.number(None),
        }
    });
}

fn write_wait(json: &mut Json, wait: &Wait) {
    json.key("for").string(resource(wait));
    json.key("identity").plain(wait.identity());
    json.key("one_of_several").plain(wait.is_one_of_several());
    json.key("task").number(wait.task().map(Id::as_number));
    json.key("holders").array(wait.holders(), |json, holder| {
        json.object(|json| {
            let task = holder.task();
            json.key("task").number(task.map(Id::as_number));
            json.key("thread")
                .plain(task.is_none() && holder.number == 0);
            json.key("permits").plain(holder.permits());
            time(json, "since_us", holder.age());
            json.key("unclaimed").plain(holder.is_unclaimed());
        });
    });
    json.key("other_permits").plain(wait.other_permits());
}

fn resource(wait: &Wait) -> &'static str {
    match wait.resource() {
        Resource::Semaphore => "semaphore",
        Resource::Mutex => "mutex",
        Resource::RwLock => "rwlock",
        Resource::Receive => "receive",
        Resource::Send => "send",
        Resource::Notify => "notify",
        Resource::Timer => "timer",
        Resource::Io => "io",
        Resource::Join => "join",
        Resource::Barrier => "barrier",
        Resource::OnceCell => "once_cell",
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn time(json: &mut Json, key: &str, duration: Duration) {
    json.key(key).plain(micros(duration));
}
