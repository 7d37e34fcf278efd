//! The methods that wait, for a shared and for a mutable reference.

use std::io;
use std::os::fd::AsRawFd;
use std::task::{Context, Poll, ready};

use super::{AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard};
use crate::io::Interest;

macro_rules! waits {
    (
        $Guard:ident, ($($mutable:tt)?);
        $ready:ident, $readable:ident, $writable:ident, $poll_read_ready:ident, $poll_write_ready:ident
    ) => {
        impl<T: AsRawFd> AsyncFd<T> {
            /// Waits until the descriptor is ready for one of the interests.
            ///
            /// # Errors
            /// If the runtime of the registration has shut down.
            ///
            /// # Cancel safety
            /// Cancel safe: the readiness is kept.
            ///
            /// ```
            /// # use pointsman::io::{Interest, unix::AsyncFd};
            #[doc = concat!("# async fn example(", $(stringify!($mutable), " ",)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            /// let both = Interest::READABLE | Interest::WRITABLE;
            #[doc = concat!("let guard = fd.", stringify!($ready), "(both).await?;")]
            /// if guard.ready().is_readable() {
            ///     // ...
            /// }
            /// # Ok(())
            /// # }
            /// ```
            pub async fn $ready(
                & $($mutable)? self,
                interest: Interest,
            ) -> io::Result<$Guard<'_, T>> {
                let event = self.registration.readiness(interest).await?;
                Ok($Guard::new(self, event))
            }

            /// Waits until the descriptor is readable.
            ///
            /// # Errors
            /// If the runtime of the registration has shut down.
            ///
            /// # Cancel safety
            /// Cancel safe: the readiness is kept.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $(stringify!($mutable), " ",)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($readable), "().await?;")]
            /// guard.clear_ready();
            /// # Ok(())
            /// # }
            /// ```
            pub async fn $readable(& $($mutable)? self) -> io::Result<$Guard<'_, T>> {
                self.$ready(Interest::READABLE).await
            }

            /// Waits until the descriptor is writable.
            ///
            /// # Errors
            /// If the runtime of the registration has shut down.
            ///
            /// # Cancel safety
            /// Cancel safe: the readiness is kept.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            #[doc = concat!("# async fn example(", $(stringify!($mutable), " ",)? "fd: AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {")]
            #[doc = concat!("let mut guard = fd.", stringify!($writable), "().await?;")]
            /// guard.clear_ready();
            /// # Ok(())
            /// # }
            /// ```
            pub async fn $writable(& $($mutable)? self) -> io::Result<$Guard<'_, T>> {
                self.$ready(Interest::WRITABLE).await
            }

            /// Polls until the descriptor is readable. Only the last task that polled for reading is woken.
            ///
            /// # Errors
            /// If the runtime of the registration has shut down.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            /// # use std::task::{Context, Poll, ready};
            #[doc = concat!("# fn example(", $(stringify!($mutable), " ",)? "fd: AsyncFd<std::net::UdpSocket>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {")]
            #[doc = concat!("let guard = ready!(fd.", stringify!($poll_read_ready), "(cx))?;")]
            /// # drop(guard);
            /// # Poll::Ready(Ok(()))
            /// # }
            /// ```
            pub fn $poll_read_ready<'a>(
                &'a $($mutable)? self,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<$Guard<'a, T>>> {
                let event = ready!(self.registration.poll_read_ready(cx))?;
                Poll::Ready(Ok($Guard::new(self, event)))
            }

            /// Polls until the descriptor is writable. Only the last task that polled for writing is woken.
            ///
            /// # Errors
            /// If the runtime of the registration has shut down.
            ///
            /// ```
            /// # use pointsman::io::unix::AsyncFd;
            /// # use std::task::{Context, Poll, ready};
            #[doc = concat!("# fn example(", $(stringify!($mutable), " ",)? "fd: AsyncFd<std::net::UdpSocket>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {")]
            #[doc = concat!("let guard = ready!(fd.", stringify!($poll_write_ready), "(cx))?;")]
            /// # drop(guard);
            /// # Poll::Ready(Ok(()))
            /// # }
            /// ```
            pub fn $poll_write_ready<'a>(
                &'a $($mutable)? self,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<$Guard<'a, T>>> {
                let event = ready!(self.registration.poll_write_ready(cx))?;
                Poll::Ready(Ok($Guard::new(self, event)))
            }
        }
    };
}

waits! {
    AsyncFdReadyGuard, ();
    ready, readable, writable, poll_read_ready, poll_write_ready
}

waits! {
    AsyncFdReadyMutGuard, (mut);
    ready_mut, readable_mut, writable_mut, poll_read_ready_mut, poll_write_ready_mut
}
