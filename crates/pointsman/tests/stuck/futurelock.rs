//! A futurelock, as in [RFD 609](https://rfd.shared.oxide.computer/rfd/0609) of Oxide: `select!` polls a future by
//! reference and leaves it in the queue of a mutex. The mutex is granted to that future, which is not polled again.

use std::pin::pin;
use std::sync::Arc;

use pointsman::runtime::Handle;
use pointsman::sync::{Mutex, oneshot};
use pointsman::task::{self, yield_now};

async fn do_async_thing(label: &str, lock: &Mutex<()>) {
    let _guard = lock.lock().await;
    println!("{label}: has the lock");
}

async fn do_stuff(lock: Arc<Mutex<()>>, timeout: oneshot::Receiver<()>) {
    let mut op1 = pin!(do_async_thing("op1", &lock));
    pointsman::select! {
        _ = &mut op1 => {}
        _ = timeout => do_async_thing("op2", &lock).await,
    }
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let lock = Arc::new(Mutex::new(()));
    let guard = lock.clone().lock_owned().await;
    let (times_out, timeout) = oneshot::channel();
    task::spawn(do_stuff(lock.clone(), timeout));
    yield_now().await;
    times_out.send(()).unwrap();
    yield_now().await;
    task::spawn(async move { drop(lock.lock().await) });
    yield_now().await;
    drop(guard);
    yield_now().await;
    eprint!("{}", Handle::current().dump());
}
