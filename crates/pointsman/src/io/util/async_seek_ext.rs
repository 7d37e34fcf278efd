//! The extension methods of seekable streams.
//!
//! Invariant: a seek starts after the previous one has ended.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step};
use crate::io::AsyncSeek;

/// Extension methods for [`AsyncSeek`].
///
/// ```
/// use pointsman::io::{self, AsyncReadExt, AsyncSeekExt, SeekFrom};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let (mut file, mut end) = (std::io::Cursor::new("hello, world"), String::new());
/// file.seek(SeekFrom::End(-5)).await?;
/// file.read_to_string(&mut end).await?;
/// assert_eq!(end, "world");
/// # Ok(())
/// # }
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Seeks to `pos`. Returns the new position, in bytes from the start.
    ///
    /// Equivalent to `async fn seek(&mut self, pos: SeekFrom) -> io::Result<u64>`.
    ///
    /// # Errors
    /// If the seek fails, for example because the position is before the start.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, the position is unknown.
    ///
    /// ```
    /// # use pointsman::io::{AsyncSeekExt, SeekFrom};
    /// # futures::executor::block_on(async {
    /// let mut file = std::io::Cursor::new("hello");
    /// assert_eq!(file.seek(SeekFrom::End(-2)).await.unwrap(), 3);
    /// # });
    /// ```
    fn seek(&mut self, pos: SeekFrom) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        Operation::new(self, Seek(Some(pos)))
    }

    /// Seeks to the start; the same as a [`seek`](Self::seek) to `SeekFrom::Start(0)`.
    ///
    /// Equivalent to `async fn rewind(&mut self) -> io::Result<u64>`.
    ///
    /// # Errors
    /// As for [`seek`](Self::seek).
    ///
    /// # Cancel safety
    /// As for [`seek`](Self::seek).
    ///
    /// ```
    /// # use pointsman::io::AsyncSeekExt;
    /// # futures::executor::block_on(async {
    /// let mut file = std::io::Cursor::new("hello");
    /// file.set_position(3);
    /// assert_eq!(file.rewind().await.unwrap(), 0);
    /// # });
    /// ```
    fn rewind(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// Returns the position, in bytes from the start; the same as a [`seek`](Self::seek) to `SeekFrom::Current(0)`.
    ///
    /// Equivalent to `async fn stream_position(&mut self) -> io::Result<u64>`.
    ///
    /// # Errors
    /// As for [`seek`](Self::seek).
    ///
    /// # Cancel safety
    /// As for [`seek`](Self::seek).
    ///
    /// ```
    /// # use pointsman::io::AsyncSeekExt;
    /// # futures::executor::block_on(async {
    /// let mut file = std::io::Cursor::new("hello");
    /// file.set_position(3);
    /// assert_eq!(file.stream_position().await.unwrap(), 3);
    /// # });
    /// ```
    fn stream_position(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

/// The step of `seek`; `None` once the seek has started.
#[derive(Debug)]
pub struct Seek(Option<SeekFrom>);

impl<S: AsyncSeek + ?Sized> Step<S> for Seek {
    type Output = u64;

    fn step(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(position) = self.0 {
            ready!(stream.as_mut().poll_complete(cx))?;
            stream.as_mut().start_seek(position)?;
            self.0 = None;
        }
        stream.poll_complete(cx)
    }
}
