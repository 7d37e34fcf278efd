//! The extension methods of writers.

use std::io::IoSlice;

use bytes::Buf;

use super::operation::Operation;
use super::write::{
    Flush, Shutdown, Write, WriteAll, WriteAllBuf, WriteBuf, WriteNumber, WriteVectored,
};
use crate::io::AsyncWrite;

macro_rules! numbers {
    ($(
        $what:literal, $cancellation:literal:
        $($name:ident: $type:ident, $encode:ident;)*
    )*) => {$($(
        #[doc = concat!("Writes ", $what, ", `", stringify!($type), "`.")]
        ///
        #[doc = concat!("Equivalent to `async fn ", stringify!($name), "(&mut self, n: ", stringify!($type), ") -> io::Result<()>`.")]
        ///
        /// Each call writes to the writer; add a [`BufWriter`](crate::io::BufWriter) if there are many.
        ///
        /// # Errors
        /// As for [`write_all`](Self::write_all).
        ///
        /// # Cancel safety
        #[doc = $cancellation]
        ///
        /// ```
        /// # use pointsman::io::AsyncWriteExt;
        /// # futures::executor::block_on(async {
        /// let mut bytes = Vec::new();
        #[doc = concat!("bytes.", stringify!($name), "(7_", stringify!($type), ").await.unwrap();")]
        #[doc = concat!("assert_eq!(bytes, 7_", stringify!($type), ".", stringify!($encode), "());")]
        /// # });
        /// ```
        fn $name(&mut self, n: $type) -> Operation<'_, Self, WriteNumber<{ size_of::<$type>() }>>
        where
            Self: Unpin,
        {
            Operation::new(self, WriteNumber::new(n.$encode()))
        }
    )*)*};
}

