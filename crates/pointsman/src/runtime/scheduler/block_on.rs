//! A thread that blocks on a future of a runtime of several threads.
//!
//! It polls that future and nothing else: no task can keep the future waiting, whatever it does. What the future
//! spawns goes to the workers over the inject queue.
//!
//! Cost: what is spawned here is made in an arena that belongs to this thread for the time being, so that nothing is
//! locked; the first one calls a worker, and until that has come the others are only pushed.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::context;
use super::Shared;
use crate::loom::lock;
use crate::park::ThreadParker;
use crate::task::{Home, coop};

/// What a thread in `block_on` has of its runtime.
pub(in crate::runtime) struct BlockingThread<'a> {
    shared: &'a Shared,
    /// Taken when the future first spawns a task.
    home: Cell<Option<NonNull<Home<Arc<Shared>>>>>,
}

impl BlockingThread<'_> {
    /// Where this thread makes tasks of `shared`, if it is in `block_on` of that.
    pub(super) fn home(&self, shared: &Shared) -> Option<NonNull<Home<Arc<Shared>>>> {
        if !std::ptr::eq(self.shared, shared) {
            return None;
        }
        if self.home.get().is_none() {
            let home = shared.borrow_home();
            self.home.set(home);
            context::set_home(home);
        }
        self.home.get()
    }
}

impl Drop for BlockingThread<'_> {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            self.shared.give_home_back(home);
        }
    }
}

impl Shared {
    /// Blocks this thread on a future.
    pub(in crate::runtime) fn block_on<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        if self.is_current_thread() {
            return self.block_on_and_work(future);
        }
        ThreadParker::with_current(|parker, waker| {
            let _blocking = context::set_blocking(parker);
            let mut cx = Context::from_waker(waker);
            let mut future = pin!(future);
            let thread = BlockingThread {
                shared: self,
                home: Cell::new(None),
            };
            let _thread = context::set_blocking_thread(&thread);
            loop {
                if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut cx)) {
                    return output;
                }
                while !parker.take_notified() {
                    parker.park(None);
                }
            }
        })
    }

    /// A place for tasks that is this thread's until it is given back. `None` if the runtime has ended.
    fn borrow_home(&self) -> Option<NonNull<Home<Arc<Self>>>> {
        let mut homes = lock(&self.homes);
        if homes.is_closed {
            return None;
        }
        let spare = homes.spare.pop();
        Some(spare.unwrap_or_else(|| {
            let home = Home::new(self.this.upgrade().expect("it is in use"));
            homes.all.push(home);
            home
        }))
    }

    fn give_home_back(&self, home: NonNull<Home<Arc<Self>>>) {
        // SAFETY: it is this thread's until it is given back.
        unsafe { home.as_ref().collect() };
        let mut homes = lock(&self.homes);
        if !homes.is_closed {
            homes.spare.push(home);
            return;
        }
        drop(homes);
        self.close_home(home);
    }
}
