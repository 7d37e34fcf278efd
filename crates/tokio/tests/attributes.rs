//! The attributes and macros, used as by programs on Tokio.

use std::future::{pending, ready};

#[tokio::main]
async fn on_workers() -> usize {
    tokio::spawn(async { 6 * 7 }).await.unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn on_this_thread() -> std::thread::ThreadId {
    tokio::spawn(async { std::thread::current().id() })
        .await
        .unwrap()
}

#[test]
fn main_builds_the_runtime_that_its_arguments_ask_for() {
    assert_eq!(on_workers(), 42);
    assert_eq!(on_this_thread(), std::thread::current().id());
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_a_test_can_stand_still() {
    let start = tokio::time::Instant::now();
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(start.elapsed().as_secs(), 3600);
}

/// A library that re-exports Tokio under another path.
mod library {
    pub(crate) mod nested {
        pub(crate) use ::tokio;
    }
}

#[library::nested::tokio::test(crate = "library::nested::tokio")]
async fn a_path_can_be_given() {}

mod elsewhere {
    // The attribute's code can only reach this name here.
    use super::library::nested::tokio;

    #[tokio::test]
    async fn the_name_that_is_in_reach_is_used() {
        tokio::task::yield_now().await;
    }
}

tokio::task_local! {
    static NUMBER: u32;
}

#[tokio::test]
async fn the_macros_work_under_this_name() {
    assert_eq!(tokio::join!(ready(1), ready(2)), (1, 2));
    assert_eq!(
        tokio::try_join!(ready(Ok::<_, ()>(1)), ready(Ok(2))),
        Ok((1, 2))
    );
    let future = async { 3 };
    tokio::pin!(future);
    let number = tokio::select! {
        () = pending() => 0,
        number = &mut future => number,
    };
    assert_eq!(number, 3);
    assert_eq!(NUMBER.scope(4, async { NUMBER.get() }).await, 4);
}

/// The guide uses this to check that the patch is applied.
#[test]
fn types_have_the_name_of_the_crate_behind() {
    let name = std::any::type_name::<tokio::runtime::Handle>();
    assert!(name.starts_with("pointsman::"), "{name}");
}

#[tokio::test(unhandled_panic = "shutdown_runtime")]
#[should_panic(expected = "configured to shut down on unhandled panic")]
async fn the_panic_of_a_task_can_end_a_test() {
    tokio::spawn(async { panic!("in a task") });
    pending::<()>().await;
}
