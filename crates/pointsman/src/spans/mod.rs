//! The spans and events of Tokio's instrumentation, which tokio-console reads: tasks, their wakers, and the
//! resources that they wait for. Names, targets, fields and their order are Tokio's.
//!
//! A subscriber is user code: it may panic, spawn tasks and use locks and channels of this crate. So a span or
//! an event comes when the state around it is consistent.
//!
//! Cost: nothing without the feature `tracing`: the types are empty, and the functions and macros do nothing.
//! With it, one load per span or event that no subscriber wants, and the size of the spans in tasks and
//! primitives.

#[macro_use]
mod resource;
mod barrier;
mod oneshot;
mod permits;
mod task;
mod timer;

pub(crate) use barrier::BarrierSpan;
pub(crate) use oneshot::{ReceiverSpans, SenderSpan};
pub(crate) use permits::{AcquireSpans, PermitsSpans};
#[cfg(feature = "tracing")]
pub(crate) use resource::AsyncOp;
pub(crate) use resource::poll_op;
#[cfg(feature = "tracing")]
pub(crate) use task::block_on;
pub(crate) use task::{SpawnSpan, TaskSpan, Traced, task, waker};
pub(crate) use timer::{IntervalSpan, SleepSpans};
