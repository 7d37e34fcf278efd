/// Pins values on the stack, so that they can be awaited by reference.
///
/// Each name becomes a `Pin<&mut T>` of its value; the value itself can no longer be reached, and so not be moved.
/// Allocates nothing.
///
/// # Examples
/// A future that is awaited across iterations of a loop:
///
/// ```
/// # futures::executor::block_on(async {
/// let answer = async { 42 };
/// pointsman::pin!(answer);
/// let answer = loop {
///     pointsman::select! {
///         answer = &mut answer => break answer,
///         () = std::future::pending() => {}
///     }
/// };
/// assert_eq!(answer, 42);
/// # });
/// ```
///
/// Values declared in place:
///
/// ```
/// # futures::executor::block_on(async {
/// pointsman::pin! {
///     let one = async { 1 };
///     let two = async { 2 };
/// }
/// assert_eq!((&mut one).await + two.await, 3);
/// # });
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => {
        $(
            #[allow(unused_mut)]
            let mut $name = $crate::macros::support::pin!($name);
        )*
    };
    ($(let $name:ident = $value:expr;)*) => {
        $(
            #[allow(unused_mut)]
            let mut $name = $crate::macros::support::pin!($value);
        )*
    };
}
