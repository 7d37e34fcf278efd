//! Tasks that hold a lock try to acquire another task's lock without waiting, and in the end release their own.

use std::sync::Arc;

use pointsman::sync::Mutex;
use pointsman::task::{self, yield_now};

async fn lock_both(first: Arc<Mutex<u32>>, second: Arc<Mutex<u32>>, tries: u32) {
    loop {
        let mut one = first.lock().await;
        for _ in 0..tries {
            if let Ok(mut other) = second.try_lock() {
                (*one, *other) = (*one + 1, *other + 1);
                return;
            }
            yield_now().await;
        }
        drop(one);
        yield_now().await;
    }
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let (a, b) = (Arc::<Mutex<u32>>::default(), Arc::<Mutex<u32>>::default());
    let tasks: Vec<_> = (1..=10)
        .flat_map(|tries| {
            [
                task::spawn(lock_both(a.clone(), b.clone(), 10 * tries)),
                task::spawn(lock_both(b.clone(), a.clone(), 13 * tries)),
            ]
        })
        .collect();
    for task in tasks {
        while !task.is_finished() {
            super::is_healthy().await;
        }
    }
    assert_eq!((*a.lock().await, *b.lock().await), (20, 20));
}
