/// Waits for the first of several futures, and drops the others.
///
/// ```text
/// select! {
///     biased;                                          // optional
///     <pattern> = <future> => <handler>,
///     <pattern> = <future>, if <condition> => <handler>,
///     else => <handler>                                // optional
/// }
/// ```
///
/// There may be up to 64 branches. A handler is an expression; the comma after a block may be omitted. The macro
/// evaluates to the value of the handler that ran, so all handlers have the same type. A handler may use `.await`, `?`,
/// `break`, `continue` and `return` like the surrounding code.
///
/// # What happens when
/// 1. All conditions are evaluated. A branch whose condition is false is disabled.
/// 2. All future expressions are evaluated, **including those of disabled branches**, whose futures are never polled.
///    Each may be any `IntoFuture`.
/// 3. The futures are polled, all on the current task.
/// 4. If an output matches the pattern of its branch, all futures are dropped, and then the handler runs: it may use
///    what the futures had borrowed.
/// 5. If an output does not match, its branch is disabled, and the others continue.
/// 6. If all branches are disabled, `else` runs.
///
/// # Panics
/// If all branches are disabled and there is no `else`.
///
/// # Fairness
/// Each poll begins with a random enabled branch; the others follow in the order written. With `biased;` the branches
/// are always polled in the order written. That saves the random number; the caller then ensures that no branch that is
/// always ready precedes others.
///
/// If the [budget](crate::task::coop) of the task is used up, no branch is polled until the task has yielded to the
/// runtime.
///
/// # Cancel safety
/// The futures that lose are dropped. In a loop, use operations that are cancel safe, as their documentation says under
/// this heading, or create the future outside of the loop, [pin](crate::pin) it, and wait for `&mut future`.
///
/// # Examples
/// ```
/// # futures::executor::block_on(async {
/// let winner = pointsman::select! {
///     () = std::future::pending() => "the one that never ends",
///     number = async { 7 } => {
///         assert_eq!(number, 7);
///         "the number"
///     }
/// };
/// assert_eq!(winner, "the number");
/// # });
/// ```
///
/// A refutable pattern, and `else` for when all branches are disabled:
///
/// ```
/// # futures::executor::block_on(async {
/// use futures::stream::{self, StreamExt};
///
/// let (mut odd, mut even) = (stream::iter([1, 3]), stream::iter([2, 4]));
/// let mut sum = 0;
/// loop {
///     pointsman::select! {
///         Some(number) = odd.next() => sum += number,
///         Some(number) = even.next() => sum += number,
///         else => break,
///     }
/// }
/// assert_eq!(sum, 10);
/// # });
/// ```
///
/// Both of two futures, in the order in which they complete:
///
/// ```
/// # futures::executor::block_on(async {
/// let (first, second) = (async { 1 }, async { 2 });
/// pointsman::pin!(first, second);
/// let (mut one, mut two) = (None, None);
/// while one.is_none() || two.is_none() {
///     pointsman::select! {
///         number = &mut first, if one.is_none() => one = Some(number),
///         number = &mut second, if two.is_none() => two = Some(number),
///     }
/// }
/// assert_eq!((one, two), (Some(1), Some(2)));
/// # });
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($branches:tt)*) => {
        $crate::__select!([in_order] $($branches)*)
    };
    ($($branches:tt)*) => {
        $crate::__select!([in_any_order] $($branches)*)
    };
}

