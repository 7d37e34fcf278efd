//! A current-thread runtime runs tasks only in `block_on`, and this program waits outside of it.

use std::sync::mpsc;
use std::time::Duration;

use pointsman::runtime::Builder;

pub(crate) fn main() {
    let mut builder = Builder::new_current_thread();
    // It is reported after ten times this.
    builder.stall_threshold(Duration::from_millis(100));
    let runtime = builder.build().unwrap();
    let (sender, receiver) = mpsc::channel();
    runtime.spawn(async move { sender.send("never sent") });
    println!("{:?}", receiver.recv());
}
