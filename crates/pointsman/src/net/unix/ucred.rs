//! Credentials of a Unix socket's peer.

use std::io;
use std::os::fd::BorrowedFd;

use super::{gid_t, pid_t, uid_t};
use crate::peer::{self, Peer};

/// The user, group and process of a Unix socket's peer.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, _other) = UnixStream::pair()?;
///     let peer = one.peer_cred()?;
///     println!("user {} of group {}", peer.uid(), peer.gid());
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UCred {
    pid: Option<pid_t>,
    uid: uid_t,
    gid: gid_t,
}

impl UCred {
    /// Returns the user id of the peer.
    ///
    /// ```no_run
    /// # async fn example(stream: pointsman::net::UnixStream) -> std::io::Result<()> {
    /// assert_eq!(stream.peer_cred()?.uid(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// Returns the group id of the peer.
    ///
    /// ```no_run
    /// # async fn example(stream: pointsman::net::UnixStream) -> std::io::Result<()> {
    /// assert_eq!(stream.peer_cred()?.gid(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// Returns the process id of the peer, on Linux, macOS and OpenBSD.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     if let Some(pid) = one.peer_cred()?.pid() {
    ///         assert_eq!(pid, std::process::id() as i32);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }
}

pub(super) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<UCred> {
    peer::peer_of(socket).map(|Peer { pid, uid, gid }| UCred { pid, uid, gid })
}
