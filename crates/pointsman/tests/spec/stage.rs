//! Plays one scenario on one implementation.
//!
//! Invariant: it keeps no model of the primitive, only what each actor was told. A future is polled when it
//! begins and when it was woken, never otherwise: a grant that wakes nobody is not seen here either.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use pointsman::runtime::{Builder, Runtime};
use pointsman::time::{Duration, advance, timeout};

use super::implementation::{Acquire, Granted, Guard, Implementation, Subject};
use super::scenario::{Kind, Operation, OperationKind, Refusal, Scenario, State, Step};

/// # Errors
/// The step and every difference.
pub(crate) fn play(scenario: &Scenario, implementation: &Implementation) -> Result<(), String> {
    let subject = (implementation.create)(whole(scenario.setup.limit.unwrap_or(1.0)));
    if let Some(kind) = scenario.setup.refused {
        return Err(format!("the setup should be refused as {kind:?}"));
    }
    let free = subject.observe().available;
    let mut stage = Stage {
        subject: &*subject,
        waiting: BTreeMap::new(),
        holding: Vec::new(),
        refused: BTreeMap::new(),
        wakers: BTreeMap::new(),
        woken: Woken::default(),
        runtime: Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap(),
    };
    for (index, step) in scenario.steps.iter().enumerate() {
        stage.play(step);
        let differences = stage.compare(step.expect.as_ref());
        if !differences.0.is_empty() {
            let number = index + 1;
            return Err(format!(
                "step {number}: {}{}",
                describe(step),
                differences.0
            ));
        }
    }
    drop(stage);
    let mut differences = Differences::default();
    differences.compare("available", subject.observe().available, free);
    if differences.0.is_empty() {
        return Ok(());
    }
    Err(format!("when all have let go{}", differences.0))
}

/// The actors whose operations were woken, in that order.
type Woken = Arc<Mutex<VecDeque<String>>>;

struct WakesActor {
    name: String,
    woken: Woken,
}

impl Wake for WakesActor {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap().push_back(self.name.clone());
    }
}

/// The actors of one scenario and what each was told. Who neither waits nor holds is idle.
struct Stage<'a> {
    subject: &'a dyn Subject,
    waiting: BTreeMap<String, Acquire<'a>>,
    /// In the order of the grants.
    holding: Vec<(String, Box<dyn Guard + 'a>)>,
    /// In this step.
    refused: BTreeMap<String, Refusal>,
    /// That of the last operation of each.
    wakers: BTreeMap<String, Arc<WakesActor>>,
    woken: Woken,
    /// Its clock stands still until a step moves it. Timers go before it does.
    runtime: Runtime,
}

impl Stage<'_> {
    /// Plays a step until the world has settled.
    fn play(&mut self, step: &Step) {
        for operation in step.operations() {
            self.begin(operation);
        }
        if let Some(milliseconds) = step.advance {
            self.runtime
                .block_on(advance(Duration::from_millis(milliseconds)));
        }
        loop {
            let Some(name) = self.woken.lock().unwrap().pop_front() else {
                return;
            };
            if let Some(acquire) = self.waiting.remove(&name) {
                self.poll(&name, acquire);
            }
        }
    }

    fn begin(&mut self, operation: &Operation) {
        let name = operation.actor.as_str();
        let beyond = &operation.beyond;
        assert!(
            beyond.is_empty(),
            "{name} asks for what nobody has: {beyond:?}"
        );
        let permits = operation.permits.map(whole);
        match operation.operation {
            OperationKind::Acquire => {
                self.check_idle(name);
                let mut acquire = self.subject.acquire(permits);
                if let Some(milliseconds) = operation.timeout {
                    let _inside = self.runtime.enter();
                    let limited = timeout(Duration::from_millis(milliseconds), acquire);
                    acquire = Box::pin(async { limited.await.unwrap_or(Err(Kind::Timeout)) });
                }
                let waker = WakesActor {
                    name: name.to_owned(),
                    woken: Arc::clone(&self.woken),
                };
                self.wakers.insert(name.to_owned(), Arc::new(waker));
                self.poll(name, acquire);
            }
            OperationKind::TryAcquire => {
                self.check_idle(name);
                let granted = self.subject.try_acquire(permits);
                self.tell(name, granted);
            }
            OperationKind::Release => {
                let position = self.holding.iter().position(|(holder, _)| holder == name);
                drop(self.holding.remove(position.expect("who releases holds")));
            }
            OperationKind::Abort => {
                // Nothing is left to cancel of an operation that has ended.
                if let Some(acquire) = self.waiting.remove(name) {
                    drop(acquire);
                    self.tell(name, Err(Kind::Aborted));
                }
            }
            OperationKind::Close => self.subject.close(),
            other @ (OperationKind::ReleaseAgain
            | OperationKind::Drain
            | OperationKind::SetLimit) => panic!("{name} asks for what nobody has: {other:?}"),
        }
    }

    fn check_idle(&self, name: &str) {
        let holds = self.holding.iter().any(|(holder, _)| holder == name);
        assert!(
            !holds && !self.waiting.contains_key(name),
            "{name} does one thing at a time"
        );
    }
}