// Takes one branch after the other from the input and gives it a name and an index, then emits the wait. The list of
// names is passed on, so one step per branch suffices, and 64 branches stay within the compiler's default recursion
// limit.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    ([$order:ident]) => {
        compile_error!("`select!` needs at least one branch: `pattern = future => handler`")
    };
    ([$order:ident] else => $otherwise:expr $(,)?) => { $otherwise };
    ([$order:ident] $($branches:tt)+) => {
        $crate::__select!(@branches [$order] [] [
            (at0 0) (at1 1) (at2 2) (at3 3) (at4 4) (at5 5) (at6 6) (at7 7) (at8 8) (at9 9)
            (at10 10) (at11 11) (at12 12) (at13 13) (at14 14) (at15 15) (at16 16) (at17 17)
            (at18 18) (at19 19) (at20 20) (at21 21) (at22 22) (at23 23) (at24 24) (at25 25)
            (at26 26) (at27 27) (at28 28) (at29 29) (at30 30) (at31 31) (at32 32) (at33 33)
            (at34 34) (at35 35) (at36 36) (at37 37) (at38 38) (at39 39) (at40 40) (at41 41)
            (at42 42) (at43 43) (at44 44) (at45 45) (at46 46) (at47 47) (at48 48) (at49 49)
            (at50 50) (at51 51) (at52 52) (at53 53) (at54 54) (at55 55) (at56 56) (at57 57)
            (at58 58) (at59 59) (at60 60) (at61 61) (at62 62) (at63 63)
        ] $($branches)+)
    };

    (@branches [$order:ident] [$($done:tt)+] [$($free:tt)*]) => {
        $crate::__select!(@wait $order [$($done)+] panic!("all branches are disabled and there is no else branch"))
    };
    (@branches [$order:ident] [$($done:tt)+] [$($free:tt)*] else => $otherwise:expr $(,)?) => {
        $crate::__select!(@wait $order [$($done)+] $otherwise)
    };
    (@branches [$order:ident] [$($done:tt)*] [] $($rest:tt)+) => {
        compile_error!("more than 64 branches in one `select!`")
    };
    (@branches [$order:ident] [$($done:tt)*] [$number:tt $($free:tt)*]
        $pattern:pat = $future:expr $(, if $condition:expr)? => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@branches [$order]
            [$($done)* ($number $pattern, $future, ($($condition)?), $handler)] [$($free)*] $($rest)*)
    };
    (@branches [$order:ident] [$($done:tt)*] [$number:tt $($free:tt)*]
        $pattern:pat = $future:expr $(, if $condition:expr)? => $handler:block $($rest:tt)*) => {
        $crate::__select!(@branches [$order]
            [$($done)* ($number $pattern, $future, ($($condition)?), $handler)] [$($free)*] $($rest)*)
    };
    (@branches [$order:ident] [$($done:tt)*] [$number:tt $($free:tt)*]
        $pattern:pat = $future:expr $(, if $condition:expr)? => $handler:expr, $($rest:tt)*) => {
        $crate::__select!(@branches [$order]
            [$($done)* ($number $pattern, $future, ($($condition)?), $handler)] [$($free)*] $($rest)*)
    };
    (@branches [$order:ident] [$($done:tt)*] [$number:tt $($free:tt)*]
        $pattern:pat = $future:expr $(, if $condition:expr)? => $handler:expr) => {
        $crate::__select!(@branches [$order]
            [$($done)* ($number $pattern, $future, ($($condition)?), $handler)] [$($free)*])
    };

    (@wait $order:ident
        [$((($name:ident $number:tt) $pattern:pat, $future:expr, ($($condition:expr)?), $handler:expr))+]
        $otherwise:expr
    ) => {{
        // Variants and type parameters share names, which nothing else in the expansion uses.
        #[allow(non_camel_case_types)]
        enum __PointsmanSelected<$($name),+> {
            $($name($name),)+
            Nothing,
        }

        let mut enabled = 0u64;
        $( enabled |= ((true $(&& $condition)?) as u64) << $number; )+

        #[allow(unused_mut)]
        let mut selected = {
            // One variable each, so that temporaries in the expressions live as long as in a `let`.
            $( let $name = $future; )+
            let mut futures = ($( $crate::macros::support::IntoFuture::into_future($name), )+);
            // The closure captures a reference, not the futures: the closure is not pinned and could be moved.
            let futures = &mut futures;
            $crate::macros::support::poll_fn(move |cx| {
                $crate::macros::support::ready!($crate::macros::support::poll_budget(cx));
                let mut waiting = false;
                for turn in $crate::macros::support::$order(enabled) {
                    $(
                        #[allow(unused_mut, unused_variables, unreachable_code, unreachable_patterns)]
                        'branch: {
                            if turn & (1u64 << $number) == 0 {
                                break 'branch;
                            }
                            // SAFETY: the futures are not moved before they are dropped: the reference shadows their
                            // only name, and only this closure has the reference.
                            let future = unsafe {
                                $crate::macros::support::Pin::new_unchecked(&mut futures.$number)
                            };
                            let mut output = match $crate::macros::support::Future::poll(future, cx) {
                                $crate::macros::support::Poll::Ready(output) => output,
                                $crate::macros::support::Poll::Pending => {
                                    waiting = true;
                                    break 'branch;
                                }
                            };
                            enabled &= !(1u64 << $number);
                            // A guard only borrows what the pattern would bind. A guard that is always false tests
                            // whether the pattern matches without moving anything.
                            let mut fits = false;
                            match output {
                                $pattern if { fits = true; false } => unreachable!(),
                                _ => {}
                            }
                            if fits {
                                return $crate::macros::support::Poll::Ready(
                                    __PointsmanSelected::$name(output),
                                );
                            }
                        }
                    )+
                }
                if waiting {
                    $crate::macros::support::Poll::Pending
                } else {
                    $crate::macros::support::Poll::Ready(__PointsmanSelected::Nothing)
                }
            })
            .await
        };

        match selected {
            $(
                // A future that never completes may have an uninhabited output type.
                #[allow(unreachable_patterns)]
                __PointsmanSelected::$name($pattern) => $handler,
            )+
            __PointsmanSelected::Nothing => $otherwise,
            #[allow(unreachable_patterns)]
            _ => unreachable!("the pattern has matched before"),
        }
    }};
}
