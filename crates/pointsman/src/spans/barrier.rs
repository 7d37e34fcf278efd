//! The span of a barrier.

#[cfg(feature = "tracing")]
mod implementation {
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};

    use tracing::Span;

    #[derive(Debug)]
    pub(crate) struct BarrierSpan(Span);

    impl UnwindSafe for BarrierSpan {}
    impl RefUnwindSafe for BarrierSpan {}

    impl BarrierSpan {
        #[track_caller]
        pub(crate) fn new(size: u64) -> Self {
            let span = resource_span!(
                "tokio::sync::barrier",
                "Barrier",
                "Sync",
                Location::caller()
            );
            span.in_scope(|| {
                update!(size = size);
                update!(arrived = 0);
            });
            Self(span)
        }

        pub(crate) fn span(&self) -> &Span {
            &self.0
        }

        /// Called within the spans of the operation.
        pub(crate) fn arrived(&self) {
            update!(arrived = 1, arrived.op = "add");
            update_op!(arrived = true);
        }

        pub(crate) fn leads(&self) {
            update_op!(is_leader = true);
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    #[derive(Debug)]
    pub(crate) struct BarrierSpan;

    impl BarrierSpan {
        #[inline]
        pub(crate) fn new(_: u64) -> Self {
            Self
        }

        #[inline]
        pub(crate) fn arrived(&self) {}

        #[inline]
        pub(crate) fn leads(&self) {}
    }
}

pub(crate) use implementation::BarrierSpan;
