//! A current-thread runtime runs tasks only in `block_on`, and this program waits outside of it.

use std::sync::mpsc;

use pointsman::runtime::Builder;

pub(crate) fn main() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (sender, receiver) = mpsc::channel();
    runtime.spawn(async move { sender.send("never sent") });
    println!("{:?}", receiver.recv());
}
