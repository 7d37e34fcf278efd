//! The parts of Tokio's instrumentation that tokio-console reads: resources, the operations that wait for them, and
//! what these operations return when they are polled. Tasks, timers and primitives have their spans beside them. Names,
//! targets, fields and their order are Tokio's.
//!
//! A subscriber is user code: it may panic, spawn tasks and use locks and channels of this crate. So the code emits a
//! span or an event only while its state is consistent.
//!
//! Cost: nothing without the feature `tracing`: the types are empty, and the functions and macros do nothing. With it,
//! one load per span or event that no subscriber wants, and the size of the spans in tasks and primitives.

/// Awaits a future within the spans of an operation on a resource: `traced_op!(span, source, poll, future)`.
/// Without the feature it returns the future unchanged.
#[cfg(feature = "tracing")]
macro_rules! traced_op {
    ($span:expr, $source:literal, $poll:literal, $future:expr) => {
        traced_op!($span, $source, $poll, $future, false)
    };
    ($span:expr, $source:literal, $poll:literal, $future:expr, $inherits_child_attrs:literal) => {
        $crate::spans::AsyncOp::new(|| $future, $span, $source, $poll, $inherits_child_attrs)
    };
}

#[cfg(not(feature = "tracing"))]
macro_rules! traced_op {
    ($span:expr, $source:literal, $poll:literal, $future:expr $(, $inherits_child_attrs:literal)?) => {
        $future
    };
}

/// Creates the span of a resource, with the location of the call that created it.
#[cfg(feature = "tracing")]
macro_rules! resource_span {
    ($target:literal, $concrete_type:literal, $kind:literal, $location:expr $(, $field:ident = $value:expr)?) => {{
        let location: &std::panic::Location<'_> = $location;
        tracing::trace_span!(
            target: $target,
            parent: None,
            "runtime.resource",
            concrete_type = $concrete_type,
            kind = $kind,
            loc.file = location.file(),
            loc.line = location.line(),
            loc.col = location.column(),
            $($field = $value,)?
        )
    }};
}

/// Records a state change of the resource whose span is entered: `update!(field = value, field.op = "add")`.
#[cfg(feature = "tracing")]
macro_rules! update {
    ($($fields:tt)+) => {
        tracing::trace!(target: "runtime::resource::state_update", $($fields)+)
    };
}

/// Like [`update`], within the span of the resource.
#[cfg(feature = "tracing")]
macro_rules! update_in {
    ($span:expr, $($fields:tt)+) => {
        $span.in_scope(|| update!($($fields)+))
    };
}

/// Records a state change of the operation whose span is entered.
#[cfg(feature = "tracing")]
macro_rules! update_op {
    ($($fields:tt)+) => {
        tracing::trace!(target: "runtime::resource::async_op::state_update", $($fields)+)
    };
}

#[cfg(feature = "tracing")]
mod implementation {
    use std::future::Future;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use pin_project_lite::pin_project;
    use tracing::{Span, span, trace, trace_span};

    /// The spans of an operation. Dropped in Tokio's order.
    #[derive(Clone, Debug)]
    pub(crate) struct OpSpans {
        pub(crate) op: Span,
        pub(crate) poll: Span,
        pub(crate) resource: Span,
    }

    // A subscriber sees a panic of other code at most as a span that ends.
    impl UnwindSafe for OpSpans {}
    impl RefUnwindSafe for OpSpans {}

    /// Leaves the spans when it is dropped, the innermost first.
    pub(crate) struct Entered<'a> {
        _poll: span::Entered<'a>,
        _op: span::Entered<'a>,
        _resource: span::Entered<'a>,
    }

    impl OpSpans {
        pub(crate) fn enter(&self) -> Entered<'_> {
            let resource = self.resource.enter();
            let op = self.op.enter();
            Entered {
                _poll: self.poll.enter(),
                _op: op,
                _resource: resource,
            }
        }
    }

    pin_project! {
        /// A future within the spans of an operation.
        pub(crate) struct AsyncOp<F> {
            #[pin]
            future: F,
            spans: OpSpans,
            poll_name: &'static str,
        }
    }

    impl<F: Future> AsyncOp<F> {
        pub(crate) fn new(
            make: impl FnOnce() -> F,
            resource: &Span,
            source: &str,
            poll_name: &'static str,
            inherits_child_attrs: bool,
        ) -> Self {
            resource.in_scope(|| {
                let op = trace_span!(
                    target: "tokio::util::trace",
                    "runtime.resource.async_op",
                    source = source,
                    inherits_child_attrs = inherits_child_attrs
                );
                let (poll, future) = op.in_scope(|| {
                    let poll = trace_span!(
                        target: "tokio::util::trace",
                        "runtime.resource.async_op.poll"
                    );
                    (poll, make())
                });
                Self {
                    future,
                    spans: OpSpans {
                        op,
                        poll,
                        resource: resource.clone(),
                    },
                    poll_name,
                }
            })
        }
    }

    impl<F: Future> Future for AsyncOp<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            let this = self.project();
            let _entered = this.spans.enter();
            poll_op(this.poll_name, this.future.poll(cx))
        }
    }

    /// Records the result of a poll of an operation.
    pub(crate) fn poll_op<T>(name: &'static str, poll: Poll<T>) -> Poll<T> {
        trace!(
            target: "runtime::resource::poll_op",
            op_name = name,
            is_ready = poll.is_ready()
        );
        poll
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use std::task::Poll;

    pub(crate) struct Entered<'a>(std::marker::PhantomData<&'a ()>);

    impl Entered<'_> {
        #[inline]
        pub(crate) fn nothing() -> Self {
            Self(std::marker::PhantomData)
        }
    }

    #[inline(always)]
    pub(crate) fn poll_op<T>(_: &'static str, poll: Poll<T>) -> Poll<T> {
        poll
    }
}

#[cfg(feature = "tracing")]
pub(crate) use implementation::{AsyncOp, OpSpans};
pub(crate) use implementation::{Entered, poll_op};
