//! The spans and events of the feature `tracing`. Tokio's own tests of them run in `crates/conformance`; these are
//! about tasks, the state of locks, and subscribers that panic or use the runtime.
#![cfg(feature = "tracing")]

use std::cell::Cell;
use std::collections::HashMap;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use pointsman::runtime::{Builder, Handle, LocalRuntime, Runtime};
use pointsman::sync::{OwnedRwLockWriteGuard, RwLock, Semaphore, mpsc, oneshot};
use pointsman::task::{self, LocalSet};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The fields of a span or event, as text.
#[derive(Clone, Default)]
struct Fields(HashMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name().to_owned(), text);
    }
}

impl Fields {
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

#[derive(Clone)]
struct Span {
    name: &'static str,
    target: &'static str,
    fields: Fields,
    is_closed: bool,
}

/// Records spans and events. Each event has the names of the spans that are entered.
#[derive(Clone, Default)]
struct Recorder(Arc<Recorded>);

#[derive(Default)]
struct Recorded {
    spans: Mutex<Vec<(Span, u64)>>,
    entered: Mutex<Vec<u64>>,
    events: Mutex<Vec<(String, Fields, Vec<u64>)>>,
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let span = Span {
            name: attributes.metadata().name(),
            target: attributes.metadata().target(),
            fields,
            is_closed: false,
        };
        let mut spans = self.0.spans.lock().unwrap();
        spans.push((span, 1));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let entered = self.0.entered.lock().unwrap().clone();
        let target = event.metadata().target().to_owned();
        self.0
            .events
            .lock()
            .unwrap()
            .push((target, fields, entered));
    }

    fn enter(&self, span: &Id) {
        self.0.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let last = self.0.entered.lock().unwrap().pop();
        assert_eq!(last, Some(span.into_u64()));
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0.spans.lock().unwrap()[id.into_u64() as usize - 1].1 += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let (span, references) = &mut self.0.spans.lock().unwrap()[id.into_u64() as usize - 1];
        *references -= 1;
        span.is_closed = *references == 0;
        span.is_closed
    }
}

impl Recorder {
    /// Records what `run` does on this thread.
    fn record<R>(&self, run: impl FnOnce() -> R) -> R {
        tracing::subscriber::with_default(self.clone(), run)
    }

    fn spans(&self, name: &str) -> Vec<Span> {
        let spans = self.0.spans.lock().unwrap();
        let spans = spans.iter().map(|(span, _)| span.clone());
        spans.filter(|span| span.name == name).collect()
    }

