//! A function holds a lock of the standard library while it awaits a task that needs the lock.

use std::sync::{Arc, Mutex};

#[pointsman::main(worker_threads = 1)]
pub(crate) async fn main() {
    let cache = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&cache);
    let mut entries = cache.lock().unwrap();
    let update = pointsman::spawn(async move { *shared.lock().unwrap() += 1 });
    update.await.unwrap();
    *entries += 1;
}
