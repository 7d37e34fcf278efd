//! Tasks whose only wakers are with other threads, one of them as the pointer that a library in C passes to its
//! callback.

use std::ffi::c_void;
use std::future::poll_fn;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;

use pointsman::task;

/// What a library in C keeps between the registration of a callback and the call.
struct Registered {
    callback: extern "C" fn(*mut c_void),
    data: usize,
}

extern "C" fn wake(data: *mut c_void) {
    // SAFETY: `registers` made this pointer of a box, and the callback is called once.
    unsafe { Box::from_raw(data.cast::<Waker>()) }.wake();
}

async fn registers(library: mpsc::Sender<Registered>) {
    let mut is_called = false;
    poll_fn(|cx| {
        if is_called {
            return Poll::Ready(());
        }
        is_called = true;
        let data = Box::into_raw(Box::new(cx.waker().clone()));
        let registered = Registered {
            callback: wake,
            data: data.expose_provenance(),
        };
        library.send(registered).unwrap();
        Poll::Pending
    })
    .await;
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let (library, callbacks) = mpsc::channel::<Registered>();
    let (fire, fired) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let callbacks = [(); 2].map(|()| callbacks.recv().unwrap());
        fired.recv().unwrap();
        for Registered { callback, data } in callbacks {
            callback(std::ptr::with_exposed_provenance_mut(data));
        }
    });
    let tasks = [(); 2].map(|()| task::spawn(registers(library.clone())));
    super::is_healthy().await;
    fire.send(()).unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    thread.join().unwrap();
    super::is_healthy().await;
}
