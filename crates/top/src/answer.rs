//! The answer of a process: the structure of `docs/dump-protocol.md`.

use std::collections::HashMap;

use serde::Deserialize;

/// The version of the protocol that this program reads.
pub(crate) const VERSION: u32 = 1;

/// Read before the rest, which another version may not have.
#[derive(Deserialize)]
pub(crate) struct Preamble {
    pub(crate) version: u32,
    pub(crate) error: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) process: Process,
    pub(crate) runtime: Runtime,
    /// Microseconds.
    pub(crate) now_us: u64,
    pub(crate) workers: Vec<Worker>,
    pub(crate) global_queue: u64,
    pub(crate) blocking: Blocking,
    pub(crate) counts: Counts,
    pub(crate) problem_count: u64,
    pub(crate) problems: Vec<Problem>,
    pub(crate) tasks: Vec<Task>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Runtime {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Worker {
    pub(crate) state: WorkerState,
    pub(crate) task: Option<u64>,
    pub(crate) poll_us: Option<u64>,
    pub(crate) queue: u64,
    pub(crate) polls: u64,
    pub(crate) busy_us: u64,
    pub(crate) mean_poll_ns: u64,
    pub(crate) parks: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerState {
    Idle,
    Task,
    BlockOn,
    Busy,
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Blocking {
    pub(crate) threads: u64,
    pub(crate) idle: u64,
    pub(crate) max: u64,
    pub(crate) queue: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Counts {
    pub(crate) tasks: u64,
    pub(crate) running: u64,
    pub(crate) queued: u64,
    pub(crate) waiting: u64,
    pub(crate) spawned: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Problem {
    pub(crate) kind: String,
    pub(crate) task_count: u64,
    pub(crate) tasks: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) spawner: Option<u64>,
    pub(crate) state: TaskState,
    pub(crate) blocking: bool,
    pub(crate) age_us: u64,
    pub(crate) polls: u64,
    pub(crate) longest_poll_us: u64,
    pub(crate) wait: Option<Wait>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    Running,
    Queued,
    Waiting,
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wait {
    pub(crate) r#for: String,
    pub(crate) identity: u64,
    pub(crate) one_of_several: bool,
    pub(crate) task: Option<u64>,
    pub(crate) holders: Vec<Holder>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Holder {
    pub(crate) task: Option<u64>,
    pub(crate) thread: bool,
    pub(crate) since_us: u64,
    pub(crate) unclaimed: bool,
}

impl Answer {
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let unreadable = |error| format!("the answer cannot be read: {error}");
        let Preamble { version, error } = serde_json::from_slice(line).map_err(unreadable)?;
        if version != VERSION {
            return Err(format!(
                "the process answers in version {version} of the protocol; this program reads version {VERSION}"
            ));
        }
        match error {
            Some(error) => Err(format!("the process refuses the request: {error}")),
            None => serde_json::from_slice(line)
                .map_err(unreadable)
                .map(Self::clean),
        }
    }

    /// Replaces characters that would control the terminal.
    fn clean(mut self) -> Self {
        let tasks = self.tasks.iter_mut();
        let texts = tasks.flat_map(|task| [&mut task.name, &mut task.location]);
        for text in texts
            .chain([&mut self.process.name, &mut self.runtime.name])
            .flatten()
        {
            if text.contains(char::is_control) {
                *text = text.replace(char::is_control, "·");
            }
        }
        self
    }

    pub(crate) fn by_id(&self) -> HashMap<u64, &Task> {
        self.tasks.iter().map(|task| (task.id, task)).collect()
    }
}
