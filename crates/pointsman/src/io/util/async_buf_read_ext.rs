//! The methods of readers with a buffer.
//!
//! Invariant: as of the methods of readers: each step is in a module of its own.

use std::pin::Pin;

use super::lines::Lines;
use super::operation::Operation;
use super::read_until::{self, FillBuf, ReadUntil};
use super::split::Split;
use super::text::{self, ReadLine};
use crate::io::AsyncBufRead;

/// The methods of [`AsyncBufRead`].
///
/// ```
/// use pointsman::io::{self, AsyncBufReadExt};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let mut lines = "hello\nworld".as_bytes().lines();
/// while let Some(line) = lines.next_line().await? {
///     assert_eq!(line.len(), 5);
/// }
/// # Ok(())
/// # }
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Appends what comes up to `byte`, with it, or up to the end to `buf`, and returns how many bytes it
    /// was. Zero is the end.
    ///
    /// Equivalent to `async fn read_until(&mut self, byte: u8, buf: &mut Vec<u8>) -> io::Result<usize>`.
    ///
    /// # Errors
    /// Those of the source, but for interruptions. What was read before is in `buf`.
    ///
    /// # Cancel safety
    /// What was read is in `buf`. Who drops the future can go on with another one, whose count begins anew.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let (mut source, mut key) = (&b"name=value"[..], Vec::new());
    /// assert_eq!(source.read_until(b'=', &mut key).await.unwrap(), 5);
    /// assert_eq!(key, b"name=");
    /// assert_eq!(source, b"value");
    /// # });
    /// ```
    fn read_until<'a>(
        &'a mut self,
        byte: u8,
        buf: &'a mut Vec<u8>,
    ) -> Operation<'a, Self, ReadUntil<'a>>
    where
        Self: Unpin,
    {
        read_until::read_until(self, byte, buf)
    }

    /// Appends the next line to `buf`, with the `\n` at its end, and returns how many bytes it was. Zero is
    /// the end; the last line may have no `\n`.
    ///
    /// Equivalent to `async fn read_line(&mut self, buf: &mut String) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`](std::io::ErrorKind::InvalidData) if it is not UTF-8: `buf` is what it was
    /// then, and the line is lost. Those of the source, but for interruptions: what was read before is in
    /// `buf` if it is UTF-8.
    ///
    /// # Cancel safety
    /// Not cancel safe: who drops the future before it is done finds `buf` empty, and what was read is lost.
    /// [`read_until`](Self::read_until) and [`Lines::next_line`] are.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let (mut source, mut line) = ("hello\nworld".as_bytes(), String::new());
    /// assert_eq!(source.read_line(&mut line).await.unwrap(), 6);
    /// assert_eq!(line, "hello\n");
    /// # });
    /// ```
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> Operation<'a, Self, ReadLine<'a>>
    where
        Self: Unpin,
    {
        text::read_line(self, buf)
    }

    /// The parts between each `byte`, without it.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut fields = std::io::Cursor::new("a,b").split(b',');
    /// assert_eq!(fields.next_segment().await.unwrap().unwrap(), b"a");
    /// assert_eq!(fields.next_segment().await.unwrap().unwrap(), b"b");
    /// assert!(fields.next_segment().await.unwrap().is_none());
    /// # });
    /// ```
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// What is in the buffer, which is filled first if it is empty. Nothing if the source is at its end.
    ///
    /// The same bytes are returned again until [`consume`](Self::consume) takes them out.
    ///
    /// # Errors
    /// Those of the source.
    ///
    /// # Cancel safety
    /// Who drops the future has read nothing.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut source = &b"hello"[..];
    /// let spaces = source.fill_buf().await.unwrap().iter().filter(|byte| **byte == b' ').count();
    /// assert_eq!(spaces, 0);
    /// # });
    /// ```
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Takes `amt` bytes out of the buffer: they were read.
    ///
    /// `amt` must be no more than what [`fill_buf`](Self::fill_buf) returned.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// let mut source = &b"hello"[..];
    /// AsyncBufReadExt::consume(&mut source, 4);
    /// assert_eq!(source, b"o");
    /// ```
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// The lines, without `\n` or `\r\n` at their ends.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = (&b"hello\r\nworld"[..]).lines();
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("hello"));
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("world"));
    /// assert_eq!(lines.next_line().await.unwrap(), None);
    /// # });
    /// ```
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
