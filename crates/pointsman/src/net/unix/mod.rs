//! Types that belong to Unix sockets: addresses, halves of streams and peer credentials; and pipes.

pub(super) mod datagram;
pub(super) mod listener;
pub mod pipe;
pub(super) mod socket;
mod socketaddr;
mod split;
pub(super) mod stream;
mod stream_io;
mod ucred;

pub use socketaddr::SocketAddr;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use ucred::UCred;

/// A user id.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type uid_t = u32;

/// A group id.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type gid_t = u32;

/// A process id.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type pid_t = i32;
