//! The span of a barrier.

#[cfg(feature = "tracing")]
mod implementation {
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};

    use tracing::Span;

    #[derive(Debug)]
    pub(in crate::sync) struct BarrierSpan(Span);

    impl UnwindSafe for BarrierSpan {}
    impl RefUnwindSafe for BarrierSpan {}

    impl BarrierSpan {
        #[track_caller]
        pub(in crate::sync) fn new(size: u64) -> Self {
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

        pub(in crate::sync) fn span(&self) -> &Span {
            &self.0
        }

        /// Called within the spans of the operation.
        pub(in crate::sync) fn arrived(&self) {
            update!(arrived = 1, arrived.op = "add");
            update_op!(arrived = true);
        }

        pub(in crate::sync) fn leads(&self) {
            update_op!(is_leader = true);
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    #[derive(Debug)]
    pub(in crate::sync) struct BarrierSpan;

    impl BarrierSpan {
        #[inline]
        pub(in crate::sync) fn new(_: u64) -> Self {
            Self
        }

        #[inline]
        pub(in crate::sync) fn arrived(&self) {}

        #[inline]
        pub(in crate::sync) fn leads(&self) {}
    }
}

pub(in crate::sync) use implementation::BarrierSpan;
