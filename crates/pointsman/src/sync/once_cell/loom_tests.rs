//! Loom models of the once cell.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::*;

#[test]
fn one_task_initialises_and_all_see_the_value() {
    loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let thread =
            thread::spawn(move || *block_on(other.get_or_init(|| async { Box::new(1) })).clone());
        let here = *block_on(cell.get_or_init(|| async { Box::new(2) })).clone();
        assert_eq!(thread.join().unwrap(), here);
    });
}

#[test]
fn a_failed_initialisation_leaves_the_cell_to_the_next_task() {
    loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let thread = thread::spawn(move || {
            let _ = block_on(other.get_or_try_init(|| async { Err::<u32, ()>(()) }));
        });
        assert_eq!(*block_on(cell.get_or_init(|| async { 2 })), 2);
        thread.join().unwrap();
    });
}

#[test]
fn a_failed_set_finds_a_value_or_an_initialisation() {
    loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let thread = thread::spawn(move || other.set(1));
        let here = cell.set(2);
        if let Err(SetError::AlreadyInitializedError(_)) = here {
            assert_eq!(cell.get(), Some(&1));
        }
        assert_ne!(thread.join().unwrap().is_ok(), here.is_ok());
    });
}
