//! `mpsc`: a channel with one receiver. It closes when the receiver closes it or, while the receiver waits, when the
//! last sender is dropped.

use std::cell::RefCell;

use pointsman::sync::mpsc::error::{TryRecvError, TrySendError};
use pointsman::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};

use super::implementation::{
    Begun, Counters, Ended, Implementation, Outcome, Subject, all_lack, beyond, done, ended,
    refused,
};
use super::scenario::{Capability, Capacity, Kind, Operation, OperationKind, Told};
use super::stage::whole;

pub(crate) const CHANNEL: Implementation = Implementation {
    name: "mpsc",
    primitive: "channel",
    lacks,
    create: |setup| match setup.capacity.expect("a channel has a capacity") {
        Capacity::Bounded(capacity) => {
            let (sender, receiver) = mpsc::channel(whole(capacity));
            Box::new(Channel {
                sender: RefCell::new(Some(sender)),
                receiver: RefCell::new(receiver),
            })
        }
        Capacity::Unbounded(_) => Box::new(mpsc::unbounded_channel()),
    },
    differs: &[],
    // The receiver's waker stays registered until a value arrives, even if the receive was cancelled.
    keeps_wakers: 1,
    at_least: 26,
};

fn lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Bounded => Some("no values can be received at any time"),
        Capability::Receivers => Some("it has one receiver"),
        Capability::Rendezvous => Some("a capacity of 0 panics"),
        Capability::WhenFull => Some("who finds no room waits"),
        other => all_lack(other),
    }
}

struct Channel {
    /// Dropped to close the channel.
    sender: RefCell<Option<Sender<i64>>>,
    /// Borrowed by the pending receive.
    receiver: RefCell<Receiver<i64>>,
}

fn completed<'a>(value: Option<i64>) -> Ended<'a> {
    value.map_or_else(
        || refused(Kind::Closed),
        |value| Ok(Outcome::Told(Told::Value(value))),
    )
}

impl Channel {
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "no other actor receives meanwhile"
    )]
    async fn receive<'a>(&self, max: Option<usize>) -> Ended<'a> {
        let mut receiver = self.receiver.borrow_mut();
        let Some(max) = max else {
            return completed(receiver.recv().await);
        };
        let mut values = Vec::new();
        if receiver.recv_many(&mut values, max).await == 0 {
            return refused(Kind::Closed);
        }
        Ok(Outcome::Told(Told::Values(values)))
    }
}

impl Subject for Channel {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let sender = self.sender.borrow().clone();
        let value = operation.value.unwrap_or_default();
        match operation.operation {
            OperationKind::Send => Box::pin(async move {
                match sender {
                    Some(sender) if sender.send(value).await.is_ok() => Ok(Outcome::Done),
                    _ => refused(Kind::Closed),
                }
            }),
            OperationKind::TrySend => {
                let sent = sender.map_or(Err(TrySendError::Closed(value)), |sender| {
                    sender.try_send(value)
                });
                ended(match sent {
                    Ok(()) => Ok(Outcome::Done),
                    Err(TrySendError::Full(_)) => Err(Kind::Unavailable),
                    Err(TrySendError::Closed(_)) => Err(Kind::Closed),
                })
            }
            OperationKind::Receive | OperationKind::ReceiveMany => {
                Box::pin(self.receive(operation.max.map(whole)))
            }
            OperationKind::TryReceive => ended(match self.receiver.borrow_mut().try_recv() {
                Ok(value) => Ok(Outcome::Told(Told::Value(value))),
                Err(TryRecvError::Empty) => Err(Kind::Unavailable),
                Err(TryRecvError::Disconnected) => Err(Kind::Closed),
            }),
            OperationKind::Close => {
                match self.receiver.try_borrow_mut() {
                    Ok(mut receiver) => receiver.close(),
                    Err(_) => drop(self.sender.take()),
                }
                done()
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        let sender = self.sender.borrow();
        Counters {
            closed: Some(sender.as_ref().is_none_or(Sender::is_closed)),
            length: self
                .receiver
                .try_borrow()
                .map(|receiver| receiver.len())
                .ok(),
            ..Counters::default()
        }
    }
}

/// Only scenarios in which an unbounded channel differs are run on it: its senders never wait.
impl Subject for (UnboundedSender<i64>, UnboundedReceiver<i64>) {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let (sender, value) = (&self.0, operation.value.unwrap_or_default());
        match operation.operation {
            OperationKind::Send => ended(match sender.send(value) {
                Ok(()) => Ok(Outcome::Done),
                Err(_) => Err(Kind::Closed),
            }),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        Counters {
            closed: Some(self.0.is_closed()),
            length: Some(self.1.len()),
            ..Counters::default()
        }
    }
}
