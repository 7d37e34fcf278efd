//! Checks of a pipe's descriptor, and its flags.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(super) fn check_pipe(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: `stat` consists of integers, for which all zeroes are valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `BorrowedFd` keeps the descriptor open, and `stat` is a local that `fstat` may write to.
    if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } == -1 {
        return Err(io::Error::last_os_error());
    }
    match stat.st_mode & libc::S_IFMT == libc::S_IFIFO {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe")),
    }
}

pub(super) fn descriptor_flags(fd: BorrowedFd<'_>) -> io::Result<libc::c_int> {
    // SAFETY: `BorrowedFd` keeps the descriptor open; F_GETFL takes no pointer.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}

pub(super) fn set_descriptor_flags(
    fd: BorrowedFd<'_>,
    before: libc::c_int,
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `BorrowedFd` keeps the descriptor open; F_SETFL takes an integer.
    match flags == before || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) } == 0 {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}
