//! Functions that the macros' expansions call. Public for other crates' expansions only.
//!
//! Invariant: a [`MaybeDone`] holds its future until that completes and then its output, in the same memory.
//!
//! Cost: no allocation and no atomic operation.

pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::option::Option;
pub use std::pin::{Pin, pin};
pub use std::result::Result;
pub use std::task::{Context, Poll, ready};

use crate::context;
use crate::task::coop;

/// Ready if the task has budget left; uses none.
#[inline]
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_proceed(cx).map(drop)
}

/// A random number below `n`, of the generator that [`rng_seed`](crate::runtime::Builder::rng_seed) sets. Tokio's
/// macros have it here.
#[inline]
pub fn thread_rng_n(n: u32) -> u32 {
    context::random_below(n)
}

/// The branches to poll, in the order written.
#[inline]
pub fn in_order(enabled: u64) -> [u64; 1] {
    [enabled]
}

/// The branches to poll from a random one on, and those before it.
#[inline]
pub fn in_any_order(enabled: u64) -> [u64; 2] {
    let mut from_first = enabled;
    for _ in 0..context::random_below(enabled.count_ones()) {
        from_first &= from_first - 1;
    }
    [from_first, enabled ^ from_first]
}

/// Begins each poll with another future.
#[derive(Debug, Default)]
pub struct Rotating(u32);

impl Rotating {
    /// The index of the future to poll first, of `count`.
    #[inline]
    pub fn first(&mut self, count: usize) -> usize {
        let first = self.0 as usize;
        self.0 = if first + 1 == count { 0 } else { self.0 + 1 };
        first
    }
}

/// Begins each poll with the same future.
#[derive(Debug, Default)]
pub struct Biased;

impl Biased {
    /// The index of the future to poll first.
    #[inline]
    pub fn first(&mut self, _count: usize) -> usize {
        0
    }
}

/// A future, then its output.
#[derive(Debug)]
pub enum MaybeDone<F: Future> {
    /// The pending future.
    Pending(F),
    /// The output.
    Done(F::Output),
    /// Completed, and the output was taken.
    Taken,
}

impl<F: Future> MaybeDone<F> {
    #[inline]
    pub fn new(future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self::Pending(future.into_future())
    }

    /// Polls the future unless it has completed, and returns whether it is still pending.
    #[inline]
    pub fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        // SAFETY: a future is structurally pinned and stays in its slot until `set` drops it there. An output is not
        // pinned, so a mutable reference to it is fine.
        let Self::Pending(future) = (unsafe { self.as_mut().get_unchecked_mut() }) else {
            return false;
        };
        // SAFETY: `self` is pinned, and the future is structurally pinned in it: only `set` replaces it, which drops it
        // in place.
        match unsafe { Pin::new_unchecked(future) }.poll(cx) {
            Poll::Pending => true,
            Poll::Ready(output) => {
                self.set(Self::Done(output));
                false
            }
        }
    }

    /// Takes the output.
    ///
    /// # Panics
    /// If there is none, which is a bug in a macro.
    #[inline]
    pub fn take(mut self: Pin<&mut Self>) -> F::Output {
        // SAFETY: only an output is moved out, and outputs are not pinned.
        let slot = unsafe { self.as_mut().get_unchecked_mut() };
        match slot {
            Self::Done(_) => match std::mem::replace(slot, Self::Taken) {
                Self::Done(output) => output,
                _ => unreachable!("matched above"),
            },
            _ => panic!("a joined future has no output yet, or its output was taken"),
        }
    }
}

/// An error that ends the wait.
#[derive(Debug)]
pub struct Failed<E>(E);

impl<E> Failed<E> {
    /// Converts the error to the result of the macro.
    #[inline]
    pub fn pass_on<T>(self) -> Result<T, E> {
        Err(self.0)
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> MaybeDone<F> {
    /// Polls the future unless it has completed. Ready when it has, with the error if it failed.
    #[inline]
    pub fn try_poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Failed<E>>> {
        if self.as_mut().poll(cx) {
            return Poll::Pending;
        }
        if !matches!(*self, Self::Done(Err(_))) {
            return Poll::Ready(None);
        }
        Poll::Ready(self.take().err().map(Failed))
    }

    /// Takes the value of a future that has succeeded.
    ///
    /// # Panics
    /// If there is none, which is a bug in a macro.
    #[inline]
    pub fn take_ok(self: Pin<&mut Self>) -> T {
        match self.take() {
            Ok(value) => value,
            Err(_) => unreachable!("an error ends the wait"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::{pending, ready};

    use futures::executor::block_on;
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;
    use crate::{join, select};

    #[test]
    fn a_turn_has_every_enabled_branch_once_and_in_order() {
        for enabled in [0, 1, 0b1010, 0b111, u64::MAX, 1 << 63] {
            assert_eq!(in_order(enabled), [enabled]);
            for _ in 0..100 {
                let [from_first, before] = in_any_order(enabled);
                assert_eq!(from_first | before, enabled);
                assert_eq!(from_first & before, 0);
                assert!(enabled == 0 || from_first != 0);
                assert!(before == 0 || before < from_first & from_first.wrapping_neg());
            }
        }
    }

    #[test]
    fn select_waits_if_the_budget_is_spent_and_takes_nothing_itself() {
        let select = || {
            task::spawn(async {
                select! {
                    () = ready(()) => 1,
                    () = pending() => 2,
                }
            })
        };
        coop::budget(|| {
            for _ in 0..1_000 {
                assert_eq!(assert_ready!(select().poll()), 1);
            }
            let mut spent = 0;
            while coop::has_budget_remaining() {
                block_on(coop::consume_budget());
                spent += 1;
            }
            assert_eq!(spent, 128);
            let mut select = select();
            assert_pending!(select.poll());
            assert!(select.is_woken());
            assert_eq!(coop::budget(|| assert_ready!(select.poll())), 1);
        });
    }

    #[test]
    fn the_macros_work_within_this_crate() {
        block_on(async {
            assert_eq!(
                join!(ready(1), async {
                    select! { two = ready(2) => two }
                }),
                (1, 2)
            );
        });
    }
}
