//! A gate that blocks threads, independent of any runtime.

use std::sync::{Arc, Condvar, Mutex};

/// Closed until it is opened or dropped, so that a failing test does not block its threads forever.
pub(crate) struct Gate(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_open: Mutex<bool>,
    opened: Condvar,
}

/// Blocks the thread until the gate is open.
#[derive(Clone)]
pub(crate) struct Passage(Arc<Shared>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn passage(&self) -> Passage {
        Passage(Arc::clone(&self.0))
    }

    pub(crate) fn open(&self) {
        *self.0.is_open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl Passage {
    pub(crate) fn block(&self) {
        let is_open = self.0.is_open.lock().unwrap();
        drop(self.0.opened.wait_while(is_open, |is_open| !*is_open));
    }
}
