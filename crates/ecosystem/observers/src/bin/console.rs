//! A program with console-subscriber, and a client that reads what tokio-console shows: the tasks, what they wait for,
//! and the state of that. The lines that begin with `| ` are the same on each runtime that records anything.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::TcpListener as Reserved;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use console_api::instrument::instrument_client::InstrumentClient;
use console_api::instrument::{InstrumentRequest, Update};
use console_api::{Field, Id, Location, MetaId, async_ops, resources, tasks};
use tokio::runtime::Builder;
use tokio::sync::{Barrier, Mutex, RwLock, Semaphore, oneshot};
use tokio::task::{JoinHandle, LocalSet, yield_now};
use tokio::time::{sleep, timeout};
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);

/// Spawns a task with a name, where names exist.
#[track_caller]
fn spawn<T: Send + 'static>(
    name: &str,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    #[cfg(any(tokio_unstable, feature = "names"))]
    return tokio::task::Builder::new()
        .name(name)
        .spawn(future)
        .unwrap();
    #[cfg(not(any(tokio_unstable, feature = "names")))]
    {
        let _ = name;
        tokio::spawn(future)
    }
}

/// Spawns tasks that each wait for a different resource. Returns the values that keep them waiting.
async fn spawn_waiting() -> Vec<Box<dyn std::any::Any>> {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.clone().lock_owned().await;
    spawn("wants the mutex", async move {
        let _guard = mutex.lock().await;
    });
    let lock = Arc::new(RwLock::with_max_readers((), 10));
    let reader = lock.clone().read_owned().await;
    spawn("wants to write", {
        let lock = lock.clone();
        async move {
            let _guard = lock.write().await;
        }
    });
    let semaphore = Arc::new(Semaphore::new(3));
    let permit = semaphore.clone().acquire_many_owned(2).await.unwrap();
    spawn("wants two permits", async move {
        let _permits = semaphore.acquire_many(2).await;
    });
    let (sender, receiver) = oneshot::channel::<()>();
    spawn("awaits a value", receiver);
    let (mut closed, kept) = oneshot::channel::<()>();
    spawn("awaits the end of a receiver", async move {
        closed.closed().await;
    });
    let (full, queue) = tokio::sync::mpsc::channel(1);
    full.send(0).await.unwrap();
    spawn("sends to a full channel", async move { full.send(1).await });
    let barrier = Arc::new(Barrier::new(2));
    spawn("waits at a barrier", async move { barrier.wait().await });
    spawn("sleeps", sleep(HOUR));
    spawn(
        "waits with a limit",
        timeout(HOUR, std::future::pending::<()>()),
    );
    spawn("is done", async {
        sleep(Duration::from_millis(1)).await;
        yield_now().await;
    })
    .await
    .unwrap();
    vec![
        Box::new((guard, reader, permit)),
        Box::new((sender, kept, queue)),
    ]
}

/// Spawns the task by which the client knows that it has read all.
fn spawn_last() {
    spawn("the last", std::future::pending::<()>());
}
const LAST_LINE: u32 = line!() - 2;

/// The observed program: its tasks wait until the client has read.
fn observed(recorded: &mpsc::Receiver<Record>) -> Record {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        local.spawn_local(std::future::pending::<()>());
        let _kept = spawn_waiting().await;
        // Each task is polled before the last one is spawned.
        for _ in 0..100 {
            yield_now().await;
        }
        spawn_last();
        loop {
            match recorded.try_recv() {
                Ok(record) => break record,
                Err(mpsc::TryRecvError::Empty) => yield_now().await,
                Err(mpsc::TryRecvError::Disconnected) => panic!("the client has failed"),
            }
        }
    })
}

/// What the client has read.
#[derive(Default)]
struct Record {
    targets: BTreeMap<u64, String>,
    tasks: BTreeMap<u64, tasks::Task>,
    resources: BTreeMap<u64, resources::Resource>,
    states: BTreeMap<u64, resources::Stats>,
    ops: BTreeMap<u64, async_ops::AsyncOp>,
    op_stats: BTreeMap<u64, async_ops::Stats>,
}

impl Record {
    fn read(&mut self, update: Update) {
        let metadata = update.new_metadata.into_iter().flat_map(|it| it.metadata);
        self.targets.extend(metadata.map(|it| {
            (
                it.id.unwrap().id,
                it.metadata.map_or(String::new(), |it| it.target),
            )
        }));
        if let Some(update) = update.task_update {
            assert_eq!(update.dropped_events, 0);
            let tasks = update.new_tasks.into_iter();
            self.tasks.extend(tasks.map(|it| (number(&it.id), it)));
        }
        if let Some(update) = update.resource_update {
            assert_eq!(update.dropped_events, 0);
            let resources = update.new_resources.into_iter();
            self.resources
                .extend(resources.map(|it| (number(&it.id), it)));
            self.states.extend(update.stats_update);
        }
        if let Some(update) = update.async_op_update {
            assert_eq!(update.dropped_events, 0);
            let ops = update.new_async_ops.into_iter();
            self.ops.extend(ops.map(|it| (number(&it.id), it)));
            self.op_stats.extend(update.stats_update);
        }
    }

