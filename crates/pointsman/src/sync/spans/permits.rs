//! The spans of semaphores and locks: that of the lock itself, and the internal one of its permits.

#[cfg(feature = "tracing")]
mod implementation {
    use std::cell::Cell;
    use std::panic::{Location, RefUnwindSafe, UnwindSafe};
    use std::task::Poll;

    use tracing::{Span, trace_span};

    use crate::spans::{Entered, OpSpans, poll_op};
    use crate::task::activity::WaitKind;

    /// The spans are disabled in a constant, as in Tokio.
    #[derive(Debug)]
    pub(in crate::sync) struct PermitsSpans {
        lock: Span,
        permits: Span,
        kind: WaitKind,
    }

    impl UnwindSafe for PermitsSpans {}
    impl RefUnwindSafe for PermitsSpans {}

    impl PermitsSpans {
        pub(in crate::sync) const fn none(kind: WaitKind) -> Self {
            Self {
                lock: Span::none(),
                permits: Span::none(),
                kind,
            }
        }

        #[track_caller]
        pub(in crate::sync) fn new(count: usize, kind: WaitKind) -> Self {
            let location = Location::caller();
            let lock = match kind {
                WaitKind::Mutex => {
                    resource_span!("tokio::sync::mutex", "Mutex", "Sync", location)
                }
                WaitKind::RwLock => {
                    let span = resource_span!("tokio::sync::rwlock", "RwLock", "Sync", location);
                    span.in_scope(|| {
                        update!(max_readers = count as u32);
                        update!(write_locked = false);
                        update!(current_readers = 0);
                    });
                    span
                }
                WaitKind::Semaphore => resource_span!(
                    "tokio::sync::semaphore",
                    "Semaphore",
                    "Sync",
                    location,
                    inherits_child_attrs = true
                ),
                _ => Span::none(),
            };
            let permits = lock.in_scope(|| {
                if kind == WaitKind::Mutex {
                    update!(locked = false);
                }
                let permits = trace_span!(
                    target: "tokio::sync::batch_semaphore",
                    parent: None,
                    "runtime.resource",
                    concrete_type = "Semaphore",
                    kind = "Sync",
                    is_internal = true
                );
                update_in!(permits, permits = count, permits.op = "override");
                permits
            });
            Self {
                lock,
                permits,
                kind,
            }
        }

        /// The span of the primitive that users see.
        pub(in crate::sync) fn lock(&self) -> &Span {
            &self.lock
        }

        /// Called with a guard that has one permit.
        pub(in crate::sync) fn one_acquired(&self) {
            match self.kind {
                WaitKind::Mutex => update_in!(self.lock, locked = true),
                WaitKind::RwLock => {
                    update_in!(self.lock, current_readers = 1, current_readers.op = "add");
                }
                _ => {}
            }
        }

        /// Called with a guard that has all permits.
        pub(in crate::sync) fn all_acquired(&self) {
            update_in!(self.lock, write_locked = true, write_locked.op = "override");
        }

        pub(in crate::sync) fn one_released(&self) {
            match self.kind {
                WaitKind::Mutex => update_in!(self.lock, locked = false),
                WaitKind::RwLock => {
                    update_in!(self.lock, current_readers = 1, current_readers.op = "sub");
                }
                _ => {}
            }
        }

        pub(in crate::sync) fn all_released(&self) {
            update_in!(
                self.lock,
                write_locked = false,
                write_locked.op = "override"
            );
        }

        /// Called when `count` permits become available.
        pub(in crate::sync) fn added(&self, count: usize) {
            if count > 0 {
                update_in!(self.permits, permits = count, permits.op = "add");
            }
        }
    }

    /// The spans of a request for permits.
    #[derive(Clone, Debug)]
    pub(in crate::sync) struct AcquireSpans {
        spans: OpSpans,
        /// The permits that were available when the request had to wait.
        taken: Cell<usize>,
    }

