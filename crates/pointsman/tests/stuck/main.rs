//! Programs that are stuck, one in each file. The text file of the same name has the expected output on standard error,
//! in which only times are replaced: ids and locations are those of the run.
#![cfg(all(feature = "diagnostics", not(miri)))]

#[expect(clippy::await_holding_lock)] // The mistake.
mod blocking_in_a_task;
#[expect(clippy::infinite_iter)] // The mistake.
mod computing_in_a_poll;
mod deadlock_of_a_mutex_and_a_join;
mod deadlock_of_permits;
mod deadlock_of_readers_and_a_writer;
mod deadlock_of_two_mutexes;
mod full_blocking_pool;
mod futurelock;
mod late_timer;
mod leaked_tasks;
mod lost_task;
mod nested_block_on;
mod runtime_without_a_thread;
#[cfg(all(unix, feature = "net"))]
mod unpolled_io;

#[path = "../common/child.rs"]
mod child;
#[path = "../common/text.rs"]
mod text;

macro_rules! programs {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                if let Some(run) = child::run(name, $name::main) {
                    let expected = include_str!(concat!(stringify!($name), ".txt"));
                    let printed = text::without_times(&run.printed);
                    assert_eq!(printed, expected.trim_end(), "{}", run.printed);
                }
            }
        )*
    };
}

programs! {
    blocking_in_a_task
    computing_in_a_poll
    deadlock_of_a_mutex_and_a_join
    deadlock_of_permits
    deadlock_of_readers_and_a_writer
    deadlock_of_two_mutexes
    full_blocking_pool
    futurelock
    late_timer
    leaked_tasks
    lost_task
    nested_block_on
    runtime_without_a_thread
}

#[cfg(all(unix, feature = "net"))]
programs! {
    unpolled_io
}
