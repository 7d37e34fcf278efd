//! Asynchronous I/O: the traits, extension methods and buffers, and the standard streams.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`] correspond to the traits of the standard library,
//! but let the thread run other tasks instead of blocking it. They are always available. The extension methods such as
//! `AsyncReadExt::read`, buffers, copies and in-memory pipes need the feature `io-util`.
#![cfg_attr(
    feature = "io-util",
    doc = "
```
use pointsman::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

# #[pointsman::main(flavor = \"current_thread\")] async fn main() -> pointsman::io::Result<()> {
let (mut client, server) = pointsman::io::duplex(64);
client.write_all(b\"hello\\nworld\\n\").await?;

let mut lines = BufReader::new(server).lines();
assert_eq!(lines.next_line().await?.as_deref(), Some(\"hello\"));
# Ok(())
# }
```
"
)]

mod async_buf_read;
#[cfg(all(unix, feature = "net"))]
mod async_fd;
mod async_read;
mod async_seek;
mod async_write;
#[cfg(any(feature = "fs", feature = "io-std", all(windows, feature = "process")))]
#[cfg_attr(not(feature = "fs"), allow(dead_code))] // Only files seek.
pub(crate) mod blocking;
#[cfg(feature = "io-util")]
mod join;
#[cfg(feature = "reactor")]
mod poll_evented;
mod read_buf;
#[cfg(feature = "reactor")]
mod registration;
#[cfg(feature = "io-util")]
mod split;
#[cfg(feature = "io-std")]
mod stdio;
pub(crate) mod util;

#[cfg(feature = "reactor")]
#[cfg_attr(
    docsrs,
    doc(cfg(any(feature = "net", feature = "process", feature = "signal")))
)]
pub use crate::runtime::driver::{Interest, Ready};
pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
#[cfg(feature = "io-util")]
pub use join::{Join, join};
#[cfg(feature = "reactor")]
pub(crate) use poll_evented::PollEvented;
pub use read_buf::ReadBuf;
#[cfg(feature = "reactor")]
pub(crate) use registration::Registration;
#[cfg(feature = "io-util")]
pub use split::{ReadHalf, WriteHalf, split};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
#[cfg(feature = "io-std")]
pub use stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
#[cfg(feature = "io-util")]
pub use util::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufStream, BufWriter,
    Chain, DuplexStream, Empty, Lines, Repeat, SimplexStream, Sink, Split, Take, copy,
    copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty, repeat, simplex,
    sink,
};

/// Unix only: any descriptor whose readiness the system reports.
#[cfg(all(unix, feature = "net"))]
pub mod unix {
    #[doc(hidden)]
    #[expect(deprecated, reason = "the former name")]
    pub use super::async_fd::AsyncFdTryNewError;
    pub use super::async_fd::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
    };
}
