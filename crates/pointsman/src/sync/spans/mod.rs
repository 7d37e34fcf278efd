//! The spans of the primitives; see [`spans`](crate::spans).

mod barrier;
mod oneshot;
mod permits;

pub(super) use barrier::BarrierSpan;
pub(super) use oneshot::{ReceiverSpans, SenderSpan};
pub(super) use permits::{AcquireSpans, PermitsSpans};
