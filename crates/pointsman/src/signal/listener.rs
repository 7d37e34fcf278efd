//! A listener for one signal.
//!
//! Invariant: a signal that arrives after the listener was created, or after its last notification, is reported by the
//! next poll.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::sync::watch::Receiver;

pub(crate) struct Listener {
    next: Pin<Box<dyn Future<Output = Receiver<()>> + Send + Sync>>,
}

impl Listener {
    pub(super) fn new(signals: Receiver<()>) -> Self {
        Self {
            next: Box::pin(next(signals)),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The listener's first runtime may have shut down; the current one delivers signals too.
        #[cfg(unix)]
        super::registry::watch_at_current();
        let signals = ready!(self.next.as_mut().poll(cx));
        self.next = Box::pin(next(signals));
        Poll::Ready(())
    }
}

async fn next(mut signals: Receiver<()>) -> Receiver<()> {
    signals
        .changed()
        .await
        .expect("the senders are never dropped");
    signals
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}
