//! Types that belong to [`TcpStream`](super::TcpStream): its halves.

pub(super) mod listener;
mod options;
pub(super) mod socket;
mod socket_options;
mod split;
pub(super) mod stream;
mod stream_io;

pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
