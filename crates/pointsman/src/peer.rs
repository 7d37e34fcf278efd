//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(crate) struct Peer {
    pub(crate) pid: Option<libc::pid_t>,
    pub(crate) uid: libc::uid_t,
    pub(crate) gid: libc::gid_t,
}

/// Returns the effective user id of this process.
#[cfg(feature = "diagnostics")]
pub(crate) fn effective_user() -> libc::uid_t {
    // SAFETY: `geteuid` has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
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
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    #[cfg(target_os = "openbsd")]
    use libc::sockpeercred as ucred;
    #[cfg(not(target_os = "openbsd"))]
    use libc::ucred;

    // SAFETY: SO_PEERCRED has type `ucred`, which consists of integers.
    let peer: ucred = unsafe { option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED) }?;
    Ok(Peer {
        pid: Some(peer.pid),
        uid: peer.uid,
        gid: peer.gid,
    })
}

/// Other systems report the user and the group, Apple's also the process.
#[cfg(not(any(target_os = "android", target_os = "linux", target_os = "openbsd")))]
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    #[cfg(target_vendor = "apple")]
    // SAFETY: LOCAL_PEEREPID has type `pid_t`, an integer.
    let pid = Some(unsafe { option(socket, libc::SOL_LOCAL, libc::LOCAL_PEEREPID) }?);
    #[cfg(not(target_vendor = "apple"))]
    let pid = None;
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: `uid` and `gid` are locals that `getpeereid` may write to; `BorrowedFd` keeps the descriptor open.
    match unsafe { libc::getpeereid(socket.as_raw_fd(), &mut uid, &mut gid) } {
        0 => Ok(Peer { pid, uid, gid }),
        _ => Err(io::Error::last_os_error()),
    }
}
