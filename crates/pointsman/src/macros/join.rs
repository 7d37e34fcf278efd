/// Waits for all of several futures in the current task, and returns their outputs as a tuple, in the order written.
///
/// The futures are polled on the current task: they are concurrent, not parallel. For parallelism
/// [`spawn`](crate::spawn) each and join the handles. Each future may be any `IntoFuture`; there may be up to 124 of
/// them.
///
/// Each poll begins with another future, so that no future can starve the others by using up the task's
/// [budget](crate::task::coop). With `biased;` they are polled in the order written, which is slightly cheaper; the
/// caller then ensures that the first futures leave budget to the others.
///
/// Allocates nothing. Dropping the task drops all futures.
///
/// # Examples
/// ```
/// # futures::executor::block_on(async {
/// async fn length(text: &str) -> usize {
///     text.len()
/// }
///
/// let (first, second) = pointsman::join!(length("up"), length("down"));
/// assert_eq!((first, second), (2, 4));
///
/// let (first, second) = pointsman::join!(biased; length("up"), length("down"));
/// assert_eq!((first, second), (2, 4));
/// # });
/// ```
#[macro_export]
macro_rules! join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__join!(all Biased; $($future,)*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__join!(all Rotating; $($future,)*)
    };
}

/// Waits until all of several futures return `Ok`, or until the first returns `Err`.
///
/// Returns `Ok` with a tuple of the values, in the order written, or the first error. All futures must have the same
/// error type. On an error the other futures are dropped.
///
/// The futures are polled on the current task, like those of [`join!`](crate::join), and `biased;` has the same
/// meaning.
///
/// # Examples
/// ```
/// # futures::executor::block_on(async {
/// async fn number(text: &str) -> Result<i32, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// assert_eq!(pointsman::try_join!(number("1"), number("2")), Ok((1, 2)));
/// assert!(pointsman::try_join!(number("1"), number("two")).is_err());
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__join!(try Biased; $($future,)*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__join!(try Rotating; $($future,)*)
    };
}

// Gives each future a name and an index, then emits the wait. `all` or `try` selects what to wait for.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    (all $order:ident;) => { () };
    (try $order:ident;) => { $crate::macros::support::Result::Ok(()) };

    ($kind:tt $order:ident; $($future:expr,)+) => {
        $crate::__join!(@number $kind $order [] [
            (at0 0) (at1 1) (at2 2) (at3 3) (at4 4) (at5 5) (at6 6) (at7 7) (at8 8) (at9 9)
            (at10 10) (at11 11) (at12 12) (at13 13) (at14 14) (at15 15) (at16 16) (at17 17)
            (at18 18) (at19 19) (at20 20) (at21 21) (at22 22) (at23 23) (at24 24) (at25 25)
            (at26 26) (at27 27) (at28 28) (at29 29) (at30 30) (at31 31) (at32 32) (at33 33)
            (at34 34) (at35 35) (at36 36) (at37 37) (at38 38) (at39 39) (at40 40) (at41 41)
            (at42 42) (at43 43) (at44 44) (at45 45) (at46 46) (at47 47) (at48 48) (at49 49)
            (at50 50) (at51 51) (at52 52) (at53 53) (at54 54) (at55 55) (at56 56) (at57 57)
            (at58 58) (at59 59) (at60 60) (at61 61) (at62 62) (at63 63) (at64 64) (at65 65)
            (at66 66) (at67 67) (at68 68) (at69 69) (at70 70) (at71 71) (at72 72) (at73 73)
            (at74 74) (at75 75) (at76 76) (at77 77) (at78 78) (at79 79) (at80 80) (at81 81)
            (at82 82) (at83 83) (at84 84) (at85 85) (at86 86) (at87 87) (at88 88) (at89 89)
            (at90 90) (at91 91) (at92 92) (at93 93) (at94 94) (at95 95) (at96 96) (at97 97)
            (at98 98) (at99 99) (at100 100) (at101 101) (at102 102) (at103 103) (at104 104)
            (at105 105) (at106 106) (at107 107) (at108 108) (at109 109) (at110 110) (at111 111)
            (at112 112) (at113 113) (at114 114) (at115 115) (at116 116) (at117 117) (at118 118)
            (at119 119) (at120 120) (at121 121) (at122 122) (at123 123)
        ] $($future,)+)
    };

    (@number $kind:tt $order:ident [$($done:tt)*] [$number:tt $($free:tt)*] $future:expr, $($rest:tt)*) => {
        $crate::__join!(@number $kind $order [$($done)* ($number $future)] [$($free)*] $($rest)*)
    };
    (@number $kind:tt $order:ident [$($done:tt)*] [$($free:tt)*]) => {
        $crate::__join!(@wait $kind $order $($done)*)
    };
    (@number $kind:tt $order:ident [$($done:tt)*] [] $($rest:tt)*) => {
        compile_error!("more than 124 futures to join: join some of them in an inner `join!`")
    };

    (@wait $kind:tt $order:ident $((($name:ident $number:tt) $future:expr))+) => {{
        // One variable each, so that temporaries in the expressions live as long as in a `let`.
        $( let $name = $future; )+
        let mut slots = ($( $crate::macros::support::MaybeDone::new($name), )+);
        // The closure captures a reference, not the slots: the closure is not pinned and could be moved.
        let slots = &mut slots;
        let mut order = $crate::macros::support::$order::default();
        $crate::macros::support::poll_fn(move |cx| {
            let first = order.first([$($number),+].len());
            let mut waiting = false;
            for behind in [false, true] {
                $(
                    if ($number < first) == behind {
                        // SAFETY: the slots are not moved before they are dropped: the reference shadows their only
                        // name, and only this closure has the reference.
                        let slot = unsafe {
                            $crate::macros::support::Pin::new_unchecked(&mut slots.$number)
                        };
                        $crate::__join!(@poll $kind slot cx waiting);
                    }
                )+
            }
            if waiting {
                return $crate::macros::support::Poll::Pending;
            }
            // An output type may be uninhabited.
            #[allow(unreachable_code)]
            {
                let outputs = ($(
                    {
                        // SAFETY: the slots are not moved before they are dropped: only this closure has the reference
                        // to them.
                        let slot = unsafe {
                            $crate::macros::support::Pin::new_unchecked(&mut slots.$number)
                        };
                        $crate::__join!(@take $kind slot)
                    },
                )+);
                $crate::macros::support::Poll::Ready($crate::__join!(@wrap $kind outputs))
            }
        })
        .await
    }};

    (@poll all $slot:ident $cx:ident $waiting:ident) => { $waiting |= $slot.poll($cx) };
    (@poll try $slot:ident $cx:ident $waiting:ident) => {
        match $slot.try_poll($cx) {
            $crate::macros::support::Poll::Pending => $waiting = true,
            $crate::macros::support::Poll::Ready($crate::macros::support::Option::None) => {}
            $crate::macros::support::Poll::Ready($crate::macros::support::Option::Some(failed)) => {
                return $crate::macros::support::Poll::Ready(failed.pass_on());
            }
        }
    };
    (@take all $slot:ident) => { $slot.take() };
    (@take try $slot:ident) => { $slot.take_ok() };
    (@wrap all $outputs:ident) => { $outputs };
    (@wrap try $outputs:ident) => { $crate::macros::support::Result::Ok($outputs) };
}
