//! The methods of what can be moved within.
//!
//! Invariant: a seek begins when the one before it has ended.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step};
use crate::io::AsyncSeek;

/// The methods of [`AsyncSeek`].
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
    /// Moves to `pos`, and returns the new position, in bytes from the start.
    ///
    /// Equivalent to `async fn seek(&mut self, pos: SeekFrom) -> io::Result<u64>`.
    ///
    /// # Errors
    /// Those of the stream, as for a position before its start.
    ///
    /// # Cancel safety
    /// Who drops the future does not know where the stream is.
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

    /// Moves to the start: a [`seek`](Self::seek) to `SeekFrom::Start(0)`.
    ///
    /// Equivalent to `async fn rewind(&mut self) -> io::Result<u64>`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Cancel safety
    /// As [`seek`](Self::seek).
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

    /// The position, in bytes from the start: a [`seek`](Self::seek) to `SeekFrom::Current(0)`.
    ///
    /// Equivalent to `async fn stream_position(&mut self) -> io::Result<u64>`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Cancel safety
    /// As [`seek`](Self::seek).
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

/// Step of `seek`: where to, until that has begun.
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
