//! Reads of what the system has in memory, without a job.
//!
//! Linux can be asked for the bytes that it can give at once, from the page cache, and says so if there are
//! none. That is how most reads end, and costs a copy: a job costs two and wakes two threads.
//!
//! Invariant: nothing is concluded from a read that brings nothing. A job does it again, which waits if it
//! must, and tells the end and the errors. It is not asked while bytes of an earlier read are there, nor for a
//! file that has a [clone](super::File::try_clone): while the job of one reads or writes, it has the position
//! that they share, and Linux lets all others wait for that.
//!
//! Cost: a system call and its copy.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::task::{Context, Poll, ready};

use crate::io::ReadBuf;
use crate::task::coop;

/// So many bytes count as one operation of those that a task may do in its turn: a copy of many is long.
const TURN: usize = 64 * 1024;

/// Whether the system can be asked like this. It cannot for some file systems, nor in some sandboxes.
#[derive(Debug)]
pub(super) struct CachedReads {
    are_supported: bool,
}

impl CachedReads {
    /// A file that was opened without the page cache (`O_DIRECT`) waits for the disk whatever it is asked.
    pub(super) fn of(file: &File) -> Self {
        // SAFETY: it takes no pointers.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        Self {
            are_supported: flags & libc::O_DIRECT == 0,
        }
    }

    /// Lets every read take a job.
    #[cfg(all(test, not(loom)))]
    pub(super) fn give_up(&mut self) {
        self.are_supported = false;
    }

    /// Reads at most `max` bytes at the file's position. Whether there were any; if not, a job has to.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        file: &File,
        dst: &mut ReadBuf<'_>,
        max: usize,
    ) -> Poll<bool> {
        if !self.are_supported {
            return Poll::Ready(false);
        }
        let proceed = ready!(coop::poll_proceed(cx));
        let Some(len) = self.read(file, dst, max) else {
            return Poll::Ready(false);
        };
        proceed.made_progress();
        for _ in 0..len / TURN {
            match coop::poll_proceed(cx) {
                Poll::Ready(proceed) => proceed.made_progress(),
                Poll::Pending => break,
            }
        }
        Poll::Ready(true)
    }

    fn read(&mut self, file: &File, dst: &mut ReadBuf<'_>, max: usize) -> Option<usize> {
        // SAFETY: the system only writes there.
        let room = unsafe { dst.unfilled_mut() };
        let part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len().min(max),
        };
        // At the file's position, which the system takes from -1 and moves on.
        let (low, high): (libc::c_long, libc::c_long) = (-1, -1);
        // SAFETY: `part` is memory that is lent for this call. By its number, as some C libraries lack it.
        let len = unsafe {
            libc::syscall(
                libc::SYS_preadv2,
                file.as_raw_fd(),
                &raw const part,
                1 as libc::c_long,
                low,
                high,
                libc::RWF_NOWAIT,
            )
        };
        if len < 0 {
            let error = io::Error::last_os_error().raw_os_error();
            self.are_supported &=
                !matches!(error, Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM));
        }
        // 0 is not always the end: Linux 5.9 and 5.10 also return it where they should return EAGAIN.
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        // SAFETY: the system has written so many.
        unsafe { dst.assume_init(len) };
        dst.advance(len);
        Some(len)
    }
}
