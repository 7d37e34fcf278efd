//! Descriptors whose readiness the system reports.
//!
//! Invariant: the descriptor is registered while it is in here, and is deregistered before it is returned or dropped.

mod error;
mod guard;
mod wait;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use mio::unix::SourceFd;

pub use self::error::AsyncFdRegisterError;
#[expect(deprecated, reason = "the former name")]
pub use self::error::AsyncFdTryNewError;
pub use self::guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard, TryIoError};
use super::{Interest, Registration};

/// Waits for the readiness of a descriptor, which the program reads and writes itself.
///
/// It is for descriptors for which [`net`](crate::net) has no type: devices, `eventfd`, `inotify`, sockets of a C
/// library. The descriptor must be in non-blocking mode.
///
/// A wait returns a guard with the readiness. Make the system call with its `try_io`, which clears the readiness if the
/// call would block, or [clear](AsyncFdReadyGuard::clear_ready) it yourself. If it is not cleared after `WouldBlock`,
/// the descriptor stays ready and a loop spins. [`async_io`](Self::async_io) does all of this.
///
/// Any number of tasks may wait with the `async` methods. Of the tasks that poll, only the last one for each direction
/// is woken.
///
/// ```
/// use pointsman::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (mut one, other) = UnixStream::pair()?;
///     other.set_nonblocking(true)?;
///     // SAFETY: the stream keeps its descriptor until it is dropped, and nothing else closes it.
///     let other = unsafe { AsyncFd::register(other) }?;
///
///     one.write_all(b"ping")?;
///     let mut buf = [0; 8];
///     let count = loop {
///         let mut guard = other.readable().await?;
///         if let Ok(result) = guard.try_io(|fd| fd.get_ref().read(&mut buf)) {
///             break result?;
///         }
///     };
///     assert_eq!(&buf[..count], b"ping");
///     Ok(())
/// }
/// ```
pub struct AsyncFd<T: AsRawFd> {
    registration: Registration,
    /// `None` after `into_inner`.
    inner: Option<T>,
}

