//! The primitives that a test needs besides tasks: channels, locks and a yield, behind one trait, so that the same
//! test runs with shared channels and with each runtime's own.
//!
//! Invariant: a method is one call of the primitive, so nothing else is measured.

mod futures;
mod tokio;

pub(crate) trait Notify: Default + Send + Sync + 'static {
    fn notify_one(&self);
    fn notify_waiters(&self);
    fn notified(&self) -> impl Future<Output = ()> + Send;
}

pub(crate) trait Semaphore: Send + Sync + 'static {
    fn new(permits: usize) -> Self;
    /// Acquires a permit and releases it.
    fn turn(&self) -> impl Future<Output = ()> + Send;
}

/// One value for many receivers: the sending half of a broadcast or a watch.
pub(crate) trait Publisher: Send + Sync + 'static {
    type Subscriber: Subscriber;
    fn new() -> Self;
    fn subscribe(&self) -> Self::Subscriber;
    fn publish(&self, value: usize);
}

pub(crate) trait Subscriber: Send + 'static {
    /// Returns `None` once the publisher is dropped.
    fn next(&mut self) -> impl Future<Output = Option<usize>> + Send;
}

/// The primitives of a test.
pub(crate) trait Primitives: 'static {
    type Notify: Notify;
    type Semaphore: Semaphore;
    type Broadcast: Publisher;
    type Watch: Publisher;
    type OneshotSender<T: Send + 'static>: Send;
    type OneshotReceiver<T: Send + 'static>: Send;
    type Sender<T: Send + 'static>: Clone + Send;
    type Receiver<T: Send + 'static>: Send;
    type UnboundedSender<T: Send + 'static>: Clone + Send;
    type UnboundedReceiver<T: Send + 'static>: Send;

    fn oneshot<T: Send + 'static>() -> (Self::OneshotSender<T>, Self::OneshotReceiver<T>);
    fn answer<T: Send + 'static>(sender: Self::OneshotSender<T>, value: T);
    fn answered<T: Send + 'static>(
        receiver: Self::OneshotReceiver<T>,
    ) -> impl Future<Output = T> + Send;

    fn bounded<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(
        sender: &mut Self::Sender<T>,
        value: T,
    ) -> impl Future<Output = ()> + Send;
    fn receive<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;

    fn unbounded<T: Send + 'static>() -> (Self::UnboundedSender<T>, Self::UnboundedReceiver<T>);
    fn post<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T);
    fn collect<T: Send + 'static>(
        receiver: &mut Self::UnboundedReceiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;

    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// The document's: Tokio's broadcast, watch, notify and semaphore, the channels of `futures`, and a yield that wakes
/// its own task.
pub(crate) struct Shared;

/// Each runtime's own. Nio has none and uses the shared ones.
#[cfg(not(feature = "nio"))]
pub(crate) struct Native;
#[cfg(feature = "nio")]
pub(crate) type Native = Shared;
