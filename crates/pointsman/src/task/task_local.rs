//! Task-local values: values that belong to a future while it runs.
//!
//! Invariant: while a scope runs on a thread, the thread's cell of the key points to the scope's value. When
//! the scope is left, also by a panic, the cell points to what it pointed to before. The value is not moved
//! meanwhile.
//!
//! Cost: each poll of the future looks up one thread-local and writes it twice, independent of the size of
//! the value. Nothing is allocated or locked.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

/// Declares task-local keys. See [`LocalKey`](crate::task::LocalKey).
///
/// ```
/// pointsman::task_local! {
///     /// The user that made the request.
///     pub static USER: String;
///     static ATTEMPT: u32;
/// }
///
/// ATTEMPT.sync_scope(2, || assert_eq!(ATTEMPT.get(), 2));
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visible:vis static $name:ident: $value:ty $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visible static $name: $crate::task::LocalKey<$value> = {
            ::std::thread_local! {
                static CELL: $crate::task::LocalCell<$value> =
                    const { $crate::task::LocalCell::new() };
            }
            $crate::task::LocalKey::new(CELL)
        };
        $($crate::task_local!($($rest)*);)?
    };
}

/// A thread's pointer to the current value of a key.
#[doc(hidden)]
pub struct LocalCell<T> {
    /// Null outside of all scopes.
    value: Cell<*const T>,
    /// The number of running `with` calls.
    readers: Cell<usize>,
}

impl<T> LocalCell<T> {
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self {
            value: Cell::new(ptr::null()),
            readers: Cell::new(0),
        }
    }
}

/// A key for a task-local value, declared by [`task_local!`](crate::task_local).
///
/// A scope sets the value while a future or a function runs, on any thread. An inner scope shadows the value
/// of the outer one. A spawned task does not inherit values.
///
/// ```
/// # futures::executor::block_on(async {
/// pointsman::task_local! {
///     static NUMBER: u32;
/// }
///
/// NUMBER
///     .scope(1, async {
///         assert_eq!(NUMBER.get(), 1);
///         NUMBER.scope(2, async { assert_eq!(NUMBER.get(), 2) }).await;
///         assert_eq!(NUMBER.get(), 1);
///     })
///     .await;
/// assert!(NUMBER.try_get().is_err());
/// # });
/// ```
pub struct LocalKey<T: 'static> {
    cell: thread::LocalKey<LocalCell<T>>,
}

/// Restores the outer scope's value when it is dropped.
struct RestoreOuter<'a, T> {
    cell: &'a LocalCell<T>,
    outer: *const T,
}

impl<T> Drop for RestoreOuter<'_, T> {
    fn drop(&mut self) {
        self.cell.value.set(self.outer);
    }
}

/// Ends a `with` when it is dropped.
struct EndRead<'a>(&'a Cell<usize>);

impl Drop for EndRead<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Error of a scope that is entered within a `with` of the same key, whose value must not be shadowed.
struct Borrowed;