impl<T: AsRawFd> AsyncFd<T> {
    /// Registers a descriptor for reading and writing with the current runtime.
    ///
    /// # Errors
    /// If the runtime has shut down, or the system does not report the readiness of such a descriptor, for example of a
    /// file on disk. The error returns the descriptor's owner.
    ///
    /// # Panics
    /// If called outside of a runtime, or if I/O is not enabled.
    ///
    /// # Safety
    /// `as_raw_fd` always returns the same descriptor, which stays open until this is dropped or `into_inner` is
    /// called.
    ///
    /// ```
    /// use pointsman::io::unix::AsyncFd;
    /// use std::os::unix::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     one.set_nonblocking(true)?;
    ///     // SAFETY: the stream keeps its descriptor until it is dropped, and nothing else closes it.
    ///     let one = unsafe { AsyncFd::register(one) }?;
    ///     assert!(one.writable().await?.ready().is_writable());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        let both = Interest::READABLE | Interest::WRITABLE;
        // SAFETY: the caller makes the promise of `register_with_interest`, which is the same.
        unsafe { Self::register_with_interest(inner, both) }
    }

    /// As [`register`](Self::register), with this interest, for a descriptor that does not support both directions or
    /// of which only one is used.
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    ///
    /// # Panics
    /// As for [`register`](Self::register).
    ///
    /// # Safety
    /// As for [`register`](Self::register).
    ///
    /// ```
    /// use pointsman::io::{Interest, unix::AsyncFd};
    /// use std::os::unix::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     one.set_nonblocking(true)?;
    ///     // SAFETY: the stream keeps its descriptor until it is dropped, and nothing else closes it.
    ///     unsafe { AsyncFd::register_with_interest(one, Interest::READABLE) }?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        match Registration::new(&mut SourceFd(&inner.as_raw_fd()), interest) {
            Ok(registration) => Ok(Self {
                registration,
                inner: Some(inner),
            }),
            Err(cause) => Err(AsyncFdRegisterError::new(inner, cause)),
        }
    }

    /// The former name of [`register`](Self::register).
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "unsound due to lack of I/O safety; use `AsyncFd::register` instead")]
    pub fn new(inner: T) -> io::Result<Self> {
        // SAFETY: not checked, hence the deprecation: the caller must keep the promise of `register`.
        unsafe { Ok(Self::register(inner)?) }
    }

    /// The former name of [`register_with_interest`](Self::register_with_interest).
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "unsound due to lack of I/O safety; use `AsyncFd::register_with_interest` instead"
    )]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        // SAFETY: not checked, hence the deprecation: the caller must keep the promise of `register`.
        unsafe { Ok(Self::register_with_interest(inner, interest)?) }
    }

    /// The former name of [`register`](Self::register).
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "unsound due to lack of I/O safety; use `AsyncFd::register` instead")]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: not checked, hence the deprecation: the caller must keep the promise of `register`.
        unsafe { Self::register(inner) }
    }

    /// The former name of [`register_with_interest`](Self::register_with_interest).
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "unsound due to lack of I/O safety; use `AsyncFd::register_with_interest` instead"
    )]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: not checked, hence the deprecation: the caller must keep the promise of `register`.
        unsafe { Self::register_with_interest(inner, interest) }
    }

    /// Returns the owner of the descriptor.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(socket: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{}", socket.get_ref().local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("present until `into_inner`")
    }

    /// Returns the owner of the descriptor, mutably. Its descriptor must stay the same.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(mut file: AsyncFd<std::process::ChildStdin>) -> std::io::Result<()> {
    /// std::io::Write::write(file.get_mut(), b"ping")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("present until `into_inner`")
    }

    /// Deregisters the descriptor and returns its owner.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(socket: AsyncFd<std::net::UdpSocket>) {
    /// let socket: std::net::UdpSocket = socket.into_inner();
    /// # }
    /// ```
    pub fn into_inner(mut self) -> T {
        self.take().expect("`into_inner` consumes it")
    }

    fn take(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        // The caller gets the descriptor in any case, so an error does not matter.
        let _ = self
            .registration
            .deregister(&mut SourceFd(&inner.as_raw_fd()));
        Some(inner)
    }

    /// Calls `f` once the descriptor is ready, and again after `WouldBlock`.
    ///
    /// # Errors
    /// If the runtime of the registration has shut down, or if `f` fails.
    ///
    /// # Cancel safety
    /// Cancel safe: `f` is called only in a poll.
    ///
    /// ```
    /// # use pointsman::io::{Interest, unix::AsyncFd};
    /// # async fn example(socket: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// let mut buf = [0; 1500];
    /// let count = socket.async_io(Interest::READABLE, |socket| socket.recv(&mut buf)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let call = || f(self.get_ref());
        self.registration.async_io(interest, call).await
    }

    /// As [`async_io`](Self::async_io), with a mutable reference.
    ///
    /// # Errors
    /// As for [`async_io`](Self::async_io).
    ///
    /// ```
    /// # use pointsman::io::{Interest, unix::AsyncFd};
    /// # async fn example(mut file: AsyncFd<std::process::ChildStdin>) -> std::io::Result<()> {
    /// use std::io::Write;
    ///
    /// file.async_io_mut(Interest::WRITABLE, |file| file.write(b"ping")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.inner.as_mut().expect("present until `into_inner`");
        self.registration.async_io(interest, || f(inner)).await
    }

    /// Calls `f` if the descriptor is known to be ready.
    ///
    /// # Errors
    /// `WouldBlock` if the descriptor is not known to be ready; `f` is not called then. Otherwise the error of `f`.
    ///
    /// ```
    /// # use pointsman::io::{Interest, unix::AsyncFd};
    /// # fn example(socket: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// let count = socket.try_io(Interest::READABLE, |socket| socket.recv(&mut [0; 1500]))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || f(self.get_ref()))
    }

    /// As [`try_io`](Self::try_io), with a mutable reference.
    ///
    /// # Errors
    /// As for [`try_io`](Self::try_io).
    ///
    /// ```
    /// # use pointsman::io::{Interest, unix::AsyncFd};
    /// # fn example(mut file: AsyncFd<std::process::ChildStdin>) -> std::io::Result<()> {
    /// use std::io::Write;
    ///
    /// file.try_io_mut(Interest::WRITABLE, |file| file.write(b"ping"))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.inner.as_mut().expect("present until `into_inner`");
        self.registration.try_io(interest, || f(inner))
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the caller of `register` has promised that the descriptor stays open while it is in here.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd")
            .field("inner", &self.inner)
            .finish()
    }
}

impl<T: AsRawFd> Drop for AsyncFd<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
