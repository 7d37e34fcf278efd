/// Pins values to the place where they are declared, so that they can be awaited by reference.
///
/// Each name becomes a `Pin<&mut T>` of the value that it had: the value itself cannot be reached, and so
/// not be moved, any more. Nothing is allocated.
///
/// # Examples
/// A future that several rounds of a loop wait for:
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
/// Values that are declared on the spot:
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
