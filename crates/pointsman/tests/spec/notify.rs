//! `Notify` and `Barrier`.

use pointsman::sync::{Barrier, Notify};

use super::implementation::{
    Begun, Counters, Implementation, Outcome, Subject, all_lack, beyond, done,
};
use super::scenario::{Capability, Operation, OperationKind, Told};
use super::stage::whole;

pub(crate) const NOTIFY: Implementation = Implementation {
    name: "Notify",
    primitive: "notify",
    lacks: all_lack,
    create: |_| Box::new(Notify::new()),
    differs: &[],
    keeps_wakers: 0,
    at_least: 16,
};

pub(crate) const BARRIER: Implementation = Implementation {
    name: "Barrier",
    primitive: "barrier",
    lacks: barrier_lacks,
    create: |setup| Box::new(Barrier::new(whole(setup.size.unwrap_or(1.0)))),
    differs: &[],
    keeps_wakers: 0,
    at_least: 5,
};

fn barrier_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Bounded => Some("zero is treated as one: no task waits"),
        Capability::Uncounted => Some("a future dropped after its first poll has arrived"),
        other => all_lack(other),
    }
}

impl Subject for Notify {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        match operation.operation {
            OperationKind::Notified => Box::pin(async {
                self.notified().await;
                Ok(Outcome::Done)
            }),
            OperationKind::NotifyOne => {
                self.notify_one();
                done()
            }
            OperationKind::NotifyWaiters => {
                self.notify_waiters();
                done()
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        Counters::default()
    }
}

impl Subject for Barrier {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        match operation.operation {
            OperationKind::Wait => Box::pin(async {
                let leader = || Outcome::Told(Told::Word("leader".to_owned()));
                Ok(if self.wait().await.is_leader() {
                    leader()
                } else {
                    Outcome::Done
                })
            }),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        Counters::default()
    }
}
