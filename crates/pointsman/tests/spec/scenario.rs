//! The scenario format as types. `spec/scenario.schema.json` documents each part.
//!
//! Invariant: events and expectations are parsed completely or not at all. An unknown word is an error, so no request
//! of a scenario is ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Deserialize)]
pub(crate) struct ScenarioFile {
    pub(crate) primitive: String,
    pub(crate) scenarios: Vec<Scenario>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) needs: Vec<Capability>,
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// A capability that an implementation may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Capability {
    Permits,
    Priority,
    Timeout,
    Signal,
    Drop,
    Try,
    Close,
    Drain,
    Resize,
    Reason,
    Owner,
    Bounded,
    LooseNumbers,
    ReleaseAgain,
    Phases,
    Arrival,
    Uncounted,
    Receivers,
    Rendezvous,
    WhenFull,
    Handed,
    Fetched,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Setup {
    pub(crate) limit: Option<f64>,
    pub(crate) size: Option<f64>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) value: Option<i64>,
    pub(crate) refused: Option<Kind>,
    // No primitive in Rust has these.
    count: IgnoredAny,
    when_full: IgnoredAny,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(crate) enum Capacity {
    Bounded(f64),
    Unbounded(Unbounded),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unbounded {
    Unbounded,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(rename = "do")]
    alone: Option<Operation>,
    #[serde(default)]
    together: Vec<Operation>,
    pub(crate) advance: Option<u64>,
    pub(crate) expect: Option<State>,
}

impl Step {
    /// Events, in order. Empty if the clock advances.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.alone.iter().chain(&self.together)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Operation {
    pub(crate) actor: String,
    pub(crate) operation: OperationKind,
    pub(crate) permits: Option<f64>,
    pub(crate) value: Option<i64>,
    pub(crate) max: Option<f64>,
    pub(crate) timeout: Option<u64>,
    /// Options that no implementation in Rust has.
    #[serde(flatten)]
    pub(crate) beyond: BTreeMap<String, IgnoredAny>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OperationKind {
    Acquire,
    TryAcquire,
    Read,
    Write,
    TryRead,
    TryWrite,
    Downgrade,
    Release,
    ReleaseAgain,
    Abort,
    Drain,
    Close,
    Discard,
    SetLimit,
    Notified,
    NotifyOne,
    NotifyWaiters,
    Wait,
    CountDown,
    Send,
    TrySend,
    Receive,
    ReceiveMany,
    TryReceive,
    Changed,
    Subscribe,
}

impl OperationKind {
    /// Whether it acts at once, regardless of the actor's pending operations.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Close | Self::NotifyOne | Self::NotifyWaiters)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct State {
    pub(crate) holding: Vec<String>,
    pub(crate) reading: Vec<String>,
    pub(crate) writing: Vec<String>,
    pub(crate) waiting: Vec<String>,
    pub(crate) draining: Vec<String>,
    pub(crate) refused: BTreeMap<String, Refusal>,
    pub(crate) received: BTreeMap<String, Told>,
    pub(crate) available: Option<usize>,
    pub(crate) closed: Option<bool>,
    pub(crate) length: Option<usize>,
    pub(crate) value: Option<i64>,
    // No primitive in Rust counts these.
    limit: IgnoredAny,
    owner: IgnoredAny,
    count: IgnoredAny,
}

/// The result that an actor received.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Told {
    Value(i64),
    Values(Vec<i64>),
    Word(String),
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Refusal {
    Plain(Kind),
    /// It has missed this many.
    Lagged {
        lagged: u64,
    },
    /// With the given reason.
    Because(BTreeMap<Kind, String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Timeout,
    Aborted,
    Closed,
    Invalid,
    Reentrant,
    Full,
    Unavailable,
}

/// The directory of all scenarios.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec")
}

/// The files of one primitive, by their path, for example `semaphore/fifo.yaml`.
pub(crate) fn files_of(primitive: &str) -> BTreeMap<String, ScenarioFile> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(root().join(primitive)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{primitive}/{}", entry.file_name().to_string_lossy());
        let text = fs::read_to_string(entry.path()).unwrap();
        let file: ScenarioFile =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(file.primitive, primitive, "{path}");
        files.insert(path, file);
    }
    files
}
