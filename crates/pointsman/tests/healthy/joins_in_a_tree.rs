//! Tasks await tasks that they have spawned, which share a lock with their parents' siblings.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::Mutex;
use pointsman::task::{self, JoinSet};
use pointsman::time::sleep;

type Count = Arc<Mutex<u32>>;

fn node(depth: u32, count: Count) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let first = (depth > 0).then(|| task::spawn(node(depth - 1, count.clone())));
        let mut others = JoinSet::new();
        for _ in 0..depth {
            others.spawn(node(depth - 1, count.clone()));
        }
        let mut guard = count.lock().await;
        sleep(Duration::from_secs(1)).await;
        *guard += 1;
        drop(guard);
        if let Some(first) = first {
            first.await.unwrap();
        }
        while let Some(ended) = others.join_next().await {
            ended.unwrap();
        }
    })
}

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let count = Count::default();
    let root = task::spawn(node(3, count.clone()));
    while !root.is_finished() {
        super::is_healthy().await;
        sleep(Duration::from_millis(900)).await;
    }
    // A node of depth d has d + 1 children of depth d - 1.
    assert_eq!(*count.lock().await, 1 + 4 + 4 * 3 + 4 * 3 * 2);
}
