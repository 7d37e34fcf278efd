//! Tokio's primitives, and those with the same names and methods.

use super::{Notify, Publisher, Semaphore, Subscriber};

const OPEN: &str = "nobody has closed the channel";
/// The document's. Larger than the number of values ever in flight.
const BROADCAST_CAPACITY: usize = 1_000;

macro_rules! shared_as_well {
    ($sync:path) => {
        const _: () = {
            use $sync as sync;

            impl Notify for sync::Notify {
                fn notify_one(&self) {
                    self.notify_one();
                }

                fn notify_waiters(&self) {
                    self.notify_waiters();
                }

                fn notified(&self) -> impl Future<Output = ()> + Send {
                    self.notified()
                }
            }

            impl Semaphore for sync::Semaphore {
                fn new(permits: usize) -> Self {
                    Self::new(permits)
                }

                async fn turn(&self) {
                    drop(self.acquire().await.expect(OPEN));
                }
            }

            impl Publisher for sync::broadcast::Sender<usize> {
                type Subscriber = sync::broadcast::Receiver<usize>;

                fn new() -> Self {
                    sync::broadcast::channel(BROADCAST_CAPACITY).0
                }

                fn subscribe(&self) -> Self::Subscriber {
                    self.subscribe()
                }

                fn publish(&self, value: usize) {
                    self.send(value).expect(OPEN);
                }
            }

            impl Subscriber for sync::broadcast::Receiver<usize> {
                async fn next(&mut self) -> Option<usize> {
                    match self.recv().await {
                        Ok(value) => Some(value),
                        Err(sync::broadcast::error::RecvError::Closed) => None,
                        Err(lagged) => panic!("{lagged}"),
                    }
                }
            }

            impl Publisher for sync::watch::Sender<usize> {
                type Subscriber = sync::watch::Receiver<usize>;

                fn new() -> Self {
                    sync::watch::channel(0).0
                }

                fn subscribe(&self) -> Self::Subscriber {
                    self.subscribe()
                }

                fn publish(&self, value: usize) {
                    self.send(value).expect(OPEN);
                }
            }

            impl Subscriber for sync::watch::Receiver<usize> {
                async fn next(&mut self) -> Option<usize> {
                    self.changed().await.ok()?;
                    Some(*self.borrow())
                }
            }
        };
    };
}

shared_as_well!(::tokio::sync);
#[cfg(feature = "pointsman-plain")]
shared_as_well!(::pointsman::sync);

#[cfg(not(feature = "nio"))]
mod native {
    use super::super::{Native, Primitives};
    use super::OPEN;
    use crate::runtime::subject::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
    use crate::runtime::subject::task;

    impl Primitives for Native {
        type Notify = Notify;
        type Semaphore = Semaphore;
        type Broadcast = broadcast::Sender<usize>;
        type Watch = watch::Sender<usize>;
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
            assert!(sender.send(value).await.is_ok(), "{OPEN}");
        }

        async fn receive<T: Send + 'static>(receiver: &mut mpsc::Receiver<T>) -> Option<T> {
            receiver.recv().await
        }

        fn unbounded<T: Send + 'static>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>)
        {
            mpsc::unbounded_channel()
        }

        fn post<T: Send + 'static>(sender: &mpsc::UnboundedSender<T>, value: T) {
            assert!(sender.send(value).is_ok(), "{OPEN}");
        }

        async fn collect<T: Send + 'static>(
            receiver: &mut mpsc::UnboundedReceiver<T>,
        ) -> Option<T> {
            receiver.recv().await
        }

        fn yield_now() -> impl Future<Output = ()> + Send {
            task::yield_now()
        }
    }
}
