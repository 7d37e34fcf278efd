//! Guards for the readiness of a descriptor.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;

use super::AsyncFd;
use crate::io::Ready;
use crate::runtime::driver::ReadyEvent;

/// The readiness of a descriptor, returned by [`readable`](AsyncFd::readable) and similar methods.
///
/// Dropping the guard keeps the readiness, unless it was cleared.
#[must_use = "You must explicitly choose whether to clear the readiness state by calling a method on ReadyGuard"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    async_fd: &'a AsyncFd<T>,
    /// `None` after it was cleared.
    event: Option<ReadyEvent>,
}

/// The readiness of a descriptor, returned by [`readable_mut`](AsyncFd::readable_mut) and similar methods.
///
/// Dropping the guard keeps the readiness, unless it was cleared.
#[must_use = "You must explicitly choose whether to clear the readiness state by calling a method on ReadyGuard"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    async_fd: &'a mut AsyncFd<T>,
    /// `None` after it was cleared.
    event: Option<ReadyEvent>,
}

macro_rules! guard {
    ($Guard:ident, held: ($($held:tt)+), lent: ($($lent:tt)+), $readable:ident, $name:literal, $($mutable:literal)?) => {
        impl<'a, T: AsRawFd> $Guard<'a, T> {
            pub(super) fn new(async_fd: $($held)+ AsyncFd<T>, event: ReadyEvent) -> Self {
                let event = Some(event);
                Self { async_fd, event }
            }

            /// Clears the readiness: the descriptor is ready again after the next event of the system.
            ///
            /// Call it only after a system call has returned `WouldBlock`; otherwise the next wait may never end.
            /// Events after the creation of this guard are not lost.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $($mutable,)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($readable), "().await?;")]
            /// match guard.get_inner().recv(&mut [0; 8]) {
            ///     Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => guard.clear_ready(),
            ///     result => println!("{result:?}"),
            /// }
            /// # Ok(())
            /// # }
            /// ```
            pub fn clear_ready(&mut self) {
                if let Some(event) = self.event.take() {
                    self.async_fd.registration.clear_readiness(event);
                }
            }

            /// As [`clear_ready`](Self::clear_ready), for a part of the readiness.
            ///
            /// ```
            /// # use pointsman::io::{Interest, Ready, unix::AsyncFd};
            #[doc = concat!("# async fn example(", $($mutable,)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($readable), "().await?;")]
            /// guard.clear_ready_matching(Ready::READABLE);
            /// assert!(!guard.ready().is_readable() || guard.ready().is_read_closed());
            /// # Ok(())
            /// # }
            /// ```
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                if let Some(event) = self.event.take() {
                    let registration = &self.async_fd.registration;
                    registration.clear_readiness(event.with_ready(ready));
                    let rest = event.ready - ready;
                    self.event = (!rest.is_empty()).then(|| event.with_ready(rest));
                }
            }

            /// Keeps the readiness, as dropping the guard does, but explicitly.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $($mutable,)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($readable), "().await?;")]
            /// guard.retain_ready();
            /// # Ok(())
            /// # }
            /// ```
            pub fn retain_ready(&mut self) {}

            /// Returns the readiness, without what was cleared.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $($mutable,)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let guard = fd.", stringify!($readable), "().await?;")]
            /// assert!(guard.ready().is_readable());
            /// # Ok(())
            /// # }
            /// ```
            pub fn ready(&self) -> Ready {
                self.event.map_or(Ready::EMPTY, |event| event.ready)
            }

            /// Calls `f`, and [clears](Self::clear_ready) the readiness if it returns `WouldBlock`.
            ///
            /// # Errors
            /// [`TryIoError`] if `f` returned `WouldBlock`: wait again. Other results of `f` are in the `Ok`.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $($mutable,)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($readable), "().await?;")]
            /// match guard.try_io(|fd| fd.get_ref().recv(&mut [0; 8])) {
            ///     Ok(result) => println!("{result:?}"),
            ///     Err(_would_block) => println!("it was not ready after all"),
            /// }
            /// # Ok(())
            /// # }
            /// ```
            pub fn try_io<R>(
                &mut self,
                f: impl FnOnce($($lent)+ AsyncFd<T>) -> io::Result<R>,
            ) -> Result<io::Result<R>, TryIoError> {
                match f(self.async_fd) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.clear_ready();
                        Err(TryIoError(()))
                    }
                    result => Ok(result),
                }
            }
        }

        impl<T: AsRawFd + fmt::Debug> fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name)
                    .field("async_fd", &self.async_fd)
                    .finish()
            }
        }
    };
}

guard!(AsyncFdReadyGuard, held: (&'a), lent: (&'a), readable, "ReadyGuard",);
guard!(AsyncFdReadyMutGuard, held: (&'a mut), lent: (&mut), readable_mut, "MutReadyGuard", "mut ");

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    /// Returns the `AsyncFd` of the guard.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// let fd: &AsyncFd<_> = fd.readable().await?.get_ref();
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.async_fd
    }

    /// Returns the owner of the descriptor.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{}", fd.readable().await?.get_inner().local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_inner(&self) -> &'a T {
        self.async_fd.get_ref()
    }
}

impl<T: AsRawFd> AsyncFdReadyMutGuard<'_, T> {
    /// Returns the `AsyncFd` of the guard.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(mut fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{:?}", fd.readable_mut().await?.get_ref());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.async_fd
    }

    /// Returns the `AsyncFd` of the guard, mutably.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(mut fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{:?}", fd.readable_mut().await?.get_mut());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.async_fd
    }

    /// Returns the owner of the descriptor.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(mut fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// println!("{}", fd.readable_mut().await?.get_inner().local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_inner(&self) -> &T {
        self.async_fd.get_ref()
    }

    /// Returns the owner of the descriptor, mutably.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFd;
    /// # async fn example(mut file: AsyncFd<std::process::ChildStdin>) -> std::io::Result<()> {
    /// std::io::Write::write(file.writable_mut().await?.get_inner_mut(), b"ping")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.async_fd.get_mut()
    }
}

/// Returned by the `try_io` of a guard if the system call would have blocked.
///
/// ```
/// # use pointsman::io::unix::{AsyncFd, TryIoError};
/// # async fn example(fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
/// if let Err(TryIoError { .. }) = fd.readable().await?.try_io(|fd| fd.get_ref().recv(&mut [])) {
///     println!("it was not ready after all");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TryIoError(());
