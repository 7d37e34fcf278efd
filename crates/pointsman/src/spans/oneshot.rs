//! The spans of a oneshot channel, which each half has.

#[cfg(feature = "tracing")]
mod implementation {
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};

    use tracing::{Span, trace_span};

    use crate::spans::resource::{Entered, OpSpans};

    pub(crate) struct SenderSpan(Span);

    impl UnwindSafe for SenderSpan {}
    impl RefUnwindSafe for SenderSpan {}

    /// With those of the operation that awaits the receiver.
    pub(crate) struct ReceiverSpans {
        /// Dropped first, as in Tokio.
        resource: Span,
        spans: OpSpans,
    }

    impl SenderSpan {
        #[track_caller]
        pub(crate) fn pair() -> (Self, ReceiverSpans) {
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

        pub(crate) fn span(&self) -> Span {
            self.0.clone()
        }

        pub(crate) fn sent(&self) {
            update_in!(self.0, value_sent = true, value_sent.op = "override");
        }

        pub(crate) fn dropped(&self) {
            update_in!(self.0, tx_dropped = true, tx_dropped.op = "override");
        }
    }

    impl ReceiverSpans {
        pub(crate) fn enter(&self) -> Entered<'_> {
            self.spans.enter()
        }

        pub(crate) fn received(&self) {
            update_in!(
                self.resource,
                value_received = true,
                value_received.op = "override"
            );
        }

        pub(crate) fn dropped(&self) {
            update_in!(self.resource, rx_dropped = true, rx_dropped.op = "override");
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use crate::spans::resource::Entered;
    pub(crate) struct SenderSpan;

    pub(crate) struct ReceiverSpans;

    impl SenderSpan {
        #[inline]
        pub(crate) fn pair() -> (Self, ReceiverSpans) {
            (Self, ReceiverSpans)
        }

        #[inline]
        pub(crate) fn sent(&self) {}

        #[inline]
        pub(crate) fn dropped(&self) {}
    }

    impl ReceiverSpans {
        #[inline]
        pub(crate) fn enter(&self) -> Entered<'_> {
            Entered::nothing()
        }

        #[inline]
        pub(crate) fn received(&self) {}

        #[inline]
        pub(crate) fn dropped(&self) {}
    }
}

pub(crate) use implementation::{ReceiverSpans, SenderSpan};
