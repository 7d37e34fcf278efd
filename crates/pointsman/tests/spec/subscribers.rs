//! `broadcast` and `watch`. Both close when the last sender is dropped.

#![expect(
    clippy::await_holding_refcell_ref,
    reason = "an actor does one thing at a time"
)]

use std::cell::RefCell;
use std::rc::Rc;

use pointsman::sync::broadcast::error::{RecvError, TryRecvError};
use pointsman::sync::{broadcast, watch};

use super::implementation::{
    Begun, Counters, Guard, Hold, Implementation, Outcome, Subject, all_lack, beyond, done, ended,
    refused,
};
use super::scenario::{Capability, Capacity, Kind, Operation, OperationKind, Refusal, Told};
use super::stage::whole;

pub(crate) const BROADCAST: Implementation = Implementation {
    name: "broadcast",
    primitive: "broadcast",
    lacks: broadcast_lacks,
    create: |setup| match setup.capacity {
        Some(Capacity::Bounded(capacity)) => {
            let sender = broadcast::Sender::new(whole(capacity));
            Box::new(Broadcast(RefCell::new(Some(sender))))
        }
        other => panic!("a broadcast needs a capacity, not {other:?}"),
    },
    differs: &[],
    keeps_wakers: 0,
    at_least: 19,
};

pub(crate) const WATCH: Implementation = Implementation {
    name: "watch",
    primitive: "watch",
    lacks: all_lack,
    create: |setup| {
        let sender = watch::Sender::new(setup.value.unwrap_or_default());
        Box::new(Watch(RefCell::new(Some(sender))))
    },
    differs: &[],
    keeps_wakers: 0,
    at_least: 13,
};

fn broadcast_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Bounded => Some("a capacity of 0 panics"),
        other => all_lack(other),
    }
}

struct Broadcast(RefCell<Option<broadcast::Sender<i64>>>);

impl Subject for Broadcast {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        if operation.operation == OperationKind::Close {
            drop(self.0.take());
            return done();
        }
        let sender = self.0.borrow();
        let Some(sender) = sender.as_ref() else {
            return ended(Err(Kind::Closed));
        };
        match operation.operation {
            OperationKind::Subscribe => {
                let receiver = Rc::new(RefCell::new(sender.subscribe()));
                ended(Ok(Outcome::Holds(Hold::Subscribed, receiver)))
            }
            OperationKind::Send => {
                // A value without subscribers is not refused.
                let _ = sender.send(operation.value.unwrap_or_default());
                done()
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        let sender = self.0.borrow();
        Counters {
            closed: Some(sender.is_none()),
            subscribed: sender.as_ref().map(broadcast::Sender::receiver_count),
            ..Counters::default()
        }
    }
}

impl<'a> Guard<'a> for RefCell<broadcast::Receiver<i64>> {
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        match operation.operation {
            OperationKind::Receive => Box::pin(async move {
                let received = self.borrow_mut().recv().await;
                match received {
                    Ok(value) => Ok(Outcome::Told(Told::Value(value))),
                    Err(RecvError::Closed) => refused(Kind::Closed),
                    Err(RecvError::Lagged(lagged)) => Err(Refusal::Lagged { lagged }),
                }
            }),
            OperationKind::TryReceive => {
                let received = self.borrow_mut().try_recv();
                Box::pin(async move {
                    match received {
                        Ok(value) => Ok(Outcome::Told(Told::Value(value))),
                        Err(TryRecvError::Empty) => refused(Kind::Unavailable),
                        Err(TryRecvError::Closed) => refused(Kind::Closed),
                        Err(TryRecvError::Lagged(lagged)) => Err(Refusal::Lagged { lagged }),
                    }
                })
            }
            _ => beyond(operation),
        }
    }
}

struct Watch(RefCell<Option<watch::Sender<i64>>>);

impl Subject for Watch {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        if operation.operation == OperationKind::Close {
            drop(self.0.take());
            return done();
        }
        let sender = self.0.borrow();
        let Some(sender) = sender.as_ref() else {
            return ended(Err(Kind::Closed));
        };
        match operation.operation {
            OperationKind::Subscribe => {
                let receiver = Rc::new(RefCell::new(sender.subscribe()));
                ended(Ok(Outcome::Holds(Hold::Subscribed, receiver)))
            }
            OperationKind::Send => {
                sender.send_replace(operation.value.unwrap_or_default());
                done()
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        let sender = self.0.borrow();
        Counters {
            closed: Some(sender.is_none()),
            value: sender.as_ref().map(|sender| *sender.borrow()),
            subscribed: sender.as_ref().map(watch::Sender::receiver_count),
            ..Counters::default()
        }
    }
}

impl<'a> Guard<'a> for RefCell<watch::Receiver<i64>> {
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        match operation.operation {
            OperationKind::Changed => Box::pin(async move {
                let changed = self.borrow_mut().changed().await;
                if changed.is_err() {
                    return refused(Kind::Closed);
                }
                let value = *self.borrow_mut().borrow_and_update();
                Ok(Outcome::Told(Told::Value(value)))
            }),
            _ => beyond(operation),
        }
    }
}
