//! Three philosophers, each with a fork in the left hand.

use std::sync::Arc;

use pointsman::runtime::Handle;
use pointsman::sync::Semaphore;
use pointsman::task::{self, yield_now};

async fn eat(left: Arc<Semaphore>, right: Arc<Semaphore>) {
    let _left = left.acquire().await;
    yield_now().await;
    let _right = right.acquire().await;
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let forks = [(); 3].map(|()| Arc::new(Semaphore::new(1)));
    for (seat, name) in ["Plato", "Hume", "Kant"].into_iter().enumerate() {
        let (left, right) = (forks[seat].clone(), forks[(seat + 1) % 3].clone());
        let philosopher = task::Builder::new().name(name);
        philosopher.spawn(eat(left, right)).unwrap();
    }
    for _ in 0..3 {
        yield_now().await;
    }
    eprint!("{}", Handle::current().dump());
}
