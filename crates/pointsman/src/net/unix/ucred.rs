//! Credentials of a Unix socket's peer.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{gid_t, pid_t, uid_t};

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

/// Reads a socket option that is a plain C structure.
///
/// # Safety
/// The option has type `T`, for which all zeroes are valid.
#[cfg(any(
    target_os = "android",
    target_os = "linux",
    target_os = "openbsd",
    target_vendor = "apple"
))]
unsafe fn option<T>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the caller guarantees that all zeroes are a valid `T`.
    let mut value: T = unsafe { std::mem::zeroed() };
    let buffer = std::ptr::from_mut(&mut value).cast();
    // SAFETY: `value` and `size` are locals that outlive the call, and `size` is the size of `value`, which bounds the
    // write.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, buffer, &mut size) };
    match result == 0 && size as usize == size_of::<T>() {
        true => Ok(value),
        false => Err(io::Error::last_os_error()),
    }
}

#[cfg(any(target_os = "android", target_os = "linux", target_os = "openbsd"))]
pub(super) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<UCred> {
    #[cfg(target_os = "openbsd")]
    use libc::sockpeercred as ucred;
    #[cfg(not(target_os = "openbsd"))]
    use libc::ucred;

    // SAFETY: SO_PEERCRED has type `ucred`, which consists of integers.
    let peer: ucred = unsafe { option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED) }?;
    Ok(UCred {
        pid: Some(peer.pid),
        uid: peer.uid,
        gid: peer.gid,
    })
}

/// Other systems report the user and the group, Apple's also the process.
#[cfg(not(any(target_os = "android", target_os = "linux", target_os = "openbsd")))]
pub(super) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<UCred> {
    #[cfg(target_vendor = "apple")]
    // SAFETY: LOCAL_PEEREPID has type `pid_t`, an integer.
    let pid = Some(unsafe { option(socket, libc::SOL_LOCAL, libc::LOCAL_PEEREPID) }?);
    #[cfg(not(target_vendor = "apple"))]
    let pid = None;
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: `uid` and `gid` are locals that `getpeereid` may write to; `BorrowedFd` keeps the descriptor open.
    match unsafe { libc::getpeereid(socket.as_raw_fd(), &mut uid, &mut gid) } {
        0 => Ok(UCred { pid, uid, gid }),
        _ => Err(io::Error::last_os_error()),
    }
}
