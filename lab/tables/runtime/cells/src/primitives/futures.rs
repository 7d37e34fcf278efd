//! The primitives of the published form.

use std::future::poll_fn;
use std::task::Poll;

use futures::channel::{mpsc, oneshot};
use futures::{SinkExt, StreamExt};

use super::{Primitives, Shared};

const OPEN: &str = "nobody has closed the channel";

impl Primitives for Shared {
    type Notify = ::tokio::sync::Notify;
    type Semaphore = ::tokio::sync::Semaphore;
    type Broadcast = ::tokio::sync::broadcast::Sender<usize>;
    type Watch = ::tokio::sync::watch::Sender<usize>;
    type OneshotSender<T: Send + 'static> = oneshot::Sender<T>;
    type OneshotReceiver<T: Send + 'static> = oneshot::Receiver<T>;
    type Sender<T: Send + 'static> = mpsc::Sender<T>;
    type Receiver<T: Send + 'static> = mpsc::Receiver<T>;
    type UnboundedSender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type UnboundedReceiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;

    fn oneshot<T: Send + 'static>() -> (oneshot::Sender<T>, oneshot::Receiver<T>) {
        oneshot::channel()
    }

    fn answer<T: Send + 'static>(sender: oneshot::Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "{OPEN}");
    }

    async fn answered<T: Send + 'static>(receiver: oneshot::Receiver<T>) -> T {
        receiver.await.expect(OPEN)
    }

    fn bounded<T: Send + 'static>(capacity: usize) -> (mpsc::Sender<T>, mpsc::Receiver<T>) {
        mpsc::channel(capacity)
    }

    async fn send<T: Send + 'static>(sender: &mut mpsc::Sender<T>, value: T) {
        sender.send(value).await.expect(OPEN);
    }

    async fn receive<T: Send + 'static>(receiver: &mut mpsc::Receiver<T>) -> Option<T> {
        receiver.next().await
    }

    fn unbounded<T: Send + 'static>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
        mpsc::unbounded()
    }

    fn post<T: Send + 'static>(sender: &mpsc::UnboundedSender<T>, value: T) {
        assert!(sender.unbounded_send(value).is_ok(), "{OPEN}");
    }

    async fn collect<T: Send + 'static>(receiver: &mut mpsc::UnboundedReceiver<T>) -> Option<T> {
        receiver.next().await
    }

    async fn yield_now() {
        let mut has_yielded = false;
        poll_fn(|cx| {
            if has_yielded {
                return Poll::Ready(());
            }
            has_yielded = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}
