//! The spans of sleeps and intervals.

#[cfg(feature = "tracing")]
mod implementation {
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};

    use tracing::{Span, trace_span};

    use crate::spans::{Entered, OpSpans};
    use crate::time::Instant;

    pub(in crate::time) struct SleepSpans(OpSpans);

    impl SleepSpans {
        #[track_caller]
        pub(in crate::time) fn new() -> Self {
            let resource =
                resource_span!("tokio::time::sleep", "Sleep", "timer", Location::caller());
            let op = trace_span!(
                target: "tokio::time::sleep",
                parent: &resource,
                "runtime.resource.async_op",
                source = "Sleep::new_timeout"
            );
            let poll = trace_span!(
                target: "tokio::time::sleep",
                parent: &op,
                "runtime.resource.async_op.poll"
            );
            Self(OpSpans { op, poll, resource })
        }

        pub(in crate::time) fn enter(&self) -> Entered<'_> {
            self.0.enter()
        }

        /// Called when the timer is started, within the spans of the operation.
        pub(in crate::time) fn started(&self, deadline: Instant) {
            let left = deadline.saturating_duration_since(Instant::now());
            update_in!(
                Span::none(),
                duration = left.as_nanos().div_ceil(1_000_000) as u64,
                duration.unit = "ms",
                duration.op = "override"
            );
        }

        pub(in crate::time) fn reset(&mut self, deadline: Instant) {
            let _resource = self.0.resource.clone().entered();
            self.0.op = trace_span!(
                target: "tokio::time::sleep",
                "runtime.resource.async_op",
                source = "Sleep::reset"
            );
            let _op = self.0.op.clone().entered();
            self.0.poll = trace_span!(
                target: "tokio::time::sleep",
                "runtime.resource.async_op.poll"
            );
            self.started(deadline);
        }
    }

    pub(in crate::time) struct IntervalSpan(Span);

    impl UnwindSafe for IntervalSpan {}
    impl RefUnwindSafe for IntervalSpan {}

    impl IntervalSpan {
        #[track_caller]
        pub(in crate::time) fn new() -> Self {
            Self(resource_span!(
                "tokio::time::interval",
                "Interval",
                "timer",
                Location::caller()
            ))
        }

        pub(in crate::time) fn span(&self) -> Span {
            self.0.clone()
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use crate::spans::Entered;
    use crate::time::Instant;

    pub(in crate::time) struct SleepSpans;

    impl SleepSpans {
        #[inline]
        pub(in crate::time) fn new() -> Self {
            Self
        }

        #[inline]
        pub(in crate::time) fn enter(&self) -> Entered<'_> {
            Entered::nothing()
        }

        #[inline]
        pub(in crate::time) fn started(&self, _: Instant) {}

        #[inline]
        pub(in crate::time) fn reset(&mut self, _: Instant) {}
    }
}

#[cfg(feature = "tracing")]
pub(in crate::time) use implementation::IntervalSpan;
pub(in crate::time) use implementation::SleepSpans;