    fn is_complete(&self) -> bool {
        let mut tasks = self.tasks.values();
        tasks.any(|it| place(&it.location).ends_with(&format!(":{LAST_LINE}")))
    }

    fn target(&self, id: Option<MetaId>) -> &str {
        &self.targets[&id.unwrap().id]
    }

    /// The type and place of a resource, and the one that it belongs to.
    fn resource(&self, id: u64) -> String {
        let it = &self.resources[&id];
        let mut text = it.concrete_type.clone();
        if let Some(parent) = &it.parent_resource_id {
            text += &format!(" in {}", self.resource(parent.id));
        } else if it.location.is_some() {
            text += &format!(" at {}", place(&it.location));
        }
        text
    }

    /// The operations of a task that are not complete, each with its resource.
    fn waits(&self, task: u64) -> String {
        let mut texts = Vec::new();
        for (id, op) in &self.ops {
            let stats = &self.op_stats[id];
            if number(&stats.task_id) == task && stats.dropped_at.is_none() {
                texts.push(format!(
                    "\n|     {} of {}{}",
                    op.source,
                    self.resource(number(&op.resource_id)),
                    attributes(&stats.attributes)
                ));
            }
        }
        texts.sort();
        texts.concat()
    }

    /// Prints the tasks and resources of this file, sorted, as the ids of spans have no order.
    fn print(&self) {
        let mut lines = Vec::new();
        for (id, task) in &self.tasks {
            let text = |name: &str| field(&task.fields, name).unwrap_or_default();
            assert!(!text("task.id").is_empty() && !text("size.bytes").is_empty());
            lines.push(format!(
                "{} {:?} at {} ({}){}",
                text("kind"),
                text("task.name"),
                place(&task.location),
                self.target(task.metadata),
                self.waits(*id)
            ));
        }
        for (id, resource) in &self.resources {
            let is_own =
                resource.location.is_none() || place(&resource.location).contains("console");
            if is_own && self.states[id].dropped_at.is_none() {
                lines.push(format!(
                    "{} ({}){}{}",
                    self.resource(*id),
                    self.target(resource.metadata),
                    if resource.is_internal {
                        ", internal"
                    } else {
                        ""
                    },
                    attributes(&self.states[id].attributes)
                ));
            }
        }
        lines.sort();
        for line in &lines {
            println!("| {line}");
        }
        println!(
            "{} tasks, and {} resources that are alive",
            self.tasks.len(),
            lines.len() - self.tasks.len()
        );
    }
}

fn number(id: &Option<Id>) -> u64 {
    id.as_ref().map_or(0, |it| it.id)
}

fn place(location: &Option<Location>) -> String {
    let Some(location) = location else {
        return String::new();
    };
    let file = location.file.as_deref().unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or_default();
    format!("{file}:{}", location.line.unwrap_or_default())
}

fn field(fields: &[Field], name: &str) -> Option<String> {
    let start = format!("{name}=");
    let mut texts = fields.iter().map(Field::to_string);
    texts.find_map(|text| text.strip_prefix(&start).map(str::to_owned))
}

fn attributes(attributes: &[console_api::Attribute]) -> String {
    let mut texts: Vec<String> = attributes
        .iter()
        // How long a sleep has left depends on the rounding of the clock.
        .map(|it| it.field.as_ref().map_or(String::new(), Field::to_string))
        .filter(|text| !text.starts_with("duration="))
        .collect();
    texts.sort();
    texts.iter().map(|text| format!(", {text}")).collect()
}

/// Serves the record and reads it, on a thread that records nothing.
fn serve_and_read(
    server: console_subscriber::Server,
    address: std::net::SocketAddr,
    records: &mpsc::Sender<Record>,
) {
    let _unrecorded = tracing::subscriber::set_default(NoSubscriber::default());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = tokio::spawn(server.serve());
        let mut client = loop {
            match InstrumentClient::connect(format!("http://{address}")).await {
                Ok(client) => break client,
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
            assert!(!server.is_finished(), "the server does not listen");
        };
        let updates = client.watch_updates(InstrumentRequest {}).await.unwrap();
        let mut updates = updates.into_inner();
        let mut record = Record::default();
        let mut count = 0;
        while !record.is_complete() && (RECORDS || count < 5) {
            record.read(updates.message().await.unwrap().unwrap());
            count += 1;
        }
        records.send(record).unwrap();
        server.abort();
    });
}

/// Whether the runtime records anything: Tokio only with the flag.
const RECORDS: bool = cfg!(any(tokio_unstable, feature = "names"));

fn main() {
    let address = Reserved::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (layer, server) = console_subscriber::ConsoleLayer::builder()
        .server_addr(address)
        .publish_interval(Duration::from_millis(20))
        .build();
    let (records, recorded) = mpsc::channel();
    let client = std::thread::spawn(move || serve_and_read(server, address, &records));
    let observer = tracing_subscriber::registry().with(layer);
    let record = tracing::subscriber::with_default(observer, || observed(&recorded));
    client.join().unwrap();
    if RECORDS {
        record.print();
    } else {
        assert!(record.tasks.is_empty() && record.resources.is_empty());
        println!("records nothing without the flag");
    }
}
