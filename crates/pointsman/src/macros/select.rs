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
/// There may be up to 64 branches. A handler is an expression; the comma behind it may be left out if it is a
/// block. The value of the macro is that of the handler which has run, so all of them have the same type. A
/// handler may use `.await`, `?`, `break`, `continue` and `return` as the code around it may.
///
/// # What happens when
/// 1. All conditions are evaluated. A branch whose condition is false takes no part.
/// 2. All future expressions are evaluated, **also those of branches that take no part**; those futures are
///    never polled. Anything that is `IntoFuture` will do.
/// 3. The futures are polled, all on the task that runs the macro.
/// 4. If an output fits the pattern of its branch, all futures are dropped, and then the handler runs: it
///    may use what the futures had borrowed.
/// 5. If an output does not fit, its branch takes part no more, and the others go on.
/// 6. If no branch is left, `else` runs.
///
/// # Panics
/// If no branch is left and there is no `else`.
///
/// # Fairness
/// Each time the futures are polled, one of those that still take part is drawn to be polled first, each
/// with the same chance; the others follow in the order in which they are written. After `biased;` it is
/// always the order in which they are written. This saves the drawing, and leaves it to you that no branch
/// which is always ready stands in front of the others.
///
/// If the [budget](crate::task::coop) of the task is spent, no branch is polled until the runtime has had its
/// turn.
///
/// # Cancel safety
/// A future that loses is dropped wherever it is. In a loop take operations that lose nothing then, as their
/// documentation says under this heading, or keep the future outside of the loop, [pin](crate::pin) it,
/// and wait for `&mut future`.
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
/// A pattern that may not fit, and `else` for when nothing is left:
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
/// Both of two futures, in whichever order they come:
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

// Takes one branch after the other off the input and gives it a name and a number, then writes the wait.
// The list of names is handed on, so one step a branch is enough, and 64 stay within the compiler's default
// limit of recursion.
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
        // The variants and their types have the same names, and nothing else is called so.
        #[allow(non_camel_case_types)]
        enum __PointsmanSelected<$($name),+> {
            $($name($name),)+
            Nothing,
        }

        let mut enabled = 0u64;
        $( enabled |= ((true $(&& $condition)?) as u64) << $number; )+

        #[allow(unused_mut)]
        let mut selected = {
            // A variable each, so that what the expressions borrow lives as long as it would in a `let`.
            $( let $name = $future; )+
            let mut futures = ($( $crate::macros::support::IntoFuture::into_future($name), )+);
            // The closure gets a reference, not the futures: it is not pinned itself, and could be moved.
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
                            // SAFETY: the futures stay where they are until they are dropped; the only name
                            // that they had is shadowed by a reference which only this closure has.
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
                            // A guard only looks at what the pattern would bind. One that is never true tells
                            // whether the pattern fits, and takes nothing.
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
                // A future that is never ready may be of a type that has no values.
                #[allow(unreachable_patterns)]
                __PointsmanSelected::$name($pattern) => $handler,
            )+
            __PointsmanSelected::Nothing => $otherwise,
            #[allow(unreachable_patterns)]
            _ => unreachable!("the pattern has fitted before"),
        }
    }};
}
