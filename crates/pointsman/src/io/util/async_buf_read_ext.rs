//! The extension methods of buffered readers.

use std::pin::Pin;

use super::lines::Lines;
use super::operation::Operation;
use super::read_until::{self, FillBuf, ReadUntil};
use super::split::Split;
use super::text::{self, ReadLine};
use crate::io::AsyncBufRead;

/// Extension methods for [`AsyncBufRead`].
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
    /// Reads until `byte`, which is included, or until the end, and appends the bytes to `buf`. Returns their number,
    /// which is 0 at the end.
    ///
    /// Equivalent to `async fn read_until(&mut self, byte: u8, buf: &mut Vec<u8>) -> io::Result<usize>`.
    ///
    /// # Errors
    /// If the reader fails; interrupted reads are retried. `buf` contains the bytes that were read before.
    ///
    /// # Cancel safety
    /// Cancel safe: `buf` contains the bytes that were read, and another call continues. Its count starts at 0.
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

    /// Reads the next line, including its `\n`, and appends it to `buf`. Returns its length in bytes, which is 0 at the
    /// end. The last line may have no `\n`.
    ///
    /// Equivalent to `async fn read_line(&mut self, buf: &mut String) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`](std::io::ErrorKind::InvalidData) if the line is not UTF-8: `buf` is then unchanged
    /// and the line is lost. If the reader fails; interrupted reads are retried. `buf` contains the bytes that were
    /// read before if they are UTF-8.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, `buf` is empty and the bytes that were read are lost.
    /// [`read_until`](Self::read_until) and [`Lines::next_line`] are cancel safe.
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

    /// Splits the reader at each `byte`. The segments do not include it.
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

    /// Returns the contents of the buffer, and fills it first if it is empty. An empty slice means the end.
    ///
    /// The same bytes are returned until [`consume`](Self::consume) removes them.
    ///
    /// # Errors
    /// If the reader fails.
    ///
    /// # Cancel safety
    /// Cancel safe: no byte is consumed.
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

    /// Marks `amt` bytes of the buffer as read.
    ///
    /// `amt` must not exceed the length of the slice that [`fill_buf`](Self::fill_buf) returned.
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

    /// Splits the reader into lines, without their `\n` or `\r\n`.
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