    /// The state of the resource that was created as the `number`-th of its type, after all updates.
    fn state(&self, target: &str, field: &str) -> Option<i64> {
        let spans = self.0.spans.lock().unwrap();
        let is_resource = |span: &Span| span.name == "runtime.resource" && span.target == target;
        let id = spans.iter().position(|(span, _)| is_resource(span))? as u64 + 1;
        let mut state = None;
        for (target, fields, entered) in &*self.0.events.lock().unwrap() {
            let resources = entered.iter().rev();
            let mut resources =
                resources.filter(|id| spans[**id as usize - 1].0.name == "runtime.resource");
            let is_of_it = resources.next() == Some(&id);
            let value = match fields.get(field) {
                "" => continue,
                "true" => 1,
                "false" => 0,
                number => number.parse().unwrap(),
            };
            if target == "runtime::resource::state_update" && is_of_it {
                state = Some(match fields.get(&format!("{field}.op")) {
                    "add" => state.unwrap() + value,
                    "sub" => state.unwrap() - value,
                    _ => value,
                });
            }
        }
        state
    }
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_task_has_a_span_with_its_id_name_kind_and_location() {
    let recorder = Recorder::default();
    let runtime = current_thread();
    let (ids, line) = recorder.record(|| {
        runtime.block_on(async {
            let line = line!() + 1;
            let plain = task::spawn(async {});
            let named = task::Builder::new().name("named").spawn(async {}).unwrap();
            let large = task::spawn(async {
                let bytes = [1_u8; 5_000];
                task::yield_now().await;
                std::hint::black_box(bytes);
            });
            let set = LocalSet::new();
            let local = set.spawn_local(async {});
            let job = task::spawn_blocking(|| ());
            let ids = [plain.id(), named.id(), large.id(), local.id(), job.id()];
            set.await;
            for task in [plain, named, large, job] {
                task.await.unwrap();
            }
            (ids.map(|id| id.to_string()), line)
        })
    });
    let tasks = recorder.spans("runtime.spawn");
    let found = tasks.iter().map(|span| {
        let fields = &span.fields;
        (span.target, fields.get("kind"), fields.get("task.name"))
    });
    let found: Vec<_> = found.collect();
    let expected = [
        ("tokio::task", "block_on", ""),
        ("tokio::task", "task", ""),
        ("tokio::task", "task", "named"),
        ("tokio::task", "task", ""),
        ("tokio::task", "local", ""),
        ("tokio::task::blocking", "blocking", ""),
    ];
    assert_eq!(found, expected);
    for (span, id) in tasks[1..].iter().zip(&ids) {
        assert_eq!(span.fields.get("task.id"), id);
        assert_eq!(span.fields.get("loc.file"), file!());
        assert!(span.is_closed);
    }
    assert_eq!(tasks[1].fields.get("loc.line"), line.to_string());
    assert_eq!(tasks[1].fields.get("original_size.bytes"), "");
    assert_eq!(
        tasks[3].fields.get("size.bytes"),
        size_of::<usize>().to_string()
    );
    let original: usize = tasks[3].fields.get("original_size.bytes").parse().unwrap();
    assert!(original > 5_000);
    assert!(tasks[5].fields.get("fn").contains("{{closure}}"));
}

#[test]
fn a_task_of_a_local_runtime_is_as_in_tokio_no_local_one() {
    let recorder = Recorder::default();
    let runtime = LocalRuntime::new().unwrap();
    recorder.record(|| runtime.block_on(async { task::spawn_local(async {}).await.unwrap() }));
    let kinds = recorder.spans("runtime.spawn");
    let kinds: Vec<_> = kinds.iter().map(|span| span.fields.get("kind")).collect();
    assert_eq!(kinds, ["block_on", "task"]);
}

#[test]
fn the_span_of_a_task_ends_with_its_future() {
    let recorder = Recorder::default();
    let runtime = current_thread();
    let kept = recorder.record(|| {
        runtime.block_on(async {
            let task = task::spawn(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
            let waker = task.await.unwrap();
            let ended = task::spawn(async {});
            while !ended.is_finished() {
                task::yield_now().await;
            }
            let aborted = task::spawn(pending::<()>());
            let abort = aborted.abort_handle();
            abort.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
            (waker, ended, abort)
        })
    });
    let tasks = recorder.spans("runtime.spawn");
    assert!(tasks.len() == 4 && tasks.iter().all(|span| span.is_closed));
    drop(kept);
}

#[test]
fn a_wakers_events_have_the_id_of_the_tasks_span() {
    let recorder = Recorder::default();
    let runtime = current_thread();
    recorder.record(|| {
        runtime.block_on(async {
            task::spawn(poll_fn(|cx| {
                let clone = cx.waker().clone();
                clone.wake_by_ref();
                drop(clone);
                let clone = cx.waker().clone();
                clone.wake();
                Poll::Ready(())
            }))
            .await
            .unwrap();
        });
    });
    let spans = recorder.0.spans.lock().unwrap();
    let is_task = |span: &Span| span.fields.get("kind") == "task";
    let id = spans.iter().position(|(span, _)| is_task(span)).unwrap() + 1;
    let events = recorder.0.events.lock().unwrap();
    let wakers = events
        .iter()
        .filter(|event| event.0 == "tokio::task::waker");
    let ops: Vec<_> = wakers
        .map(|(_, fields, _)| {
            assert_eq!(fields.get("task.id"), id.to_string());
            fields.get("op")
        })
        .collect();
    assert_eq!(
        ops,
        [
            "waker.clone",
            "waker.wake_by_ref",
            "waker.drop",
            "waker.clone",
            "waker.wake"
        ]
    );
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> bool {
    future
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn the_permits_of_a_semaphore_are_counted_through_waits_and_cancellations() {
    let recorder = Recorder::default();
    let permits = || recorder.state("tokio::sync::batch_semaphore", "permits");
    recorder.record(|| {
        let semaphore = Semaphore::new(5);
        let check = || assert_eq!(permits(), Some(semaphore.available_permits() as i64));
        check();
        let two = pin!(semaphore.acquire_many(2));
        let held = futures::executor::block_on(two).unwrap();
        check();
        {
            // Takes the three that are there, and waits for four more.
            let mut seven = pin!(semaphore.acquire_many(7));
            assert!(!poll_once(seven.as_mut()));
            check();
            let mut behind = pin!(semaphore.acquire());
            assert!(!poll_once(behind.as_mut()));
            drop(held);
            check();
        }
        // Both were cancelled.
        assert_eq!(semaphore.available_permits(), 5);
        check();
        let mut all = pin!(semaphore.acquire_many(6));
        assert!(!poll_once(all.as_mut()));
        // One goes to the waiter, and three are left.
        semaphore.add_permits(4);
        check();
        assert!(poll_once(all.as_mut()));
        check();
        assert_eq!(permits(), Some(9));
    });
}

#[test]
fn the_capacity_of_a_channel_is_counted() {
    let recorder = Recorder::default();
    let permits = || recorder.state("tokio::sync::batch_semaphore", "permits");
    recorder.record(|| {
        let (sender, mut receiver) = mpsc::channel(2);
        assert_eq!(permits(), Some(2));
        futures::executor::block_on(sender.send(1)).unwrap();
        futures::executor::block_on(sender.send(2)).unwrap();
        assert_eq!(permits(), Some(0));
        let mut third = pin!(sender.send(3));
        assert!(!poll_once(third.as_mut()));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(permits(), Some(0));
        assert!(poll_once(third.as_mut()));
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(2), Ok(3)));
        assert_eq!(permits(), Some(2));
    });
}

#[test]
fn the_state_of_a_lock_follows_its_guards() {
    let recorder = Recorder::default();
    let state = |field: &str| recorder.state("tokio::sync::rwlock", field).unwrap();
    let both = || (state("current_readers"), state("write_locked"));
    recorder.record(|| {
        let lock = Arc::new(RwLock::with_max_readers(1, 3));
        assert_eq!((state("max_readers"), both()), (3, (0, 0)));
        let first = lock.try_read().unwrap();
        let second = lock.clone().try_read_owned().unwrap();
        assert_eq!(both(), (2, 0));
        drop((first, second));
        let writer = futures::executor::block_on(lock.write());
        assert_eq!(both(), (0, 1));
        let reader = writer.downgrade();
        assert_eq!(both(), (1, 0));
        drop(reader);
        let writer = futures::executor::block_on(lock.clone().write_owned());
        drop(OwnedRwLockWriteGuard::into_mapped(writer));
        assert_eq!(both(), (0, 0));
    });
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A subscriber that does something at each span and event, unless it does it already.
struct Acting<F>(F, AtomicU64);

impl<F: Fn(&Metadata<'_>) + Send + Sync + 'static> Acting<F> {
    fn act(&self, metadata: &Metadata<'_>) {
        if !IS_INSIDE.replace(true) {
            let result = catch_unwind(AssertUnwindSafe(|| (self.0)(metadata)));
            IS_INSIDE.set(false);
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl<F: Fn(&Metadata<'_>) + Send + Sync + 'static> Subscriber for Acting<F> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.act(attributes.metadata());
        Id::from_u64(self.1.fetch_add(1, Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.act(event.metadata());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn with_acting<R>(
    act: impl Fn(&Metadata<'_>) + Send + Sync + 'static,
    run: impl FnOnce() -> R,
) -> R {
    tracing::subscriber::with_default(Acting(act, AtomicU64::new(0)), run)
}

#[test]
fn a_subscriber_may_spawn_and_use_primitives() {
    for runtime in [current_thread(), Runtime::new().unwrap()] {
        let handle = runtime.handle().clone();
        let count = Arc::new(pointsman::sync::Mutex::new(0));
        let counted = count.clone();
        let (sender, mut receiver) = mpsc::channel(1);
        let act = move |_: &Metadata<'_>| {
            drop(handle.spawn(async {}));
            drop(handle.spawn_blocking(|| ()));
            if let Ok(mut count) = counted.try_lock() {
                *count += 1;
            }
            let _ = sender.try_send(());
        };
        with_acting(act, || {
            // From outside of the runtime, where a lock guards the memory of tasks.
            let outside = runtime.spawn(async { 1 });
            runtime.block_on(async {
                let mutex = Arc::new(pointsman::sync::Mutex::new(0));
                let guard = mutex.clone().lock_owned().await;
                let waiting = task::spawn(async move { *mutex.lock().await });
                let job = task::spawn_blocking(|| 2);
                task::yield_now().await;
                drop(guard);
                assert_eq!(waiting.await.unwrap() + outside.await.unwrap(), 1);
                assert_eq!(job.await.unwrap(), 2);
                receiver.recv().await.unwrap();
            });
        });
        assert!(*count.try_lock().unwrap() > 0);
    }
}

#[test]
fn a_subscriber_that_panics_when_a_task_is_spawned_leaves_the_runtime_usable() {
    let runtime = current_thread();
    let kept = Arc::new(());
    let captured = kept.clone();
    runtime.block_on(async {
        let act = |metadata: &Metadata<'_>| assert_ne!(metadata.name(), "runtime.spawn");
        let spawned = with_acting(act, || {
            catch_unwind(AssertUnwindSafe(|| {
                task::spawn(async move { drop(captured) })
            }))
        });
        assert!(spawned.is_err());
        assert_eq!(Arc::strong_count(&kept), 1);
        assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    });
}

#[test]
fn a_subscriber_that_panics_when_a_task_is_woken_loses_no_wake_up() {
    let runtime = current_thread();
    runtime.block_on(async {
        for by_value in [false, true] {
            let (sender, receiver) = oneshot::channel();
            let task = with_acting(
                |_| {},
                || {
                    let mut sender = Some(sender);
                    task::spawn(poll_fn(move |cx| match sender.take() {
                        Some(sender) => {
                            sender.send(cx.waker().clone()).unwrap();
                            Poll::Pending
                        }
                        None => Poll::Ready(()),
                    }))
                },
            );
            let waker: Waker = receiver.await.unwrap();
            // Once: dropping the waker in the unwinding has an event too.
            let has_panicked = AtomicBool::new(false);
            let act = move |metadata: &Metadata<'_>| {
                let is_waker = metadata.target() == "tokio::task::waker";
                assert!(
                    !is_waker || has_panicked.swap(true, Relaxed),
                    "in the subscriber"
                );
            };
            let woken = with_acting(act, || {
                catch_unwind(AssertUnwindSafe(|| match by_value {
                    false => waker.wake_by_ref(),
                    true => waker.wake(),
                }))
            });
            assert!(woken.is_err());
            task.await.unwrap();
        }
    });
}
