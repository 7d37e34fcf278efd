//! What belongs to [`TcpStream`](super::TcpStream): its halves.

pub(super) mod listener;
mod options;
pub(super) mod socket;
mod split;
pub(super) mod stream;

pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
