//! A task waits for a callback, and the library has dropped the callback without calling it.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use pointsman::runtime::Handle;
use pointsman::task::{self, yield_now};

/// Of a library that forgets its callbacks.
fn on_next_event(callback: Waker) {
    drop(callback);
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    task::spawn(poll_fn(|cx| {
        on_next_event(cx.waker().clone());
        Poll::<()>::Pending
    }));
    yield_now().await;
    eprint!("{}", Handle::current().dump());
}
