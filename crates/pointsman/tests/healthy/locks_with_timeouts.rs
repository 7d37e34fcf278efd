//! Two tasks lock the same mutexes in different order, and give up after a time.

use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::Mutex;
use pointsman::task;
use pointsman::time::{sleep, timeout};

async fn lock_both(first: Arc<Mutex<()>>, second: Arc<Mutex<()>>, patience: Duration) -> u32 {
    let mut failures = 0;
    loop {
        let _first = first.lock().await;
        sleep(Duration::from_secs(1)).await;
        if timeout(patience, second.lock()).await.is_ok() {
            return failures;
        }
        failures += 1;
        sleep(2 * patience).await;
    }
}

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let (a, b) = (Arc::<Mutex<()>>::default(), Arc::<Mutex<()>>::default());
    let first = task::spawn(lock_both(a.clone(), b.clone(), Duration::from_secs(3)));
    let second = task::spawn(lock_both(b, a, Duration::from_secs(5)));
    for _ in 0..10 {
        super::is_healthy().await;
        sleep(Duration::from_millis(700)).await;
    }
    assert!(first.await.unwrap() + second.await.unwrap() > 0);
}
