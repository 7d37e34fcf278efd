//! The runner's view of a primitive.
//!
//! Invariant: an adapter only forwards. What a primitive lacks is declared once, by capability, with the reason.

use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use super::scenario::{Capability, Kind, Operation, Refusal, Setup, Told};

/// The outcome of an operation.
pub(crate) enum Outcome<'a> {
    Done,
    Holds(Hold, Held<'a>),
    Told(Told),
}

/// The list of an actor's state that names it as a holder. `None` for subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Holding,
    Reading,
    Writing,
    Subscribed,
}

/// What was granted. Dropping it releases it.
pub(crate) type Held<'a> = Rc<dyn Guard<'a> + 'a>;

pub(crate) trait Guard<'a> {
    /// An operation on a held grant.
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        beyond(operation)
    }
}

/// A guard that can only be released.
struct Plain<T>(#[allow(dead_code, reason = "it is dropped")] T);

impl<T> Guard<'_> for Plain<T> {}

pub(crate) type Ended<'a> = Result<Outcome<'a>, Refusal>;
pub(crate) type Begun<'a> = Pin<Box<dyn Future<Output = Ended<'a>> + 'a>>;

/// The state that an implementation reports. Parts that it does not report are not compared.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) available: Option<usize>,
    pub(crate) closed: Option<bool>,
    pub(crate) length: Option<usize>,
    pub(crate) value: Option<i64>,
    pub(crate) subscribed: Option<usize>,
}

/// A primitive under test.
pub(crate) trait Subject {
    fn begin(&self, operation: &Operation) -> Begun<'_>;
    fn observe(&self) -> Counters;
}

pub(crate) struct Implementation {
    pub(crate) name: &'static str,
    /// The directory of the scenarios.
    pub(crate) primitive: &'static str,
    /// Why it lacks a capability; `None` if it has it.
    pub(crate) lacks: fn(Capability) -> Option<&'static str>,
    pub(crate) create: fn(&Setup) -> Box<dyn Subject>,
    pub(crate) differs: &'static [Difference],
    /// How many wakers of completed operations it may keep.
    pub(crate) keeps_wakers: usize,
    /// The minimum number of scenarios.
    pub(crate) at_least: usize,
}

/// A scenario in which an implementation rightly differs without lacking a capability.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    pub(crate) file: &'static str,
    pub(crate) scenario: &'static str,
    pub(crate) why: &'static str,
    /// Part of the runner's message: it differs in this way only.
    pub(crate) sees: &'static str,
}

/// Capabilities that nothing in this crate has, or everything has.
pub(crate) fn all_lack(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Signal => Some("cancellation is dropping the future"),
        Capability::Priority => Some("the order of arrival alone decides"),
        Capability::Drain => Some("there is no wait until it is idle"),
        Capability::Resize => Some("it knows no limit that could change"),
        Capability::Reason => Some("its errors carry no reason"),
        Capability::Owner => Some("owners are not named"),
        Capability::LooseNumbers => Some("its numbers are unsigned integers"),
        Capability::ReleaseAgain => Some("releasing consumes the guard"),
        Capability::Phases => Some("readers and writers come in strictly in the order of arrival"),
        Capability::Handed => Some("a woken waiter fetches the value when it runs"),
        _ => None,
    }
}

/// # Panics
/// Always called: the scenario asks for a capability that is missing.
pub(crate) fn beyond<'a>(operation: &Operation) -> Begun<'a> {
    panic!(
        "{} asks for what is not there: {:?}",
        operation.actor, operation.operation
    );
}

/// A completed operation.
pub(crate) fn ended<'a>(outcome: Result<Outcome<'a>, Kind>) -> Begun<'a> {
    Box::pin(ready(outcome.map_err(Refusal::Plain)))
}

pub(crate) fn done<'a>() -> Begun<'a> {
    ended(Ok(Outcome::Done))
}

pub(crate) fn refused<'a>(kind: Kind) -> Ended<'a> {
    Err(Refusal::Plain(kind))
}

/// It can only be released.
pub(crate) fn holds<'a>(hold: Hold, guard: impl Sized + 'a) -> Outcome<'a> {
    Outcome::Holds(hold, Rc::new(Plain(guard)))
}
