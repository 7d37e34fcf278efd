//! Tasks of a `LocalSet` share locks with tasks of the runtime, and the set rests between its runs.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pointsman::runtime::Builder;
use pointsman::sync::{Mutex, oneshot};
use pointsman::task::{self, LocalSet, yield_now};

pub(crate) fn main() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let set = LocalSet::new();
    let mutex = Arc::new(Mutex::new(0));
    let (send, receive) = oneshot::channel::<()>();
    let of_local = mutex.clone();
    let local = set.spawn_local(async move {
        let mut guard = of_local.lock().await;
        receive.await.unwrap();
        *guard += 1;
    });
    set.block_on(&runtime, yield_now());
    let waits = runtime.spawn(async move { *mutex.lock().await += 1 });
    let joins = set.spawn_local(async move { local.await.unwrap() });
    runtime.block_on(super::is_healthy());
    // No task can continue, and none has to.
    set.block_on(&runtime, super::is_healthy());
    thread::sleep(Duration::from_millis(1_500));
    send.send(()).unwrap();
    set.block_on(&runtime, async {
        joins.await.unwrap();
        waits.await.unwrap();
        task::spawn_local(super::is_healthy()).await.unwrap();
    });
}
