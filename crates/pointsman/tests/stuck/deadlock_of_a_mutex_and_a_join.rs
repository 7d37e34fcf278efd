//! A task awaits the end of another one, which waits for a mutex that the first has locked.

use std::sync::Arc;

use pointsman::runtime::Handle;
use pointsman::sync::Mutex;
use pointsman::task::{self, yield_now};

async fn reload(config: Arc<Mutex<String>>) {
    let guard = config.lock().await;
    let inner = config.clone();
    let reading = task::spawn(async move { inner.lock().await.len() });
    println!("{} {:?}", guard.len(), reading.await);
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    task::spawn(reload(Arc::default()));
    for _ in 0..3 {
        yield_now().await;
    }
    eprint!("{}", Handle::current().dump());
}
