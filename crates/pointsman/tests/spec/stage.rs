//! Runs one scenario on one implementation.
//!
//! Invariant: the stage has no model of the primitive, only each actor's results. A future is polled when it begins and
//! when it was woken, never otherwise: a grant without a wakeup is therefore a failure.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Debug, Write as _};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use pointsman::runtime::{Builder, Runtime};
use pointsman::time::{Duration, advance, timeout};

use super::implementation::{Begun, Ended, Held, Hold, Implementation, Outcome, Subject};
use super::scenario::{Kind, Operation, OperationKind, Refusal, Scenario, State, Step, Told};

/// # Errors
/// The step and all differences.
pub(crate) fn play(scenario: &Scenario, implementation: &Implementation) -> Result<(), String> {
    let subject = (implementation.create)(&scenario.setup);
    if let Some(kind) = scenario.setup.refused {
        return Err(format!("the setup should be refused as {kind:?}"));
    }
    let free = subject.observe().available;
    let mut stage = Stage {
        subject: &*subject,
        waiting: BTreeMap::new(),
        holding: Vec::new(),
        refused: BTreeMap::new(),
        received: BTreeMap::new(),
        wakers: BTreeMap::new(),
        woken: Woken::default(),
        keeps_wakers: implementation.keeps_wakers,
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

/// The actors whose operations were woken, in order.
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

/// The actors of one scenario and their results. An actor that neither waits nor holds is idle.
struct Stage<'a> {
    subject: &'a dyn Subject,
    waiting: BTreeMap<String, Begun<'a>>,
    /// In the order of the grants.
    holding: Vec<(String, Hold, Held<'a>)>,
    /// In this step.
    refused: BTreeMap<String, Refusal>,
    /// In this step.
    received: BTreeMap<String, Told>,
    /// That of each actor's last operation.
    wakers: BTreeMap<String, Arc<WakesActor>>,
    woken: Woken,
    keeps_wakers: usize,
    /// Its clock is paused until a step advances it. Timers are dropped before it is.
    runtime: Runtime,
}

impl Stage<'_> {
    /// Runs a step until no future is woken any more.
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
            if let Some(begun) = self.waiting.remove(&name) {
                self.poll(&name, begun);
            }
        }
    }

    fn begin(&mut self, operation: &Operation) {
        let name = operation.actor.as_str();
        let beyond = &operation.beyond;
        assert!(
            beyond.is_empty(),
            "{name} asks for capabilities that nothing has: {beyond:?}"
        );
        match operation.operation {
            OperationKind::Release => {
                let position = self.position(name).expect("who releases holds");
                drop(self.holding.remove(position));
            }
            OperationKind::Abort => {
                // A completed operation cannot be cancelled.
                if let Some(begun) = self.waiting.remove(name) {
                    drop(begun);
                    self.record(name, Err(Refusal::Plain(Kind::Aborted)));
                }
            }
            kind if kind.acts() => {
                let mut begun = self.subject.begin(operation);
                match begun.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(Outcome::Done)) => (),
                    _ => panic!("{name} does not act at once: {kind:?}"),
                }
            }
            _ => self.wait(operation),
        }
    }

    /// Begins an operation that may wait.
    fn wait(&mut self, operation: &Operation) {
        let name = operation.actor.as_str();
        assert!(
            !self.waiting.contains_key(name),
            "{name} does one thing at a time"
        );
        let mut begun = match self.position(name) {
            None => self.subject.begin(operation),
            Some(position) => Rc::clone(&self.holding[position].2).begin(operation),
        };
        if let Some(milliseconds) = operation.timeout {
            let _inside = self.runtime.enter();
            let limited = timeout(Duration::from_millis(milliseconds), begun);
            begun = Box::pin(async {
                let late = |_| Err(Refusal::Plain(Kind::Timeout));
                limited.await.unwrap_or_else(late)
            });
        }
        let waker = WakesActor {
            name: name.to_owned(),
            woken: Arc::clone(&self.woken),
        };
        self.wakers.insert(name.to_owned(), Arc::new(waker));
        self.poll(name, begun);
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.holding.iter().position(|(holder, ..)| holder == name)
    }
}

