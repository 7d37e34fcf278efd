//! What makes a socket of a source: how it is made of the standard library's, its descriptor, and how a stream is read
//! and written.
//!
//! Each type that uses these has a method `source`, which gives its `PollEvented`.

/// The descriptor of a socket that is [`PollEvented`](crate::io::PollEvented) or of socket2: `AsFd` and its like.
macro_rules! descriptor {
    ($Socket:ty) => {
        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.source().as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $Socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                // SAFETY: the descriptor is open as long as `self` is there.
                unsafe {
                    std::os::fd::BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(self))
                }
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $Socket {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.source().as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $Socket {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                use std::os::windows::io::{AsRawSocket, BorrowedSocket};

                // SAFETY: the socket is open as long as `self` is there.
                unsafe { BorrowedSocket::borrow_raw(self.as_raw_socket()) }
            }
        }
    };
}

/// A socket that is nothing but a source: how it is made of mio's and the standard library's, and made that again.
macro_rules! socket {
    ($Socket:ident, $Std:ty, $Mio:ty, $uses:literal, $make_std:literal) => {
        impl $Socket {
            #[track_caller]
            pub(in crate::net) fn new(source: $Mio) -> io::Result<Self> {
                let io = PollEvented::new(source)?;
                Ok(Self { io })
            }

            pub(in crate::net) fn source(&self) -> &PollEvented<$Mio> {
                &self.io
            }

            #[doc = concat!("Takes over a [`", stringify!($Std), "`].")]
            ///
            /// It has to be in non-blocking mode already, which is not changed here: otherwise it blocks whole
            /// threads.
            ///
            /// # Errors
            /// If the runtime is ending, or the system refuses to watch it.
            ///
            /// # Panics
            /// Outside of a runtime, or in one without I/O; in debug builds also if it is in blocking mode.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = $make_std]
            ///     socket.set_nonblocking(true)?;
            #[doc = concat!("    let socket = ", stringify!($Socket), "::from_std(socket)?;")]
            ///     assert!(socket.local_addr().is_ok());
            ///     Ok(())
            /// }
            /// ```
            #[track_caller]
            pub fn from_std(socket: $Std) -> io::Result<Self> {
                crate::net::assert_nonblocking(&socket)?;
                Self::new(<$Mio>::from_std(socket))
            }

            #[doc = concat!("Gives it back as a [`", stringify!($Std), "`], in non-blocking mode.")]
            ///
            /// # Errors
            /// If the system refuses to stop watching it.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = $make_std]
            ///     socket.set_nonblocking(true)?;
            #[doc = concat!("    let socket = ", stringify!($Socket), "::from_std(socket)?.into_std()?;")]
            ///     socket.set_nonblocking(false)?;
            ///     Ok(())
            /// }
            /// ```
            pub fn into_std(self) -> io::Result<$Std> {
                self.io.into_inner().map(<$Std>::from)
            }
        }

        impl TryFrom<$Std> for $Socket {
            type Error = io::Error;

            #[doc = concat!("As [`from_std`](", stringify!($Socket), "::from_std).")]
            fn try_from(socket: $Std) -> io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl fmt::Debug for $Socket {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self.source()).fmt(f)
            }
        }

        descriptor!($Socket);
    };
}

/// What a stream and its halves read by.
macro_rules! async_read {
    ($Stream:ty) => {
        impl AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { self.source().poll_read(cx, buf) }
            }
        }
    };
}

/// What a stream and its halves write by. `shutdown` is what ends the writing.
macro_rules! async_write {
    ($Stream:ty, $shutdown:expr) => {
        impl AsyncWrite for $Stream {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.source().poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.source().poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Nothing is kept back: what was written is with the system.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                let shutdown: fn(&mut Self) -> io::Result<()> = $shutdown;
                Poll::Ready(shutdown(self.get_mut()))
            }
        }
    };
}

/// What a stream is made by, and how its writing ends.
macro_rules! connection_methods {
    ($source:ty) => {
        /// Waits for the end of a connection attempt that has begun.
        pub(super) async fn connecting(stream: $source) -> io::Result<Self> {
            let stream = Self::new(stream)?;
            std::future::poll_fn(|cx| stream.io.registration().poll_write_ready(cx)).await?;
            match stream.take_error()? {
                Some(error) => Err(error),
                None => Ok(stream),
            }
        }

        pub(super) fn accepted(stream: $source) -> io::Result<Self> {
            let stream = Self::new(stream)?;
            // It can be written, and often the first request is there already: trying costs less than waiting for news.
            let ready = Ready::READABLE | Ready::WRITABLE;
            stream.io.registration().assume_ready(ready);
            Ok(stream)
        }

        pub(super) fn shutdown_write(&self) -> io::Result<()> {
            match self.io.shutdown(std::net::Shutdown::Write) {
                // The peer was first.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                result => result,
            }
        }
    };
}