/// Extension methods for [`AsyncWrite`].
///
/// ```
/// use pointsman::io::{self, AsyncWriteExt};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let mut sink = Vec::new();
/// sink.write_all(b"hello").await?;
/// sink.shutdown().await?;
/// assert_eq!(sink, b"hello");
/// # Ok(())
/// # }
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes bytes from the start of `src` with one write. Returns how many were accepted.
    ///
    /// Equivalent to `async fn write(&mut self, src: &[u8]) -> io::Result<usize>`.
    ///
    /// 0 for a buffer that is not empty means that the writer accepts no more bytes.
    ///
    /// # Errors
    /// If the writer fails. No byte was accepted then.
    ///
    /// # Cancel safety
    /// Cancel safe: if the future is dropped, no byte was accepted.
    ///
    /// ```
    /// # use pointsman::io::AsyncWriteExt;
    /// # futures::executor::block_on(async {
    /// let mut bytes = [0; 3];
    /// assert_eq!(std::io::Cursor::new(&mut bytes[..]).write(b"hello").await.unwrap(), 3);
    /// assert_eq!(&bytes, b"hel");
    /// # });
    /// ```
    fn write<'a>(&'a mut self, src: &'a [u8]) -> Operation<'a, Self, Write<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Write(src))
    }

    /// As [`write`](Self::write), from several buffers as if they were one. A writer without support for it accepts
    /// bytes from the first one that is not empty.
    ///
    /// Equivalent to `async fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize>`.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    ///
    /// # Cancel safety
    /// As for [`write`](Self::write).
    ///
    /// ```
    /// # use std::io::IoSlice;
    /// # use pointsman::io::AsyncWriteExt;
    /// # futures::executor::block_on(async {
    /// let mut sink = Vec::new();
    /// let parts = [IoSlice::new(b"hello, "), IoSlice::new(b"world")];
    /// assert_eq!(sink.write_vectored(&parts).await.unwrap(), 12);
    /// # });
    /// ```
    fn write_vectored<'a, 'b>(
        &'a mut self,
        bufs: &'a [IoSlice<'b>],
    ) -> Operation<'a, Self, WriteVectored<'a, 'b>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteVectored(bufs))
    }

    /// As [`write`](Self::write), and advances `src` by the accepted bytes.
    ///
    /// Equivalent to `async fn write_buf<B: Buf>(&mut self, src: &mut B) -> io::Result<usize>`.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    ///
    /// # Cancel safety
    /// As for [`write`](Self::write).
    ///
    /// ```
    /// # use pointsman::io::AsyncWriteExt;
    /// # futures::executor::block_on(async {
    /// let (mut bytes, mut greeting) = ([0; 3], &b"hello"[..]);
    /// std::io::Cursor::new(&mut bytes[..]).write_buf(&mut greeting).await.unwrap();
    /// assert_eq!(greeting, b"lo");
    /// # });
    /// ```
    fn write_buf<'a, B>(&'a mut self, src: &'a mut B) -> Operation<'a, Self, WriteBuf<'a, B>>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        Operation::new(self, WriteBuf(src))
    }

    /// Writes all bytes of `src`, and advances it by the accepted bytes.
    ///
    /// Equivalent to `async fn write_all_buf<B: Buf>(&mut self, src: &mut B) -> io::Result<()>`.
    ///
    /// # Errors
    /// As for [`write_all`](Self::write_all). `src` then starts with the first byte that was not accepted.
    ///
    /// # Cancel safety
    /// Cancel safe: `src` starts with the first byte that was not accepted, and another call continues.
    ///
    /// ```
    /// # use pointsman::io::AsyncWriteExt;
    /// # futures::executor::block_on(async {
    /// let (mut sink, mut greeting) = (Vec::new(), &b"hello"[..]);
    /// sink.write_all_buf(&mut greeting).await.unwrap();
    /// assert_eq!(sink, b"hello");
    /// assert!(greeting.is_empty());
    /// # });
    /// ```
    fn write_all_buf<'a, B>(
        &'a mut self,
        src: &'a mut B,
    ) -> Operation<'a, Self, WriteAllBuf<'a, B>>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        Operation::new(self, WriteAllBuf(src))
    }

    /// Writes all bytes of `src`. Some may remain in a buffer until [`flush`](Self::flush).
    ///
    /// Equivalent to `async fn write_all(&mut self, src: &[u8]) -> io::Result<()>`.
    ///
    /// # Errors
    /// [`ErrorKind::WriteZero`](std::io::ErrorKind::WriteZero) if the writer accepts no more bytes, or if the writer
    /// fails; interrupted writes are retried. The number of accepted bytes is then unknown.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, the number of accepted bytes is unknown.
    /// [`write_all_buf`](Self::write_all_buf) keeps it.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, ErrorKind};
    /// # futures::executor::block_on(async {
    /// let mut bytes = [0; 5];
    /// let mut sink = std::io::Cursor::new(&mut bytes[..]);
    /// sink.write_all(b"hello").await.unwrap();
    /// let error = sink.write_all(b"!").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::WriteZero);
    /// # });
    /// ```
    fn write_all<'a>(&'a mut self, src: &'a [u8]) -> Operation<'a, Self, WriteAll<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteAll(src))
    }

    numbers! {
        "a number of one byte", "Cancel safe: if the future is dropped, nothing was written.":
        write_u8: u8, to_be_bytes;
        write_i8: i8, to_be_bytes;

        "a number with its most significant byte first",
        "Not cancel safe: if the future is dropped, the number of accepted bytes is unknown.":
        write_u16: u16, to_be_bytes;
        write_i16: i16, to_be_bytes;
        write_u32: u32, to_be_bytes;
        write_i32: i32, to_be_bytes;
        write_u64: u64, to_be_bytes;
        write_i64: i64, to_be_bytes;
        write_u128: u128, to_be_bytes;
        write_i128: i128, to_be_bytes;
        write_f32: f32, to_be_bytes;
        write_f64: f64, to_be_bytes;

        "a number with its least significant byte first",
        "Not cancel safe: if the future is dropped, the number of accepted bytes is unknown.":
        write_u16_le: u16, to_le_bytes;
        write_i16_le: i16, to_le_bytes;
        write_u32_le: u32, to_le_bytes;
        write_i32_le: i32, to_le_bytes;
        write_u64_le: u64, to_le_bytes;
        write_i64_le: i64, to_le_bytes;
        write_u128_le: u128, to_le_bytes;
        write_i128_le: i128, to_le_bytes;
        write_f32_le: f32, to_le_bytes;
        write_f64_le: f64, to_le_bytes;
    }

    /// Flushes all buffered bytes to their destination.
    ///
    /// Equivalent to `async fn flush(&mut self) -> io::Result<()>`.
    ///
    /// # Errors
    /// If the writer fails.
    ///
    /// # Cancel safety
    /// Cancel safe: bytes that were not written stay in the buffer, and another call continues.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, BufWriter};
    /// # futures::executor::block_on(async {
    /// let mut sink = BufWriter::new(Vec::new());
    /// sink.write_all(b"hello").await.unwrap();
    /// assert!(sink.get_ref().is_empty());
    /// sink.flush().await.unwrap();
    /// assert_eq!(sink.get_ref(), b"hello");
    /// # });
    /// ```
    fn flush(&mut self) -> Operation<'_, Self, Flush>
    where
        Self: Unpin,
    {
        Operation::new(self, Flush)
    }

    /// Shuts down the writer: flushes it and signals the end to the other side, if there is one.
    ///
    /// Equivalent to `async fn shutdown(&mut self) -> io::Result<()>`.
    ///
    /// No bytes should be written afterwards.
    ///
    /// # Errors
    /// If the writer fails.
    ///
    /// # Cancel safety
    /// Cancel safe: another call continues.
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, AsyncWriteExt, duplex};
    /// # futures::executor::block_on(async {
    /// let (mut client, mut server) = duplex(64);
    /// client.write_all(b"hello").await.unwrap();
    /// client.shutdown().await.unwrap();
    ///
    /// let mut text = String::new();
    /// server.read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello");
    /// # });
    /// ```
    fn shutdown(&mut self) -> Operation<'_, Self, Shutdown>
    where
        Self: Unpin,
    {
        Operation::new(self, Shutdown)
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
