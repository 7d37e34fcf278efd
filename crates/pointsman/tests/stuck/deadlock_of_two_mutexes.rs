//! Two tasks lock the same mutexes in different order.

use std::sync::Arc;

use pointsman::runtime::Handle;
use pointsman::sync::Mutex;
use pointsman::task::yield_now;

async fn transfer(from: Arc<Mutex<u64>>, to: Arc<Mutex<u64>>) {
    let mut source = from.lock().await;
    yield_now().await;
    let mut target = to.lock().await;
    (*source, *target) = (*source - 1, *target + 1);
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let (ann, bob) = (Arc::new(Mutex::new(5)), Arc::new(Mutex::new(5)));
    pointsman::spawn(transfer(ann.clone(), bob.clone()));
    pointsman::spawn(transfer(bob, ann));
    for _ in 0..3 {
        yield_now().await;
    }
    eprint!("{}", Handle::current().dump());
}
