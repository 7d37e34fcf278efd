//! Cooperative scheduling: each poll of a task has a budget of operations. When it is spent, operations
//! return `Pending` and wake the task, so that a task that is always ready still yields.
//!
//! Invariant: an operation that makes progress costs one unit, one that does not costs none.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

#[cfg(feature = "test-util")]
use crate::context;

/// Operations per poll: Tokio's figure, so that programs tuned for it yield as often here. Bounds how long
/// one poll keeps the tasks behind it waiting.
const BUDGET: u8 = 128;

/// In place of 0 once the yield was counted: several futures of one poll may find the budget spent.
const COUNTED: u8 = u8::MAX;

/// The remaining budget; `None` (unlimited) outside of a task and in [`unconstrained`] futures.
#[derive(Clone, Copy, Debug)]
struct Budget(Option<u8>);

thread_value! {
    static CURRENT: Cell<Budget> = Cell::new(Budget(None));
}

thread_value! {
    /// Whether a task of this thread yielded since [`take_yielded`] was last called.
    static HAS_YIELDED: Cell<bool> = Cell::new(false);
}

/// Counts a yield without budget. The runtime sets the function, since this module does not depend on the runtime.
pub(crate) static COUNT_FORCED_YIELD: OnceLock<fn()> = OnceLock::new();

#[cold]
fn yield_without_budget(cx: &Context<'_>) {
    let before = CURRENT.try_with(|current| current.replace(Budget(Some(COUNTED))));
    if let (Ok(Budget(Some(0))), Some(count)) = (before, COUNT_FORCED_YIELD.get()) {
        count();
    }
    yield_to_others(cx);
}

/// Wakes the current task and records that it yields.
#[inline]
pub(crate) fn yield_to_others(cx: &Context<'_>) {
    // Fails while the thread's locals are destroyed.
    let _ = HAS_YIELDED.try_with(|has_yielded| has_yielded.set(true));
    cx.waker().wake_by_ref();
}

/// Returns whether a task of this thread yielded since the last call.
pub(crate) fn take_yielded() -> bool {
    HAS_YIELDED.with(|has_yielded| has_yielded.replace(false))
}

/// Restores the budget when it is dropped.
struct RestoreBudget(Budget);

impl Drop for RestoreBudget {
    fn drop(&mut self) {
        // Fails while the thread's locals are destroyed.
        let _ = CURRENT.try_with(|current| current.set(self.0));
    }
}

#[inline(always)]
fn with_budget<R>(budget: Budget, run: impl FnOnce() -> R) -> R {
    let _restore = CURRENT.with(|current| RestoreBudget(current.replace(budget)));
    run()
}

/// The budget of a poll. An explored run has polls that begin with less, as after earlier operations of the same poll, and
/// so yields at more places.
#[inline(always)]
fn full_budget() -> u8 {
    #[cfg(feature = "test-util")]
    if context::explores() && context::explore_below(2) == 0 {
        return context::explore_below(4) as u8;
    }
    BUDGET
}

/// Runs `run`, which polls a task, with a full budget.
#[inline(always)]
pub(crate) fn budget<R>(run: impl FnOnce() -> R) -> R {
    with_budget(Budget(Some(full_budget())), run)
}

/// Runs `run` with an unlimited budget.
#[inline(always)]
pub(crate) fn without_budget<R>(run: impl FnOnce() -> R) -> R {
    with_budget(Budget(None), run)
}

/// Returns whether the current task has budget left. True outside of a task.
///
/// ```
/// # use pointsman::task::{coop, yield_now};
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// while coop::has_budget_remaining() {
///     coop::consume_budget().await;
/// }
/// // The next poll has a new budget.
/// yield_now().await;
/// assert!(coop::has_budget_remaining());
/// # }
/// ```
#[inline]
pub fn has_budget_remaining() -> bool {
    CURRENT
        .try_with(|current| !matches!(current.get().0, Some(0 | COUNTED)))
        .unwrap_or(true)
}

/// The unit of budget of one operation. Dropping it restores the unit, unless
/// [`made_progress`](Self::made_progress) was called.
///
/// ```
/// # use pointsman::task::coop;
/// # use std::{future::poll_fn, task::{Poll, ready}};
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// for _ in 0..1_000 {
///     poll_fn(|cx| {
///         drop(ready!(coop::poll_proceed(cx)));
///         Poll::Ready(())
///     })
///     .await;
///     assert!(coop::has_budget_remaining());
/// }
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct RestoreOnPending {
    before: Cell<Budget>,
    /// Not `Send`: the budget belongs to the thread.
    _of_this_thread: PhantomData<*mut ()>,
}

impl RestoreOnPending {
    #[inline]
    fn new(before: Budget) -> Self {
        Self {
            before: Cell::new(before),
            _of_this_thread: PhantomData,
        }
    }

