//! What the runner sees of a primitive.
//!
//! Invariant: an adapter hands on and nothing else. What a primitive lacks is said once, by capability,
//! with the reason.

use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use super::scenario::{Capability, Kind, Operation, Refusal, Setup, Told};

/// What an operation has come to.
pub(crate) enum Outcome<'a> {
    Done,
    Holds(Hold, Held<'a>),
    Told(Told),
}

/// By what list of a state an actor is named that holds something. A subscriber is in none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Holding,
    Reading,
    Writing,
    Subscribed,
}

/// What was granted. Dropped, it is released.
pub(crate) type Held<'a> = Rc<dyn Guard<'a> + 'a>;

pub(crate) trait Guard<'a> {
    /// An operation on what an actor holds.
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        beyond(operation)
    }
}

/// A guard that can be released and nothing else.
struct Plain<T>(#[allow(dead_code, reason = "it is dropped")] T);

impl<T> Guard<'_> for Plain<T> {}

pub(crate) type Ended<'a> = Result<Outcome<'a>, Refusal>;
pub(crate) type Begun<'a> = Pin<Box<dyn Future<Output = Ended<'a>> + 'a>>;

/// What an implementation says of itself. It is not compared where it says nothing.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) available: Option<usize>,
    pub(crate) closed: Option<bool>,
    pub(crate) length: Option<usize>,
    pub(crate) value: Option<i64>,
    pub(crate) subscribed: Option<usize>,
}

/// One primitive under test.
pub(crate) trait Subject {
    fn begin(&self, operation: &Operation) -> Begun<'_>;
    fn observe(&self) -> Counters;
}

pub(crate) struct Implementation {
    pub(crate) name: &'static str,
    /// The folder of the scenarios.
    pub(crate) primitive: &'static str,
    /// Why it lacks a capability, or `None` if it has it.
    pub(crate) lacks: fn(Capability) -> Option<&'static str>,
    pub(crate) create: fn(&Setup) -> Box<dyn Subject>,
    pub(crate) differs: &'static [Difference],
    /// How many wakers of operations that have ended it may keep.
    pub(crate) keeps_wakers: usize,
    /// Fewer scenarios than these are not enough.
    pub(crate) at_least: usize,
}

/// A scenario in which an implementation rightly differs, though no capability says so.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    pub(crate) file: &'static str,
    pub(crate) scenario: &'static str,
    pub(crate) why: &'static str,
    /// Part of what the runner then says: it differs in this way and no other.
    pub(crate) sees: &'static str,
}

/// What nothing in this crate has, or everything.
pub(crate) fn all_lack(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Signal => Some("whoever cancels drops the future"),
        Capability::Priority => Some("the order of arrival alone decides"),
        Capability::Drain => Some("nobody can wait until it is idle"),
        Capability::Resize => Some("it knows no limit that could change"),
        Capability::Reason => Some("its errors carry no reason"),
        Capability::Owner => Some("nobody names an owner"),
        Capability::LooseNumbers => Some("its numbers are unsigned integers"),
        Capability::ReleaseAgain => Some("whoever releases has no guard left"),
        Capability::Phases => Some("readers and writers come in strictly in the order of arrival"),
        Capability::Handed => Some("whoever waits is woken, and fetches the value when it runs"),
        _ => None,
    }
}

/// # Panics
/// Always: a scenario asks for what the primitive has not.
pub(crate) fn beyond<'a>(operation: &Operation) -> Begun<'a> {
    panic!(
        "{} asks for what is not there: {:?}",
        operation.actor, operation.operation
    );
}

/// An operation that has ended.
pub(crate) fn ended<'a>(outcome: Result<Outcome<'a>, Kind>) -> Begun<'a> {
    Box::pin(ready(outcome.map_err(Refusal::Plain)))
}

pub(crate) fn done<'a>() -> Begun<'a> {
    ended(Ok(Outcome::Done))
}

pub(crate) fn refused<'a>(kind: Kind) -> Ended<'a> {
    Err(Refusal::Plain(kind))
}

/// It can be released and nothing else.
pub(crate) fn holds<'a>(hold: Hold, guard: impl Sized + 'a) -> Outcome<'a> {
    Outcome::Holds(hold, Rc::new(Plain(guard)))
}
