//! A task blocks its thread until another task of that thread has sent a value.

use futures::executor;
use pointsman::sync::oneshot;
use pointsman::task::yield_now;

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let (sender, receiver) = oneshot::channel();
    pointsman::spawn(async { executor::block_on(receiver) });
    pointsman::spawn(async { sender.send("never sent") });
    yield_now().await;
}