impl<'a> Stage<'a> {
    fn poll(&mut self, name: &str, mut begun: Begun<'a>) {
        let waker = Waker::from(Arc::clone(&self.wakers[name]));
        match begun.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => {
                self.waiting.insert(name.to_owned(), begun);
            }
            Poll::Ready(ended) => {
                drop(begun);
                self.record(name, ended);
            }
        }
    }

    fn record(&mut self, name: &str, ended: Ended<'a>) {
        match ended {
            Ok(Outcome::Done) => (),
            Ok(Outcome::Holds(hold, held)) => match self.position(name) {
                // An actor that converts its grant keeps its position.
                Some(position) => self.holding[position] = (name.to_owned(), hold, held),
                None => self.holding.push((name.to_owned(), hold, held)),
            },
            Ok(Outcome::Told(told)) => {
                self.received.insert(name.to_owned(), told);
            }
            Err(refusal) => {
                self.refused.insert(name.to_owned(), refusal);
            }
        }
    }

    fn compare(&mut self, expected: Option<&State>) -> Differences {
        let mut differences = Differences::default();
        let empty = State::default();
        let expected_state = expected.unwrap_or(&empty);
        let refused = std::mem::take(&mut self.refused);
        differences.compare("refused", &refused, &expected_state.refused);
        let received = std::mem::take(&mut self.received);
        differences.compare("received", &received, &expected_state.received);
        if let Some(expected) = expected {
            self.compare_state(&mut differences, expected);
        }
        let mut kept = 0;
        for (name, waker) in &self.wakers {
            if self.waiting.contains_key(name) {
                continue;
            }
            let left = Arc::strong_count(waker) - 1;
            kept += left;
            if kept > self.keeps_wakers {
                differences.compare(&format!("wakers left of {name}"), left, 0);
            }
        }
        differences
    }

    fn compare_state(&self, differences: &mut Differences, expected: &State) {
        for (hold, what, wanted) in [
            (Hold::Holding, "holding", &expected.holding),
            (Hold::Reading, "reading", &expected.reading),
            (Hold::Writing, "writing", &expected.writing),
        ] {
            differences.compare(what, self.holders(hold), wanted.iter().collect());
        }
        let waiting: Vec<_> = self.waiting.keys().collect();
        let mut expected_waiting: Vec<_> = expected.waiting.iter().collect();
        expected_waiting.sort();
        differences.compare("waiting", waiting, expected_waiting);
        differences.compare("draining", &[][..], &expected.draining[..]);
        let counters = self.subject.observe();
        if let Some(available) = expected.available {
            // Free permits are reserved for the first waiter: no other actor can acquire them.
            let available = if expected.waiting.is_empty() {
                available
            } else {
                0
            };
            differences.compare_known("available", counters.available, Some(available));
        }
        differences.compare_known("closed", counters.closed, expected.closed);
        differences.compare_known("length", counters.length, expected.length);
        differences.compare_known("value", counters.value, expected.value);
        let subscribed = self.holders(Hold::Subscribed).len();
        differences.compare_known("subscribed", counters.subscribed, Some(subscribed));
    }

    fn holders(&self, hold: Hold) -> Vec<&String> {
        let holders = self.holding.iter().filter(|(_, found, _)| *found == hold);
        holders.map(|(name, ..)| name).collect()
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

    /// Only parts that the implementation reports and the scenario expects.
    fn compare_known<T: Debug + PartialEq>(
        &mut self,
        what: &str,
        found: Option<T>,
        expected: Option<T>,
    ) {
        if let (Some(found), Some(expected)) = (found, expected) {
            self.compare(what, found, expected);
        }
    }
}

pub(crate) fn whole<T: TryFrom<u64>>(number: f64) -> T {
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
