#![doc = include_str!("../README.md")]
//!
//! Invariant: whatever the attribute's arguments are, a function comes out, so that one mistake is told once
//! and not again wherever the function is called.

mod arguments;
mod function;

use proc_macro::TokenStream;
use quote::quote;

use arguments::Kind;

/// Makes an async function an ordinary one, which builds a runtime and runs its body there.
///
/// It need not be `main`, may have parameters and may return anything; but `main` itself has no parameters.
/// The runtime ends when the body does, and what it has spawned is dropped: wait for what matters.
///
/// # Arguments
/// | Argument | Default | Meaning |
/// |---|---|---|
/// | `flavor = "multi_thread"` | yes | workers on several threads |
/// | `flavor = "current_thread"` | | everything on the thread that calls |
/// | `flavor = "local"` | | the same, and futures that are not `Send` can be spawned |
/// | `worker_threads = 4` | one for each processor | how many workers there are; only of `"multi_thread"` |
/// | `start_paused = true` | `false` | whether the clock stands still; not of `"multi_thread"` |
/// | `name = "workers"` | none | the name of the runtime |
/// | `crate = "renamed"` | `"::pointsman"` | the path of the crate where this function is |
///
/// # Panics
/// The function panics if the runtime cannot be built, and if it is called within a runtime.
///
/// # Examples
/// ```
/// #[pointsman::main]
/// async fn main() {
///     println!("Hello");
/// }
/// ```
///
/// This is what comes out, but for the name:
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

/// Makes an async function a test, which builds a runtime of its own and runs its body there.
///
/// The arguments are those of [`macro@main`], but the default is `flavor = "current_thread"`. Other attributes
/// of tests (`#[should_panic]`, `#[ignore]`) can stand beside it, `#[test]` cannot.
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

/// [`macro@main`] as `tokio::main`: the crate is the one that is called `tokio` where the function is, as
/// Tokio's own has it, so that a library can hand the crate on by that name.
#[proc_macro_attribute]
pub fn tokio_main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Main, &quote!(tokio), arguments.into(), item.into()).into()
}

/// [`macro@test`] as `tokio::test`, with the crate as in [`macro@tokio_main`].
#[proc_macro_attribute]
pub fn tokio_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Test, &quote!(tokio), arguments.into(), item.into()).into()
}
