//! TCP, UDP and Unix sockets, and host names.
//!
//! - [`TcpListener`], [`TcpStream`] and, for options that must be set before either exists, [`TcpSocket`];
//! - [`UdpSocket`];
//! - on Unix `UnixListener`, `UnixStream`, `UnixDatagram`, `UnixSocket` and `unix::pipe`;
//! - [`lookup_host`] and [`ToSocketAddrs`].
//!
//! Windows named pipes (`net::windows`) are not supported yet.
//!
//! Each socket belongs to the runtime in which it is created, which must have I/O enabled
//! ([`enable_io`](crate::runtime::Builder::enable_io)), and can be used from any other runtime. When its runtime shuts
//! down, operations that wait fail with an error that [`is_rt_shutdown_err`](crate::runtime::is_rt_shutdown_err)
//! recognizes.
//!
//! Invariant: a socket is a registered source, a `PollEvented`, and holds no other state.

#[macro_use]
mod socket;

mod addr;
mod datagram;
mod fill;
mod source;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;

use std::io;

pub use addr::{ToSocketAddrs, lookup_host};
pub use tcp::listener::TcpListener;
pub use tcp::socket::TcpSocket;
pub use tcp::stream::TcpStream;
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::datagram::socket::UnixDatagram;
#[cfg(unix)]
pub use unix::listener::UnixListener;
#[cfg(unix)]
pub use unix::socket::UnixSocket;
#[cfg(unix)]
pub use unix::stream::UnixStream;

/// Panics in debug builds if the socket is in blocking mode, as its operations would block the thread.
#[cfg(unix)]
#[track_caller]
fn assert_nonblocking(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    if cfg!(debug_assertions) {
        assert!(
            socket2::SockRef::from(socket).nonblocking()?,
            "Registering a blocking socket with the tokio runtime is unsupported. Call `set_nonblocking(true)` on it \
             first."
        );
    }
    Ok(())
}

/// Windows cannot report whether a socket is in blocking mode.
#[cfg(not(unix))]
fn assert_nonblocking<T>(_: &T) -> io::Result<()> {
    Ok(())
}