    /// Records that the operation made progress: its unit stays spent.
    ///
    /// ```
    /// # use pointsman::task::coop;
    /// # use std::{future::poll_fn, task::{Poll, ready}};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// while coop::has_budget_remaining() {
    ///     poll_fn(|cx| {
    ///         ready!(coop::poll_proceed(cx)).made_progress();
    ///         Poll::Ready(())
    ///     })
    ///     .await;
    /// }
    /// // The budget is spent now.
    /// assert!(!coop::has_budget_remaining());
    /// # }
    /// ```
    #[inline]
    pub fn made_progress(&self) {
        self.before.set(Budget(None));
    }
}

impl Drop for RestoreOnPending {
    fn drop(&mut self) {
        let budget = self.before.get();
        if budget.0.is_some() {
            let _ = CURRENT.try_with(|current| current.set(budget));
        }
    }
}

/// Consumes one unit of the budget. If none is left, wakes the task and returns `Pending`: the caller returns
/// that too.
///
/// An operation calls this first, and [`RestoreOnPending::made_progress`] when it completes. Outside of a
/// task this is always ready.
///
/// ```
/// use std::{future::poll_fn, task::{Poll, ready}};
/// use pointsman::task::coop;
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let (mut left, mut polls) = (1_000, 0);
/// poll_fn(|cx| {
///     polls += 1;
///     while left > 0 {
///         let unit = ready!(coop::poll_proceed(cx));
///         left -= 1;
///         unit.made_progress();
///     }
///     Poll::Ready(())
/// })
/// .await;
/// // It yielded at times.
/// assert!(polls > 1);
/// # }
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    CURRENT
        .try_with(|current| {
            let budget = current.get();
            match budget.0 {
                None => Poll::Ready(RestoreOnPending::new(budget)),
                Some(0 | COUNTED) => {
                    yield_without_budget(cx);
                    Poll::Pending
                }
                Some(left) => {
                    current.set(Budget(Some(left - 1)));
                    Poll::Ready(RestoreOnPending::new(budget))
                }
            }
        })
        .unwrap_or(Poll::Ready(RestoreOnPending::new(Budget(None))))
}

/// Consumes one unit of the budget, and yields to the runtime first if none is left.
///
/// Cancel safe: dropped before it is ready, it has consumed nothing.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// async fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
///     let mut sum = 0;
///     for number in numbers {
///         sum += number;
///         pointsman::task::coop::consume_budget().await;
///     }
///     sum
/// }
/// assert_eq!(sum(1..=1_000).await, 500_500);
/// # }
/// ```
pub async fn consume_budget() {
    poll_fn(|cx| {
        ready!(poll_proceed(cx)).made_progress();
        Poll::Ready(())
    })
    .await;
}

pin_project! {
    /// Future of [`unconstrained`].
    ///
    /// ```
    /// # use pointsman::task::coop::{Unconstrained, unconstrained};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let future: Unconstrained<_> = unconstrained(async { 1 + 1 });
    /// assert_eq!(future.await, 2);
    /// # }
    /// ```
    #[must_use = "futures do nothing unless they are awaited"]
    #[derive(Debug)]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        without_budget(|| self.project().future.poll(cx))
    }
}

/// Turns off cooperative scheduling for a future: its operations never yield before they have to wait. The
/// future can starve the other tasks of its thread.
///
/// ```
/// # use pointsman::task::coop::{consume_budget, unconstrained};
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let other = pointsman::spawn(async {});
/// unconstrained(async {
///     for _ in 0..1_000 {
///         consume_budget().await;
///     }
/// })
/// .await;
/// assert!(!other.is_finished());
/// # }
/// ```
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

pin_project! {
    /// Future of [`cooperative`].
    ///
    /// ```
    /// # use pointsman::task::coop::{Coop, cooperative};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let future: Coop<_> = cooperative(async { 1 + 1 });
    /// assert_eq!(future.await, 2);
    /// # }
    /// ```
    #[must_use = "futures do nothing unless they are awaited"]
    #[derive(Debug)]
    pub struct Coop<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let proceed = ready!(poll_proceed(cx));
        let output = ready!(self.project().future.poll(cx));
        proceed.made_progress();
        Poll::Ready(output)
    }
}

/// Makes a future cooperative: each completion costs one unit of the budget. If none is left, the future is
/// polled when the task runs next.
///
/// ```
/// # use pointsman::task::coop::cooperative;
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let other = pointsman::spawn(async {});
/// for _ in 0..1_000 {
///     // Always ready: it would starve the other task.
///     cooperative(std::future::ready(())).await;
/// }
/// assert!(other.is_finished());
/// # }
/// ```
pub fn cooperative<F>(future: F) -> Coop<F> {
    Coop { future }
}
