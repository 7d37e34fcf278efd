//! The spans of a oneshot channel, which each half has.

#[cfg(feature = "tracing")]
mod implementation {
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};

    use tracing::{Span, trace_span};

    use crate::spans::{Entered, OpSpans};

    pub(in crate::sync) struct SenderSpan(Span);

    impl UnwindSafe for SenderSpan {}
    impl RefUnwindSafe for SenderSpan {}

    /// With those of the operation that awaits the receiver.
    pub(in crate::sync) struct ReceiverSpans {
        /// Dropped first, as in Tokio.
        resource: Span,
        spans: OpSpans,
    }

    impl SenderSpan {
        #[track_caller]
        pub(in crate::sync) fn pair() -> (Self, ReceiverSpans) {
            let resource = resource_span!(
                "tokio::sync::oneshot",
                "Sender|Receiver",
                "Sync",
                Location::caller()
            );
            update_in!(resource, tx_dropped = false, tx_dropped.op = "override");
            update_in!(resource, rx_dropped = false, rx_dropped.op = "override");
            update_in!(resource, value_sent = false, value_sent.op = "override");
            update_in!(
                resource,
                value_received = false,
                value_received.op = "override"
            );
            let op = resource.in_scope(|| {
                trace_span!(
                    target: "tokio::sync::oneshot",
                    "runtime.resource.async_op",
                    source = "Receiver::await"
                )
            });
            let poll = op.in_scope(
                || trace_span!(target: "tokio::sync::oneshot", "runtime.resource.async_op.poll"),
            );
            let receiver = ReceiverSpans {
                resource: resource.clone(),
                spans: OpSpans {
                    op,
                    poll,
                    resource: resource.clone(),
                },
            };
            (Self(resource), receiver)
        }

        pub(in crate::sync) fn span(&self) -> Span {
            self.0.clone()
        }

        pub(in crate::sync) fn sent(&self) {
            update_in!(self.0, value_sent = true, value_sent.op = "override");
        }

        pub(in crate::sync) fn dropped(&self) {
            update_in!(self.0, tx_dropped = true, tx_dropped.op = "override");
        }
    }

    impl ReceiverSpans {
        pub(in crate::sync) fn enter(&self) -> Entered<'_> {
            self.spans.enter()
        }

        pub(in crate::sync) fn received(&self) {
            update_in!(
                self.resource,
                value_received = true,
                value_received.op = "override"
            );
        }

        pub(in crate::sync) fn dropped(&self) {
            update_in!(self.resource, rx_dropped = true, rx_dropped.op = "override");
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use crate::spans::Entered;
    pub(in crate::sync) struct SenderSpan;

    pub(in crate::sync) struct ReceiverSpans;

    impl SenderSpan {
        #[inline]
        pub(in crate::sync) fn pair() -> (Self, ReceiverSpans) {
            (Self, ReceiverSpans)
        }

        #[inline]
        pub(in crate::sync) fn sent(&self) {}

        #[inline]
        pub(in crate::sync) fn dropped(&self) {}
    }

    impl ReceiverSpans {
        #[inline]
        pub(in crate::sync) fn enter(&self) -> Entered<'_> {
            Entered::nothing()
        }

        #[inline]
        pub(in crate::sync) fn received(&self) {}

        #[inline]
        pub(in crate::sync) fn dropped(&self) {}
    }
}

pub(in crate::sync) use implementation::{ReceiverSpans, SenderSpan};
