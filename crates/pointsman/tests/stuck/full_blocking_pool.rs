//! Each thread of the blocking pool waits for a function that has no thread to run on.

use std::sync::{Arc, Barrier};

use pointsman::runtime::Builder;

pub(crate) fn main() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.max_blocking_threads(2).build().unwrap();
    let all_three = Arc::new(Barrier::new(3));
    let functions = [(); 3].map(|()| {
        let all_three = Arc::clone(&all_three);
        runtime.spawn_blocking(move || all_three.wait())
    });
    runtime.block_on(async {
        for function in functions {
            function.await.unwrap();
        }
    });
}
