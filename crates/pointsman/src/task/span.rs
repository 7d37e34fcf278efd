//! The span of a task, which is entered while the task is polled or its future is dropped, and the events of
//! its wakers.

#[cfg(feature = "tracing")]
mod implementation {
    use std::any::type_name;
    use std::num::NonZeroU64;
    use std::panic::{Location, catch_unwind, resume_unwind};

    use tracing::instrument::{Instrument, Instrumented};
    use tracing::{Span, span, trace, trace_span};

    use crate::task::id::Id;

    pub(crate) type Traced<F> = Instrumented<F>;

    /// The span of a task, by its id: the span itself is dropped with the future.
    #[derive(Clone, Copy)]
    pub(crate) struct TaskSpan(Option<NonZeroU64>);

    impl TaskSpan {
        fn of(span: &Span) -> Self {
            Self(span.id().as_ref().map(span::Id::into_non_zero_u64))
        }
    }

    /// The fields of a task's span besides the location and the name.
    #[derive(Clone, Copy)]
    pub(crate) struct SpawnSpan {
        kind: &'static str,
        /// The size before the future or function was boxed.
        original_size: usize,
        /// The name and size of a blocking function.
        function: Option<(&'static str, usize)>,
        /// The id that the span has, and that the task must get.
        id: Option<Id>,
        span: TaskSpan,
    }

    impl SpawnSpan {
        #[inline]
        pub(crate) fn new() -> Self {
            Self {
                kind: "task",
                original_size: 0,
                function: None,
                id: None,
                span: TaskSpan(None),
            }
        }

        #[inline]
        pub(crate) fn task(self) -> TaskSpan {
            self.span
        }

        #[inline]
        pub(crate) fn id(self) -> Option<Id> {
            self.id
        }

        #[inline]
        pub(crate) fn set_local(&mut self) {
            self.kind = "local";
        }

        #[inline]
        pub(crate) fn set_size<F>(&mut self) {
            self.original_size = size_of::<F>();
        }

        #[inline]
        pub(crate) fn set_function<F>(&mut self) {
            self.function = Some((type_name::<F>(), size_of::<F>()));
        }

        /// Puts a future into the span of a new task, which has the id that the task gets.
        pub(in crate::task) fn trace<F>(
            &mut self,
            future: F,
            name: Option<&str>,
            location: &'static Location<'static>,
        ) -> Traced<F> {
            let Self {
                kind,
                original_size,
                function,
                ..
            } = *self;
            let name = name.unwrap_or_default();
            let mut id = None;
            let mut take_id = || id.get_or_insert_with(Id::take_one).as_number();
            let span = match function {
                None => {
                    let size = size_of::<F>();
                    trace_span!(
                        target: "tokio::task",
                        parent: None,
                        "runtime.spawn",
                        %kind,
                        task.name = %name,
                        task.id = take_id(),
                        original_size.bytes = unless_same(original_size, size),
                        size.bytes = size,
                        loc.file = location.file(),
                        loc.line = location.line(),
                        loc.col = location.column(),
                    )
                }
                Some((function, size)) => trace_span!(
                    target: "tokio::task::blocking",
                    "runtime.spawn",
                    kind = %"blocking",
                    task.name = %name,
                    task.id = take_id(),
                    "fn" = %function,
                    original_size.bytes = unless_same(original_size, size),
                    size.bytes = size,
                    loc.file = location.file(),
                    loc.line = location.line(),
                    loc.col = location.column(),
                ),
            };
            self.id = id;
            self.span = TaskSpan::of(&span);
            future.instrument(span)
        }
    }

    fn unless_same(original_size: usize, size: usize) -> Option<usize> {
        (original_size != size).then_some(original_size)
    }

    /// Puts the future of a `block_on` into a span. It is not a task, and its id is of no task.
    pub(crate) fn block_on<F>(future: F, location: &'static Location<'static>) -> Traced<F> {
        let size = size_of::<F>();
        let span = trace_span!(
            target: "tokio::task",
            parent: None,
            "runtime.spawn",
            kind = %"block_on",
            task.name = %"",
            task.id = Id::take_one().as_number(),
            original_size.bytes = None::<usize>,
            size.bytes = size,
            loc.file = location.file(),
            loc.line = location.line(),
            loc.col = location.column(),
        );
        future.instrument(span)
    }

    /// Records an operation on a waker of the task, and runs it, even if the subscriber panics.
    #[inline]
    pub(crate) fn waker(task: TaskSpan, op: &'static str, run: impl FnOnce()) {
        let Some(id) = task.0 else { return run() };
        let said = catch_unwind(|| {
            trace!(target: "tokio::task::waker", op = op, task.id = id.get());
        });
        run();
        if let Err(panic) = said {
            resume_unwind(panic);
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use crate::task::id::Id;

    pub(crate) type Traced<F> = F;

    #[derive(Clone, Copy)]
    pub(crate) struct TaskSpan;

    #[derive(Clone, Copy)]
    pub(crate) struct SpawnSpan;

    impl SpawnSpan {
        #[inline]
        pub(crate) fn new() -> Self {
            Self
        }

        #[inline]
        pub(crate) fn task(self) -> TaskSpan {
            TaskSpan
        }

        #[inline]
        pub(crate) fn id(self) -> Option<Id> {
            None
        }

        #[inline]
        pub(crate) fn set_local(&mut self) {}

        #[inline]
        pub(crate) fn set_size<F>(&mut self) {}

        #[inline]
        pub(crate) fn set_function<F>(&mut self) {}
    }

    #[inline]
    pub(crate) fn waker(_: TaskSpan, _: &'static str, run: impl FnOnce()) {
        run();
    }
}

#[cfg(feature = "tracing")]
pub(crate) use implementation::block_on;
pub(crate) use implementation::{SpawnSpan, TaskSpan, Traced, waker};
