//! TCP, UDP and Unix sockets, and names of hosts.
//!
//! - [`TcpListener`], [`TcpStream`] and, for what has to be set before those are made, [`TcpSocket`];
//! - [`UdpSocket`];
//! - on Unix `UnixListener`, `UnixStream`, `UnixDatagram`, `UnixSocket` and `unix::pipe`;
//! - [`lookup_host`] and [`ToSocketAddrs`].
//!
//! Named pipes of Windows, `net::windows`, are not there yet.
//!
//! Each socket belongs to the runtime that is the current one where it is made, which has to have I/O
//! ([`enable_io`](crate::runtime::Builder::enable_io)), and may be used from any other. When its own runtime ends, what
//! waits for it fails with an error that [`is_rt_shutdown_err`](crate::runtime::is_rt_shutdown_err) knows.
//!
//! Invariant: a socket is nothing but a source that is registered, a `PollEvented`: it never waits by itself.

#[macro_use]
mod methods;
#[macro_use]
mod datagram;
#[macro_use]
mod options;
#[macro_use]
mod socket;
#[macro_use]
mod split;

mod addr;
mod fill;
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

/// A socket that would block its thread is a mistake of the program, which is told in debug builds.
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

/// Windows does not say whether a socket would block.
#[cfg(not(unix))]
fn assert_nonblocking<T>(_: &T) -> io::Result<()> {
    Ok(())
}
