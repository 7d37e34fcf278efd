//! Reads from the page cache, without a job.
//!
//! Linux can be asked for the bytes that it can return without waiting for the disk, and reports if there are none.
//! Most reads end this way, which costs one copy; a job costs two copies and wakes two threads.
//!
//! Invariant: a read that returns no bytes decides nothing; a job repeats it, waits if it must, and reports the end of
//! the file and errors. The cache is not asked while bytes of an earlier read are buffered, nor for a
//! [cloned](super::File::try_clone) file: the clones share one position, which the job of one holds while it reads or
//! writes, and Linux makes the others wait for it.
//!
//! Cost: one system call and its copy.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::task::{Context, Poll, ready};

use crate::io::ReadBuf;
use crate::task::coop;

/// Bounds what a task copies in one turn: each full 64 KiB uses one unit of its budget, as one operation does.
const BYTES_PER_OPERATION: usize = 64 * 1024;

/// Whether the file supports such reads. Some file systems and sandboxes do not.
#[derive(Debug)]
pub(super) struct CachedReads {
    is_supported: bool,
}

impl CachedReads {
    /// A file opened without the page cache (`O_DIRECT`) waits for the disk in any case.
    pub(super) fn of(file: &File) -> Self {
        // SAFETY: `file` keeps the descriptor open; F_GETFL takes no pointer.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        Self {
            is_supported: flags & libc::O_DIRECT == 0,
        }
    }

    /// Makes every read take a job.
    #[cfg(all(test, not(loom)))]
    pub(super) fn disable(&mut self) {
        self.is_supported = false;
    }

    /// Reads at most `max` bytes at the file's position. Returns false if there were none: a job must read.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        file: &File,
        dst: &mut ReadBuf<'_>,
        max: usize,
    ) -> Poll<bool> {
        if !self.is_supported {
            return Poll::Ready(false);
        }
        let proceed = ready!(coop::poll_proceed(cx));
        let Some(len) = self.read(file, dst, max) else {
            return Poll::Ready(false);
        };
        proceed.made_progress();
        for _ in 0..len / BYTES_PER_OPERATION {
            match coop::poll_proceed(cx) {
                Poll::Ready(proceed) => proceed.made_progress(),
                Poll::Pending => break,
            }
        }
        Poll::Ready(true)
    }

    fn read(&mut self, file: &File, dst: &mut ReadBuf<'_>, max: usize) -> Option<usize> {
        // SAFETY: the system call below only writes initialized bytes to the slice.
        let room = unsafe { dst.unfilled_mut() };
        let part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len().min(max),
        };
        // An offset of -1 means the file's position, which the call advances.
        let (low, high): (libc::c_long, libc::c_long) = (-1, -1);
        // SAFETY: `part` points to the unfilled part of `dst`, which is borrowed for the call and at least `iov_len`
        // long; `file` keeps the descriptor open. Called by number, as some C libraries lack the function.
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
            self.is_supported &=
                !matches!(error, Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM));
        }
        // 0 is not always the end: Linux 5.9 and 5.10 also return it where they should return EAGAIN.
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        // SAFETY: the system call has written the first `len` bytes.
        unsafe { dst.assume_init(len) };
        dst.advance(len);
        Some(len)
    }
}