impl<'a> Stage<'a> {
    fn poll(&mut self, name: &str, mut acquire: Acquire<'a>) {
        let waker = Waker::from(Arc::clone(&self.wakers[name]));
        match acquire.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => {
                self.waiting.insert(name.to_owned(), acquire);
            }
            Poll::Ready(granted) => {
                drop(acquire);
                self.tell(name, granted);
            }
        }
    }

    fn tell(&mut self, name: &str, granted: Granted<'a>) {
        match granted {
            Ok(guard) => self.holding.push((name.to_owned(), guard)),
            Err(kind) => {
                self.refused.insert(name.to_owned(), Refusal::Plain(kind));
            }
        }
    }

    fn compare(&mut self, expected: Option<&State>) -> Differences {
        let mut differences = Differences::default();
        let nobody = BTreeMap::new();
        let refused = expected.map_or(&nobody, |state| &state.refused);
        differences.compare("refused", &std::mem::take(&mut self.refused), refused);
        if let Some(expected) = expected {
            self.compare_state(&mut differences, expected);
        }
        for (name, waker) in &self.wakers {
            if !self.waiting.contains_key(name) {
                let left = Arc::strong_count(waker) - 1;
                differences.compare(&format!("wakers left of {name}"), left, 0);
            }
        }
        differences
    }

    fn compare_state(&self, differences: &mut Differences, expected: &State) {
        let holding: Vec<_> = self.holding.iter().map(|(name, _)| name).collect();
        differences.compare("holding", holding, expected.holding.iter().collect());
        let waiting: Vec<_> = self.waiting.keys().collect();
        let mut expected_waiting: Vec<_> = expected.waiting.iter().collect();
        expected_waiting.sort();
        differences.compare("waiting", waiting, expected_waiting);
        differences.compare("draining", &[][..], &expected.draining[..]);
        let counters = self.subject.observe();
        if let Some(available) = expected.available {
            // What is free gathers for the first who waits: it can no longer be had by anybody else.
            let available = if expected.waiting.is_empty() {
                available
            } else {
                0
            };
            differences.compare("available", counters.available, available);
        }
        if let (Some(found), Some(closed)) = (counters.closed, expected.closed) {
            differences.compare("closed", found, closed);
        }
    }
}

/// One line each.
#[derive(Default)]
struct Differences(String);

impl Differences {
    fn compare<T: Debug + PartialEq>(&mut self, what: &str, found: T, expected: T) {
        if found != expected {
            write!(
                self.0,
                "\n    {what}: expected {expected:?}, found {found:?}"
            )
            .unwrap();
        }
    }
}

fn whole<T: TryFrom<u64>>(number: f64) -> T {
    assert!(number >= 0.0 && number.fract() == 0.0, "{number} is loose");
    let number = number as u64;
    T::try_from(number).unwrap_or_else(|_| panic!("{number} is too large"))
}

fn describe(step: &Step) -> String {
    if let Some(milliseconds) = step.advance {
        return format!("the clock moves by {milliseconds} ms");
    }
    let operations: Vec<_> = step
        .operations()
        .map(|operation| format!("{} {:?}", operation.actor, operation.operation))
        .collect();
    operations.join(", then at once ")
}
