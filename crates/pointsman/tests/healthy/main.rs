//! Healthy programs that resemble stuck ones. Each takes dumps at its critical moments. The dumps must find no problem,
//! and the program must print nothing on standard error with the default reports of stalls.
#![cfg(all(feature = "diagnostics", feature = "test-util", not(miri)))]

mod blocking_functions;
mod forgotten_permits;
mod idle_runtimes;
mod joins_in_a_tree;
mod local_set;
mod locks_held_for_long;
mod locks_with_timeouts;
mod long_polls;
mod moved_guards;
mod paused_clock;
mod permits_claimed_later;
mod permits_of_other_tasks;
mod readers_and_writers;
mod select_in_a_loop;
mod suspended_process;
mod synchronous_facade;
mod try_lock_in_a_loop;
mod wakers_elsewhere;

#[path = "../common/child.rs"]
mod child;

use pointsman::runtime::Handle;
use pointsman::task::yield_now;

/// Runs the other tasks until they wait, takes a dump, and asserts that it has no problems.
async fn is_healthy() {
    for _ in 0..20 {
        yield_now().await;
    }
    let dump = Handle::current().dump();
    assert!(dump.problems().is_empty(), "{dump}");
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                if let Some(run) = child::run(stringify!($name), $name::main) {
                    assert_eq!(run.printed, "");
                    assert!(run.is_success);
                }
            }
        )*
    };
}

programs! {
    blocking_functions
    forgotten_permits
    idle_runtimes
    joins_in_a_tree
    local_set
    locks_held_for_long
    locks_with_timeouts
    long_polls
    moved_guards
    paused_clock
    permits_claimed_later
    permits_of_other_tasks
    readers_and_writers
    select_in_a_loop
    suspended_process
    synchronous_facade
    try_lock_in_a_loop
    wakers_elsewhere
}
