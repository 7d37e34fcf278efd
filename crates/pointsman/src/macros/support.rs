//! What the macros write calls of: public, as it is used in other crates, and not for direct use.
//!
//! Invariant: a [`Slot`] holds its future until that is ready and its output from then on, in one place.
//!
//! Cost: no allocation and no atomic operation. To select of two takes about 1 ns if it is biased and 5 ns if
//! a branch is drawn, to poll four joined futures about 2 ns.

pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::option::Option;
pub use std::pin::{Pin, pin};
pub use std::result::Result;
pub use std::task::{Context, Poll, ready};

use crate::context;
use crate::task::coop;

/// Ready if something is left of the task's budget; nothing is taken from it.
#[inline]
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_proceed(cx).map(drop)
}

/// The branches to poll, as they are written.
#[inline]
pub fn in_order(enabled: u64) -> [u64; 1] {
    [enabled]
}

/// The branches to poll from one that is drawn, and then those before it.
#[inline]
pub fn in_any_order(enabled: u64) -> [u64; 2] {
    let mut from_first = enabled;
    for _ in 0..context::random_below(enabled.count_ones()) {
        from_first &= from_first - 1;
    }
    [from_first, enabled ^ from_first]
}

/// Another future comes first each time.
#[derive(Debug, Default)]
pub struct Rotating(u32);

impl Rotating {
    /// The number of the future to poll first, of `count`.
    #[inline]
    pub fn first(&mut self, count: usize) -> usize {
        let first = self.0 as usize;
        self.0 = if first + 1 == count { 0 } else { self.0 + 1 };
        first
    }
}

/// The same future comes first each time.
#[derive(Debug, Default)]
pub struct Biased;

impl Biased {
    /// The number of the future to poll first.
    #[inline]
    pub fn first(&mut self, _count: usize) -> usize {
        0
    }
}

/// A future, then its output.
#[derive(Debug)]
pub enum Slot<F: Future> {
    /// Not ready.
    Waiting(F),
    /// Ready.
    Done(F::Output),
    /// Ready, and the output was taken.
    Taken,
}

impl<F: Future> Slot<F> {
    /// A slot that waits for a future.
    #[inline]
    pub fn new(future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self::Waiting(future.into_future())
    }

    /// Whether the future has to be waited for.
    #[inline]
    pub fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        // SAFETY: a future is not moved: it stays in its slot until `set` drops it there. An output is not
        // pinned.
        let Self::Waiting(future) = (unsafe { self.as_mut().get_unchecked_mut() }) else {
            return false;
        };
        // SAFETY: as above, and the slot is pinned.
        match unsafe { Pin::new_unchecked(future) }.poll(cx) {
            Poll::Pending => true,
            Poll::Ready(output) => {
                self.set(Self::Done(output));
                false
            }
        }
    }

    /// The output.
    ///
    /// # Panics
    /// If there is none, which is a mistake in a macro.
    #[inline]
    pub fn take(mut self: Pin<&mut Self>) -> F::Output {
        // SAFETY: only an output is moved, and an output is not pinned.
        let slot = unsafe { self.as_mut().get_unchecked_mut() };
        match slot {
            Self::Done(_) => match std::mem::replace(slot, Self::Taken) {
                Self::Done(output) => output,
                _ => unreachable!("it was an output"),
            },
            _ => panic!("a joined future has no output yet, or its output was taken"),
        }
    }
}

/// An error that ends the wait.
#[derive(Debug)]
pub struct Failed<E>(E);

impl<E> Failed<E> {
    /// The error as the result of the whole.
    #[inline]
    pub fn pass_on<T>(self) -> Result<T, E> {
        Err(self.0)
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Slot<F> {
    /// Ready if the future is, with its error if it has failed.
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

    /// The value of a future that has not failed.
    ///
    /// # Panics
    /// If there is none, which is a mistake in a macro.
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
