//! What belongs to Unix sockets: their addresses, the halves of streams, who the peer is; and pipes.

pub(super) mod datagram;
pub(super) mod listener;
pub mod pipe;
pub(super) mod socket;
mod socketaddr;
mod split;
pub(super) mod stream;
mod ucred;

pub use socketaddr::SocketAddr;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use ucred::UCred;

/// A user's number.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type uid_t = u32;

/// A group's number.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type gid_t = u32;

/// A process's number.
#[expect(non_camel_case_types, reason = "the name that it has in C")]
pub type pid_t = i32;
