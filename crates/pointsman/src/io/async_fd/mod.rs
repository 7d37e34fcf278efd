//! Any descriptor that the system tells the readiness of.
//!
//! Invariant: the descriptor is registered as long as it is here, and given out or dropped only after that has ended.

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

/// A descriptor that a program reads and writes itself, as soon as the system says that it is ready.
///
/// It is for descriptors that [`net`](crate::net) has no type for: devices, `eventfd`, `inotify`, sockets of a C
/// library. The descriptor has to be in non-blocking mode.
///
/// A wait gives a guard, which knows what the descriptor was ready for. Do what you wanted, by its `try_io`, which ends
/// the readiness if the system call would block; or [clear](AsyncFdReadyGuard::clear_ready) it yourself. A descriptor
/// that would block and is not cleared seems to be ready for ever. [`async_io`](Self::async_io) does all of that.
///
/// Any number of tasks may wait by the `async` methods; of those that poll, the last one for reading and the last one
/// for writing are woken.
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
///     // SAFETY: the stream has the same descriptor until it is dropped, and nobody else closes it.
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
    /// `None` once it was taken out.
    inner: Option<T>,
}

impl<T: AsRawFd> AsyncFd<T> {
    /// Registers a descriptor for reading and writing at the runtime that is the current one.
    ///
    /// # Errors
    /// If the runtime is ending, or the system does not tell the readiness of such a descriptor: files on disk, for one.
    /// The error gives the descriptor back.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// # Safety
    /// `as_raw_fd` always gives the same descriptor, which stays open until this is dropped or gives it out.
    ///
    /// ```
    /// use pointsman::io::unix::AsyncFd;
    /// use std::os::unix::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     one.set_nonblocking(true)?;
    ///     // SAFETY: the stream has the same descriptor until it is dropped, and nobody else closes it.
    ///     let one = unsafe { AsyncFd::register(one) }?;
    ///     assert!(one.writable().await?.ready().is_writable());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        let both = Interest::READABLE | Interest::WRITABLE;
        // SAFETY: the caller has promised it.
        unsafe { Self::register_with_interest(inner, both) }
    }

    /// As [`register`](Self::register), for this interest alone, where the descriptor does not have both, or one is not
    /// of interest.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    ///
    /// # Panics
    /// As [`register`](Self::register).
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
    ///     // SAFETY: the stream has the same descriptor until it is dropped, and nobody else closes it.
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

    /// The former [`register`](Self::register).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "unsound due to lack of I/O safety; use `AsyncFd::register` instead")]
    pub fn new(inner: T) -> io::Result<Self> {
        // SAFETY: whoever calls it has to promise it, though the signature does not say so.
        unsafe { Ok(Self::register(inner)?) }
    }

    /// The former [`register_with_interest`](Self::register_with_interest).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "unsound due to lack of I/O safety; use `AsyncFd::register_with_interest` instead"
    )]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        // SAFETY: as in `new`.
        unsafe { Ok(Self::register_with_interest(inner, interest)?) }
    }

    /// The former [`register`](Self::register).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "unsound due to lack of I/O safety; use `AsyncFd::register` instead")]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: as in `new`.
        unsafe { Self::register(inner) }
    }

    /// The former [`register_with_interest`](Self::register_with_interest).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "unsound due to lack of I/O safety; use `AsyncFd::register_with_interest` instead"
    )]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: as in `new`.
        unsafe { Self::register_with_interest(inner, interest) }
    }

    /// What has the descriptor.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(socket: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{}", socket.get_ref().local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("it is there until it is taken")
    }

    /// What has the descriptor. It must go on having the same one.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(mut file: AsyncFd<std::process::ChildStdin>) -> std::io::Result<()> {
    /// std::io::Write::write(file.get_mut(), b"ping")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is there until it is taken")
    }

    /// Gives the descriptor out, which is not registered any more.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # fn example(socket: AsyncFd<std::net::UdpSocket>) {
    /// let socket: std::net::UdpSocket = socket.into_inner();
    /// # }
    /// ```
    pub fn into_inner(mut self) -> T {
        self.take().expect("it is taken once")
    }

    fn take(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        // It is the caller's, whatever the system says.
        let _ = self
            .registration
            .deregister(&mut SourceFd(&inner.as_raw_fd()));
        Some(inner)
    }

    /// Does a system call as soon as that is possible. It is to give `WouldBlock` where it would block, and is called
    /// again when the descriptor is ready again.
    ///
    /// # Errors
    /// If the runtime that it belongs to ends. Otherwise what the call gives.
    ///
    /// # Cancellation
    /// Giving up is safe between the calls.
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
    /// As [`async_io`](Self::async_io).
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
        let inner = self.inner.as_mut().expect("it is there until it is taken");
        self.registration.async_io(interest, || f(inner)).await
    }

    /// Tries a system call if the descriptor is known to be ready for it.
    ///
    /// # Errors
    /// `WouldBlock` if it is not, when nothing is called. Otherwise what the call gives.
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
    /// As [`try_io`](Self::try_io).
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
        let inner = self.inner.as_mut().expect("it is there until it is taken");
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
        // SAFETY: who registered it has promised that it is open.
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