impl Borrowed {
    #[track_caller]
    fn panic(self) -> ! {
        panic!("cannot enter a task-local scope while the task-local storage is borrowed")
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(cell: thread::LocalKey<LocalCell<T>>) -> Self {
        Self { cell }
    }

    /// Runs `run` with the value set, or unset if it is `None`.
    #[inline]
    fn enter<R>(&'static self, value: Option<&T>, run: impl FnOnce() -> R) -> Result<R, Borrowed> {
        // The cell has no drop, so it is accessible until the thread ends.
        self.cell.with(|cell| {
            if cell.readers.get() > 0 {
                return Err(Borrowed);
            }
            let outer = cell.value.replace(value.map_or(ptr::null(), ptr::from_ref));
            let _restore = RestoreOuter { cell, outer };
            Ok(run())
        })
    }

    /// Sets the value while a future runs.
    ///
    /// The returned future drops `future` first, which still sees the value, and then the value.
    ///
    /// # Panics
    /// The returned future panics if it is polled within [`with`](Self::with) or [`try_with`](Self::try_with)
    /// of the same key.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// pointsman::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// let doubled = NUMBER.scope(21, async { NUMBER.get() * 2 }).await;
    /// assert_eq!(doubled, 42);
    /// # });
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(future),
            _pinned: PhantomPinned,
        }
    }

    /// Sets the value while a function runs, and then drops it.
    ///
    /// # Panics
    /// Within [`with`](Self::with) or [`try_with`](Self::try_with) of the same key.
    ///
    /// ```
    /// pointsman::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert_eq!(NUMBER.sync_scope(21, || NUMBER.get() * 2), 42);
    /// ```
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, run: F) -> R
    where
        F: FnOnce() -> R,
    {
        match self.enter(Some(&value), run) {
            Ok(result) => result,
            Err(borrowed) => borrowed.panic(),
        }
    }

    /// Calls a function with a reference to the value.
    ///
    /// # Panics
    /// Outside of all scopes of this key.
    ///
    /// ```
    /// pointsman::task_local! {
    ///     static NAME: String;
    /// }
    ///
    /// NAME.sync_scope("Ada".into(), || assert_eq!(NAME.with(|name| name.len()), 3));
    /// ```
    #[track_caller]
    pub fn with<F, R>(&'static self, read: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(read) {
            Ok(result) => result,
            Err(_) => panic!("cannot access a task-local storage value without setting it first"),
        }
    }

    /// Calls a function with a reference to the value.
    ///
    /// # Errors
    /// [`AccessError`] outside of all scopes of this key.
    ///
    /// ```
    /// pointsman::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert!(NUMBER.try_with(|number| *number).is_err());
    /// ```
    pub fn try_with<F, R>(&'static self, read: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        self.cell.with(|cell| {
            // SAFETY: the cell is null or points to the value of the innermost scope on this thread. That
            // scope is a call further up the stack, and it neither moves nor changes its value before it
            // returns.
            let value = unsafe { cell.value.get().as_ref() }.ok_or(AccessError(()))?;
            cell.readers.set(cell.readers.get() + 1);
            let _end = EndRead(&cell.readers);
            Ok(read(value))
        })
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// Returns a clone of the value.
    ///
    /// # Panics
    /// Outside of all scopes of this key.
    ///
    /// ```
    /// pointsman::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// NUMBER.sync_scope(1, || assert_eq!(NUMBER.get(), 1));
    /// ```
    #[track_caller]
    pub fn get(&'static self) -> T {
        self.with(T::clone)
    }

    /// Returns a clone of the value.
    ///
    /// # Errors
    /// [`AccessError`] outside of all scopes of this key.
    ///
    /// ```
    /// pointsman::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert!(NUMBER.try_get().is_err());
    /// NUMBER.sync_scope(1, || assert_eq!(NUMBER.try_get(), Ok(1)));
    /// ```
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad("LocalKey { .. }")
    }
}

pin_project! {
    /// Future of [`LocalKey::scope`].
    ///
    /// # Panics
    /// If it is polled after completion.
    ///
    /// ```
    /// # use pointsman::task::futures::TaskLocalFuture;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// pointsman::task_local! {
    ///     static USER: &'static str;
    /// }
    ///
    /// // A spawned task inherits no value, so the scope is part of its future.
    /// let future: TaskLocalFuture<_, _> = USER.scope("Ada", async { USER.get() });
    /// assert_eq!(pointsman::spawn(future).await.unwrap(), "Ada");
    /// # }
    /// ```
    #[must_use = "futures do nothing unless they are awaited"]
    pub struct TaskLocalFuture<T, F>
    where
        T: 'static,
    {
        key: &'static LocalKey<T>,
        value: Option<T>,
        #[pin]
        future: Option<F>,
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if std::mem::needs_drop::<F>() && this.future.is_some() {
                // Fails within a `with` of this key. The future is then dropped as a field, without the
                // value.
                let _ = this.key.enter(this.value.as_ref(), || this.future.set(None));
            }
        }
    }
}

impl<T, F> TaskLocalFuture<T, F> {
    /// Takes the value out. A future that is not complete then runs without the value. `None` if the value was
    /// taken before.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// pointsman::task_local! {
    ///     static NAMES: std::cell::RefCell<Vec<&'static str>>;
    /// }
    ///
    /// let mut future = Box::pin(NAMES.scope(Default::default(), async {
    ///     NAMES.with(|names| names.borrow_mut().push("Ada"));
    /// }));
    /// future.as_mut().await;
    /// let names = future.as_mut().take_value().unwrap();
    /// assert_eq!(names.into_inner(), ["Ada"]);
    /// assert!(future.as_mut().take_value().is_none());
    /// # });
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let polled = this.key.enter(this.value.as_ref(), || {
            let poll = this.future.as_mut().as_pin_mut()?.poll(cx);
            if poll.is_ready() {
                // The future's drop sees the value too.
                this.future.set(None);
            }
            Some(poll)
        });
        match polled {
            Ok(Some(poll)) => poll,
            Ok(None) => panic!("`TaskLocalFuture` polled after completion"),
            Err(borrowed) => borrowed.panic(),
        }
    }
}

impl<T: fmt::Debug, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: &dyn fmt::Debug = match &self.value {
            Some(value) => value,
            None => &format_args!("<missing>"),
        };
        formatter
            .debug_struct("TaskLocalFuture")
            .field("value", value)
            .finish()
    }
}

/// Error of an access to a task-local value outside of all scopes of its key.
///
/// ```
/// pointsman::task_local! {
///     static NUMBER: u32;
/// }
///
/// let error = NUMBER.try_get().unwrap_err();
/// assert_eq!(error.to_string(), "task-local value not set");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Debug for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad("task-local value not set")
    }
}

impl Error for AccessError {}
