//! A reader reads again while a writer waits. The second read lock waits for the writer, which waits for the first.

use std::sync::Arc;

use pointsman::runtime::Handle;
use pointsman::sync::RwLock;
use pointsman::task::{self, yield_now};

async fn count(names: Arc<RwLock<Vec<String>>>) {
    let reader = names.read().await;
    yield_now().await;
    println!("{} {}", reader.len(), names.read().await.len());
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let names = Arc::<RwLock<Vec<String>>>::default();
    task::spawn(count(names.clone()));
    task::spawn(async move { names.write().await.clear() });
    for _ in 0..3 {
        yield_now().await;
    }
    eprint!("{}", Handle::current().dump());
}
