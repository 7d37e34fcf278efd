//! `#[main]` and `#[test]` through the public API: their calls of the builder, and their effects.

use std::cell::RefCell;

/// Replaces the crate, and records the builder calls.
mod stand_in {
    pub(crate) mod runtime {
        use std::future::Future;
        use std::io;

        #[derive(Default)]
        pub(crate) struct Options;

        #[derive(Clone)]
        pub(crate) struct Builder(String);

        impl Builder {
            pub(crate) fn new_multi_thread() -> Self {
                Self("multi_thread".into())
            }

            pub(crate) fn new_current_thread() -> Self {
                Self("current_thread".into())
            }

            fn with(&mut self, what: String) -> &mut Self {
                self.0.push(' ');
                self.0.push_str(&what);
                self
            }

            pub(crate) fn worker_threads(&mut self, count: usize) -> &mut Self {
                self.with(format!("worker_threads={count}"))
            }

            pub(crate) fn start_paused(&mut self, paused: bool) -> &mut Self {
                self.with(format!("start_paused={paused}"))
            }

            pub(crate) fn name(&mut self, name: impl Into<String>) -> &mut Self {
                self.with(format!("name={}", name.into()))
            }

            pub(crate) fn enable_all(&mut self) -> &mut Self {
                self.with("enable_all".into())
            }

            pub(crate) fn build(&mut self) -> io::Result<Self> {
                Ok(self.clone())
            }

            pub(crate) fn build_local(&mut self, _: Options) -> io::Result<Self> {
                Ok(self.with("local".into()).clone())
            }

            pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
                crate::ASKED.with(|asked| asked.replace(self.0.clone()));
                futures::executor::block_on(future)
            }
        }
    }
}

std::thread_local! {
    static ASKED: RefCell<String> = const { RefCell::new(String::new()) };
}

fn asked() -> String {
    ASKED.with(RefCell::take)
}

#[pointsman::main(crate = "stand_in")]
async fn plain() {}

#[pointsman::main(crate = "crate::stand_in", worker_threads = 3, name = "some name")]
async fn with_workers() {}

#[pointsman::main(crate = "stand_in", flavor = "current_thread", start_paused = true)]
async fn paused() {}

#[pointsman::main(crate = "stand_in", flavor = "local", start_paused = false)]
async fn local() {}

#[test]
fn the_arguments_reach_the_builder() {
    plain();
    assert_eq!(asked(), "multi_thread enable_all");
    with_workers();
    assert_eq!(
        asked(),
        "multi_thread worker_threads=3 name=some name enable_all"
    );
    paused();
    assert_eq!(asked(), "current_thread start_paused=true enable_all");
    local();
    assert_eq!(
        asked(),
        "current_thread start_paused=false enable_all local"
    );
}

#[pointsman::test(crate = "stand_in")]
async fn a_test_has_one_thread() {
    assert_eq!(asked(), "current_thread enable_all");
}

#[pointsman::test(crate = "stand_in", flavor = "multi_thread")]
#[should_panic(expected = "as it should")]
async fn a_test_may_be_expected_to_panic() {
    panic!("as it should");
}

#[pointsman::test(crate = "stand_in")]
async fn a_test_may_fail_with_an_error() -> Result<(), std::num::ParseIntError> {
    let number: i32 = "1".parse()?;
    assert_eq!(number, 1);
    Ok(())
}

#[pointsman::main(crate = "stand_in")]
async fn sum<const COUNT: usize>(numbers: [i32; COUNT], body: i32) -> i32 {
    #![allow(clippy::needless_return)]
    return numbers.iter().sum::<i32>() + body;
}

#[pointsman::main(crate = "stand_in")]
async fn opaque(end: u32) -> impl Iterator<Item = u32> {
    0..end
}

#[pointsman::main(crate = "stand_in")]
async fn longer<'a>(one: &'a str, two: &'a str) -> Option<&'a str> {
    Some(if one.len() > two.len() { one } else { two })
}

#[pointsman::main(crate = "stand_in")]
async fn never() -> ! {
    panic!("never returns")
}

struct Counter(u32);

impl Counter {
    #[pointsman::main(crate = "stand_in")]
    async fn next(&mut self) -> &u32 {
        self.0 += 1;
        &self.0
    }
}

#[test]
fn parameters_and_return_types_are_kept() {
    assert_eq!(sum([1, 2], 3), 6);
    assert_eq!(opaque(3).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(longer("one", "three"), Some("three"));
    assert_eq!(Counter(1).next(), &2);
    assert!(std::panic::catch_unwind(|| never()).is_err());
}

mod without_warnings {
    #![deny(warnings, clippy::all, clippy::semicolon_if_nothing_returned)]

    #[rustfmt::skip]
    #[pointsman::main(crate = "super::stand_in")]
    pub(crate) async fn on_one_line() { println!("one") }

    #[pointsman::main(crate = "super::stand_in")]
    pub(crate) async fn with_an_item() {
        fn _item() {}
    }

    #[pointsman::main(crate = "super::stand_in")]
    pub(crate) async fn with_nothing() {
        // No calls.
    }

    macro_rules! by_a_macro {
        (async fn $name:ident() $body:block) => {
            #[pointsman::main(crate = "super::stand_in")]
            pub(crate) async fn $name() {
                $body
            }
        };
    }
    by_a_macro!(
        async fn from_outside() {}
    );
}

#[test]
fn nothing_is_warned_of() {
    without_warnings::on_one_line();
    without_warnings::with_an_item();
    without_warnings::with_nothing();
    without_warnings::from_outside();
    assert_eq!(asked(), "multi_thread enable_all");
}
