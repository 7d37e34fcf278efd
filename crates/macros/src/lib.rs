#![doc = include_str!("../README.md")]
//!
//! Invariant: the attribute generates a function for any arguments, so that a mistake is reported once and not again at
//! each call.

mod arguments;
mod function;

use proc_macro::TokenStream;
use quote::quote;

use arguments::Kind;

/// Turns an async function into an ordinary one that builds a runtime and runs the body on it.
///
/// The function need not be `main`, and may have parameters (except `main` itself) and any return type. The runtime
/// shuts down when the body returns and drops the tasks that it has spawned: await those that matter.
///
/// # Arguments
/// | Argument | Default | Meaning |
/// |---|---|---|
/// | `flavor = "multi_thread"` | yes | workers on several threads |
/// | `flavor = "current_thread"` | | everything on the calling thread |
/// | `flavor = "local"` | | the same, and `!Send` futures can be spawned |
/// | `worker_threads = 4` | one per processor | the number of workers; `"multi_thread"` only |
/// | `start_paused = true` | `false` | whether the clock is paused; not with `"multi_thread"` |
/// | `unhandled_panic = "shutdown_runtime"` | `"ignore"` | what the panic of a task does; not with `"multi_thread"` |
/// | `name = "workers"` | none | the name of the runtime |
/// | `crate = "renamed"` | `"::pointsman"` | the path of the crate at this function |
///
/// # Panics
/// The generated function panics if the runtime cannot be built, or if it is called within a runtime.
///
/// # Examples
/// ```
/// #[pointsman::main]
/// async fn main() {
///     println!("Hello");
/// }
/// ```
///
/// The example is expanded to the following, except for the name:
///
/// ```
/// # start();
/// fn start() {
///     pointsman::runtime::Builder::new_multi_thread()
///         .enable_all()
///         .build()
///         .unwrap()
///         .block_on(async {
///             println!("Hello");
///         })
/// }
/// ```
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(
        Kind::Main,
        &quote!(::pointsman),
        arguments.into(),
        item.into(),
    )
    .into()
}

/// Turns an async function into a test that builds a runtime and runs the body on it.
///
/// Takes the arguments of [`macro@main`], with the default `flavor = "current_thread"`. Can be combined with other test
/// attributes (`#[should_panic]`, `#[ignore]`), but not with `#[test]`.
///
/// `seeds = 1000` runs the test 1000 times, each time with another order of its tasks and a paused clock, as
/// `pointsman::test_util::explore` does: a test that fails in rare orders then fails each time, and says how to repeat that
/// order. This needs the feature `test-util`.
///
/// # Examples
/// ```
/// #[pointsman::test]
/// async fn two_and_two_are_four() {
///     assert_eq!(async { 2 + 2 }.await, 4);
/// }
///
/// #[pointsman::test(start_paused = true)]
/// async fn an_hour_takes_no_time() {
///     pointsman::time::sleep(std::time::Duration::from_secs(3600)).await;
/// }
///
/// #[pointsman::test(flavor = "multi_thread", worker_threads = 2)]
/// async fn in_parallel() {
///     pointsman::spawn(async {}).await.unwrap();
/// }
/// ```
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(
        Kind::Test,
        &quote!(::pointsman),
        arguments.into(),
        item.into(),
    )
    .into()
}

/// [`macro@main`] as `tokio::main`: uses the crate named `tokio` at the function, as Tokio's own attribute does, so
/// that a library can re-export the crate under that name.
#[proc_macro_attribute]
pub fn tokio_main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Main, &quote!(tokio), arguments.into(), item.into()).into()
}

/// [`macro@test`] as `tokio::test`, with the crate as in [`macro@tokio_main`].
#[proc_macro_attribute]
pub fn tokio_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Test, &quote!(tokio), arguments.into(), item.into()).into()
}
