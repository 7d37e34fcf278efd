//! The standard streams of the process: [`stdin`], [`stdout`] and [`stderr`].
//!
//! Invariant: the reads or writes of one handle are in order; those of two handles are not ordered. All handles share
//! the buffer that the standard library has for the stream.
//!
//! Cost: that of [`blocking`](super::blocking).

use std::io::{self, IoSlice, Write};
use std::mem;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::blocking::{MAX_BUF_SIZE, Pump, Source};
use super::{AsyncRead, AsyncWrite, ReadBuf};

// SAFETY: the standard library's `Stdin` copies bytes from the system or its own buffer into the given one and returns
// their number.
unsafe impl Source for io::Stdin {}

macro_rules! system_handle {
    ($($stream:ident)*) => {$(
        // A panic in a job stays in its `JoinHandle`, so the pump remains consistent.
        impl UnwindSafe for $stream {}
        impl RefUnwindSafe for $stream {}

        #[cfg(unix)]
        impl AsRawFd for $stream {
            fn as_raw_fd(&self) -> RawFd {
                self.std.as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl AsFd for $stream {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.std.as_fd()
            }
        }

        #[cfg(windows)]
        impl AsRawHandle for $stream {
            fn as_raw_handle(&self) -> RawHandle {
                self.std.as_raw_handle()
            }
        }

        #[cfg(windows)]
        impl AsHandle for $stream {
            fn as_handle(&self) -> BorrowedHandle<'_> {
                self.std.as_handle()
            }
        }
    )*};
}

system_handle!(Stdin Stdout Stderr);

/// The standard input of the process, created by [`stdin`].
///
/// Reads run on the blocking pool. A cancelled read continues, for the next read of this handle, and **the shutdown of
/// the runtime waits for it**. An interactive program should read on a thread of its own.
///
/// Handles do not share reads: bytes that the cancelled read of one handle receives are not available to another.
///
/// ```
/// use std::io::IsTerminal;
/// use std::os::fd::AsFd;
/// use pointsman::io;
///
/// let input = io::stdin();
/// assert_eq!(input.as_fd().is_terminal(), std::io::stdin().is_terminal());
/// ```
#[derive(Debug)]
pub struct Stdin {
    std: io::Stdin,
    pump: Pump,
}

/// Creates a handle to the standard input of the process.
///
/// A read runs one job and returns the available bytes, at most 2 MB; see [`Stdin`] for cancelled reads.
///
/// ```no_run
/// use pointsman::io::{self, AsyncBufReadExt, BufReader};
///
/// # #[pointsman::main] async fn main() -> io::Result<()> {
/// let mut lines = BufReader::new(io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok(()) }
/// ```
pub fn stdin() -> Stdin {
    Stdin {
        std: io::stdin(),
        pump: Pump::new(),
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pump.poll_read(cx, buf, MAX_BUF_SIZE, io::stdin)
    }
}

macro_rules! output {
    ($(#[$about:meta])* $stream:ident, $(#[$about_new:meta])* $new:ident) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $stream {
            std: io::$stream,
            pump: Pump,
            needs_flush: bool,
        }

        $(#[$about_new])*
        pub fn $new() -> $stream {
            $stream {
                std: io::$new(),
                pump: Pump::new(),
                needs_flush: false,
            }
        }

        impl AsyncWrite for $stream {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                let this = self.get_mut();
                let part = [IoSlice::new(whole_characters(buf))];
                let write = |bytes: &[u8], _| io::$new().write_all(bytes);
                let len = ready!(this.pump.poll_write(cx, &part, MAX_BUF_SIZE, write))?;
                this.needs_flush = true;
                Poll::Ready(Ok(len))
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let this = self.get_mut();
                ready!(this.pump.poll_written(cx))?;
                if !mem::take(&mut this.needs_flush) {
                    return Poll::Ready(Ok(()));
                }
                ready!(this.pump.poll_write(cx, &[], 0, |_, _| io::$new().flush()))?;
                this.pump.poll_written(cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_flush(cx)
            }
        }
    };
}

output! {
    /// The standard output of the process, created by [`stdout`].
    ///
    /// A write returns when its bytes are copied, at most 2 MB, and a job on the blocking pool then writes them. The
    /// next write or flush waits for the job and reports its error. **Flush** at the end: the standard library keeps
    /// bytes after the last line break in its buffer until then. Dropping the runtime waits for the job of a write,
    /// even if it is queued.
    ///
    /// The writes of one handle keep their order. Those of two handles may overtake each other, so use one handle.
    ///
    /// On Windows, whose console accepts only complete characters, a write of more than 2 MB does not split a
    /// character.
    ///
    /// ```
    /// use std::{future::poll_fn, pin::Pin};
    /// use pointsman::io::{self, AsyncWrite};
    ///
    /// # #[pointsman::main] async fn main() -> io::Result<()> {
    /// let mut output = io::stdout();
    /// let taken = poll_fn(|cx| Pin::new(&mut output).poll_write(cx, b"hello\n")).await?;
    /// assert_eq!(taken, 6);
    /// poll_fn(|cx| Pin::new(&mut output).poll_flush(cx)).await?;
    /// # Ok(()) }
    /// ```
    Stdout,
    /// Creates a handle to the standard output of the process.
    ///
    /// ```
    /// use pointsman::io::{self, AsyncWriteExt};
    ///
    /// # #[pointsman::main] async fn main() -> io::Result<()> {
    /// let mut output = io::stdout();
    /// output.write_all(b"hello\n").await?;
    /// output.flush().await?;
    /// # Ok(()) }
    /// ```
    stdout
}

output! {
    /// The standard error of the process, created by [`stderr`].
    ///
    /// As [`Stdout`], except that the standard library does not buffer it.
    ///
    /// ```
    /// use std::{future::poll_fn, pin::Pin};
    /// use pointsman::io::{self, AsyncWrite};
    ///
    /// # #[pointsman::main] async fn main() -> io::Result<()> {
    /// let mut errors = io::stderr();
    /// let taken = poll_fn(|cx| Pin::new(&mut errors).poll_write(cx, b"oh\n")).await?;
    /// assert_eq!(taken, 3);
    /// poll_fn(|cx| Pin::new(&mut errors).poll_flush(cx)).await?;
    /// # Ok(()) }
    /// ```
    Stderr,
    /// Creates a handle to the standard error of the process.
    ///
    /// ```
    /// use pointsman::io::{self, AsyncWriteExt};
    ///
    /// # #[pointsman::main] async fn main() -> io::Result<()> {
    /// let mut errors = io::stderr();
    /// errors.write_all(b"oh\n").await?;
    /// errors.flush().await?;
    /// # Ok(()) }
    /// ```
    stderr
}

/// On Windows, cuts `buf` to the size of one job without splitting a character.
fn whole_characters(buf: &[u8]) -> &[u8] {
    match buf.get(..MAX_BUF_SIZE) {
        Some(first) if cfg!(any(windows, test)) => match std::str::from_utf8(first) {
            Err(error) if error.error_len().is_none() => &first[..error.valid_up_to()],
            _ => first,
        },
        _ => buf,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // Too slow.
    fn no_character_is_cut_in_two() {
        let short = "é".repeat(10);
        assert_eq!(whole_characters(short.as_bytes()).len(), 20);
        let long = "x".to_owned() + &"é".repeat(MAX_BUF_SIZE);
        assert_eq!(whole_characters(long.as_bytes()).len(), MAX_BUF_SIZE - 1);
        let no_text = vec![0xff; MAX_BUF_SIZE + 1];
        assert_eq!(whole_characters(&no_text).len(), MAX_BUF_SIZE);
    }
}
