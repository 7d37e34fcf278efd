//! `AsyncRead`, `AsyncWrite` and `AsyncSeek` of files.

use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::{File, rewind};
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::task::coop;

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let (std, max) = (&this.std, this.max_buf_size);
        let pump = this.pump.get_mut();
        #[cfg(target_os = "linux")]
        if !*this.is_cloned.get_mut()
            && pump.idle().is_some_and(|buffer| buffer.unread() == 0)
            && ready!(this.cached.poll_read(cx, std, buf, max))
        {
            return Poll::Ready(Ok(()));
        }
        pump.poll_read(cx, buf, max, || Arc::clone(std))
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let std = Arc::clone(&this.std);
        let write = move |bytes: &[u8], unread| {
            rewind(&std, unread)?;
            (&*std).write_all(bytes)
        };
        let pump = this.pump.get_mut();
        pump.poll_write(cx, bufs, this.max_buf_size, write)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Waits until all writes have reached the operating system, not necessarily the disk.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().pump.get_mut().poll_written(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let this = self.get_mut();
        let pump = this.pump.get_mut();
        let std = Arc::clone(&this.std);
        let seek = move |unread| {
            rewind(&std, unread)?;
            (&*std).seek(position)
        };
        match position {
            // A network file system may have to ask its server for the end of the file.
            SeekFrom::End(_) => pump.start_seek(seek),
            SeekFrom::Start(_) | SeekFrom::Current(_) if *this.is_cloned.get_mut() => {
                pump.start_seek(seek)
            }
            SeekFrom::Start(_) | SeekFrom::Current(_) => pump.seek_now(seek),
        }
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let result = ready!(self.get_mut().pump.get_mut().poll_sought(cx));
        proceed.made_progress();
        Poll::Ready(result)
    }
}
