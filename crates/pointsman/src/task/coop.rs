//! Cooperation: each poll of a task has a budget of operations, and what would go on for ever without
//! waiting is made to wait when the budget is spent.
//!
//! Invariant: an operation costs one unit if it makes progress, and nothing if it does not.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

/// Operations of one poll.
const BUDGET: u8 = 128;

/// What is left of the budget; `None` outside of a task and in [`unconstrained`] futures.
#[derive(Clone, Copy, Debug)]
struct Budget(Option<u8>);

thread_value! {
    static CURRENT: Cell<Budget> = Cell::new(Budget(None));
}

thread_value! {
    /// A task that this thread polls has let others go first, since this was last asked.
    static HAS_YIELDED: Cell<bool> = Cell::new(false);
}

/// Wakes the task that is polled, which lets others go first.
#[inline]
pub(crate) fn yield_to_others(cx: &Context<'_>) {
    // The thread may be ending.
    let _ = HAS_YIELDED.try_with(|has_yielded| has_yielded.set(true));
    cx.waker().wake_by_ref();
}

/// Whether a task has let others go first on this thread since this was last asked.
pub(crate) fn take_yielded() -> bool {
    HAS_YIELDED.with(|has_yielded| has_yielded.replace(false))
}

/// Sets the budget back when it is dropped.
struct Reset(Budget);

impl Drop for Reset {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = CURRENT.try_with(|current| current.set(self.0));
    }
}

#[inline(always)]
fn with_budget<R>(budget: Budget, run: impl FnOnce() -> R) -> R {
    let _reset = CURRENT.with(|current| Reset(current.replace(budget)));
    run()
}

/// Runs `run`, which polls a task, with a whole budget.
#[inline(always)]
pub(crate) fn budget<R>(run: impl FnOnce() -> R) -> R {
    with_budget(Budget(Some(BUDGET)), run)
}

/// Runs `run` without a limit.
#[inline(always)]
pub(crate) fn without_budget<R>(run: impl FnOnce() -> R) -> R {
    with_budget(Budget(None), run)
}

/// Whether the running task may do more before it should return to the runtime. True outside of a task.
///
/// ```
/// # use pointsman::task::{coop, yield_now};
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// while coop::has_budget_remaining() {
///     coop::consume_budget().await;
/// }
/// // The next poll has a new one.
/// yield_now().await;
/// assert!(coop::has_budget_remaining());
/// # }
/// ```
#[inline]
pub fn has_budget_remaining() -> bool {
    CURRENT
        .try_with(|current| current.get().0 != Some(0))
        .unwrap_or(true)
}

/// The unit of budget that an operation has taken. It is given back when this is dropped, unless
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
    /// The budget is that of the thread.
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

    /// The operation is done: what it has taken is spent.
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
    /// // All of it is spent now.
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

/// Takes one unit of the budget. If none is left, the task is woken again and this is pending: return.
///
/// An operation calls this first and [`RestoreOnPending::made_progress`] when it has done something. Outside
/// of a task there is no budget, and this is always ready.
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
/// // It has let others run now and then.
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
                Some(0) => {
                    yield_to_others(cx);
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

/// Takes one unit of the budget, and returns to the runtime if none is left.
///
/// Cancel safe: if it is dropped before it is ready, it has taken nothing.
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

/// Takes the limit off a future: its operations never return to the runtime before they have to wait. It
/// can keep all other tasks of its thread waiting.
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

/// Lets a future take part: each completion costs one unit of the budget. If none is left, the future is not
/// polled before the next turn of the task.
///
/// ```
/// # use pointsman::task::coop::cooperative;
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let other = pointsman::spawn(async {});
/// for _ in 0..1_000 {
///     // Always ready: it would let nobody else run.
///     cooperative(std::future::ready(())).await;
/// }
/// assert!(other.is_finished());
/// # }
/// ```
pub fn cooperative<F>(future: F) -> Coop<F> {
    Coop { future }
}
