//! A lock is granted to a future that its task polls only after a sleep. Another task waits for the lock longer than
//! necessary, but both continue.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join_all, poll_immediate};
use pointsman::sync::{Mutex, Semaphore, mpsc};
use pointsman::task;
use pointsman::time::sleep;

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.clone().lock_owned().await;
    let (send, mut receive) = mpsc::channel::<()>(1);
    let of_task = mutex.clone();
    let late = task::spawn(async move {
        let mut lock = pin!(of_task.lock());
        assert!(poll_immediate(lock.as_mut()).await.is_none());
        sleep(Duration::from_millis(200)).await;
        receive.recv().await;
        drop(lock.await);
    });
    super::is_healthy().await;
    drop(guard);
    let waits = task::spawn(async move { drop(mutex.lock().await) });
    super::is_healthy().await;
    // It still sleeps, or waits for the value.
    sleep(Duration::from_millis(400)).await;
    super::is_healthy().await;
    send.send(()).await.unwrap();
    late.await.unwrap();
    waits.await.unwrap();

    let semaphore = Arc::new(Semaphore::new(1));
    let all = task::spawn(async move {
        let requests = join_all([(); 5].map(|()| async {
            let _permit = semaphore.acquire().await;
            sleep(Duration::from_millis(10)).await;
        }));
        requests.await
    });
    while !all.is_finished() {
        super::is_healthy().await;
    }
}
