//! Trait implementations that the sockets and pipes have in common. Methods are not generated: see `source`.
//!
//! Each type that uses these macros has a method `source` that returns its `PollEvented` or socket2 socket.

/// `AsRawFd` and `AsFd`, or their equivalents on Windows.
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
                // SAFETY: `self` owns the descriptor and is borrowed for as long as the result.
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

                // SAFETY: `self` owns the socket and is borrowed for as long as the result.
                unsafe { BorrowedSocket::borrow_raw(self.as_raw_socket()) }
            }
        }
    };
}

/// How a socket is made of its registered source and of the standard library's socket, and its descriptor.
macro_rules! socket {
    ($Socket:ident, $Std:ty, $Mio:ty) => {
        impl $Socket {
            #[track_caller]
            pub(in crate::net) fn new(source: $Mio) -> io::Result<Self> {
                let io = PollEvented::new(source)?;
                Ok(Self { io })
            }

            pub(in crate::net) fn source(&self) -> &PollEvented<$Mio> {
                &self.io
            }
        }

        impl TryFrom<$Std> for $Socket {
            type Error = io::Error;

            /// Calls `from_std`.
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

/// `AsyncRead` of a stream, its halves and a pipe's receiver.
macro_rules! async_read {
    ($Stream:ty) => {
        impl AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: mio reads by one system call, which only writes to the buffer and returns how much it wrote.
                unsafe { self.source().poll_read(cx, buf) }
            }
        }
    };
}

/// `AsyncWrite` of a stream, its halves and a pipe's sender. `$shutdown` shuts down the writing.
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

            /// Does nothing: writes are not buffered.
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