    impl AcquireSpans {
        pub(in crate::sync) fn new(permits: &PermitsSpans, count: usize) -> Self {
            let resource = permits.permits.clone();
            let (op, poll) = resource.in_scope(|| {
                let op = trace_span!(
                    target: "tokio::sync::batch_semaphore",
                    "runtime.resource.async_op",
                    source = "Acquire::new"
                );
                let poll = op.in_scope(|| {
                    update_op!(permits_requested = count, permits.op = "override");
                    update_op!(permits_obtained = 0_usize, permits.op = "override");
                    trace_span!(
                        target: "tokio::sync::batch_semaphore",
                        "runtime.resource.async_op.poll"
                    )
                });
                (op, poll)
            });
            let spans = OpSpans { op, poll, resource };
            Self {
                spans,
                taken: Cell::new(0),
            }
        }

        pub(in crate::sync) fn enter(&self) -> Entered<'_> {
            self.spans.enter()
        }

        /// Called when the request has got its permits without waiting.
        pub(in crate::sync) fn acquired(&self, count: usize) {
            update_in!(self.spans.resource, permits = count, permits.op = "sub");
            update_op!(permits_obtained = count, permits.op = "add");
        }

        /// Called under the queue's lock when the request has taken what is available and has to wait.
        pub(in crate::sync) fn set_taken(&self, count: usize) {
            self.taken.set(count);
        }

        /// Called when the request waits.
        pub(in crate::sync) fn enqueued(&self) {
            let count = self.taken.get();
            update_in!(self.spans.resource, permits = count, permits.op = "sub");
            self.assigned(count);
        }

        /// Called when permits were assigned to the waiting request.
        pub(in crate::sync) fn assigned(&self, count: usize) {
            let op = &self.spans.op;
            op.in_scope(|| update_op!(permits_obtained = count, permits.op = "add"));
        }

        /// Called before the future returns its permits.
        pub(in crate::sync) fn returns(&self) {
            // That it is allowed to go on, and the result.
            let _ = poll_op("poll_acquire", Poll::Ready(()));
            let _ = poll_op("poll_acquire", Poll::Ready(()));
        }

        /// Called when the future has to be polled again.
        pub(in crate::sync) fn is_pending(&self) {
            let _ = poll_op("poll_acquire", Poll::<()>::Pending);
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod implementation {
    use crate::spans::Entered;
    use crate::task::activity::WaitKind;

    #[derive(Debug)]
    pub(in crate::sync) struct PermitsSpans;

    impl PermitsSpans {
        pub(in crate::sync) const fn none(_: WaitKind) -> Self {
            Self
        }

        #[inline]
        pub(in crate::sync) fn new(_: usize, _: WaitKind) -> Self {
            Self
        }

        #[inline]
        pub(in crate::sync) fn one_acquired(&self) {}

        #[inline]
        pub(in crate::sync) fn all_acquired(&self) {}

        #[inline]
        pub(in crate::sync) fn one_released(&self) {}

        #[inline]
        pub(in crate::sync) fn all_released(&self) {}

        #[inline]
        pub(in crate::sync) fn added(&self, _: usize) {}
    }

    #[derive(Clone)]
    pub(in crate::sync) struct AcquireSpans;

    impl AcquireSpans {
        #[inline]
        pub(in crate::sync) fn new(_: &PermitsSpans, _: usize) -> Self {
            Self
        }

        #[inline]
        pub(in crate::sync) fn enter(&self) -> Entered<'_> {
            Entered::nothing()
        }

        #[inline]
        pub(in crate::sync) fn acquired(&self, _: usize) {}

        #[inline]
        pub(in crate::sync) fn set_taken(&self, _: usize) {}

        #[inline]
        pub(in crate::sync) fn enqueued(&self) {}

        #[inline]
        pub(in crate::sync) fn assigned(&self, _: usize) {}

        #[inline]
        pub(in crate::sync) fn returns(&self) {}

        #[inline]
        pub(in crate::sync) fn is_pending(&self) {}
    }
}

pub(in crate::sync) use implementation::{AcquireSpans, PermitsSpans};
