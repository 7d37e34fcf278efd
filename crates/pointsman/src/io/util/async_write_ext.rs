//! The methods of writers.
//!
//! Invariant: as of the methods of readers: each step is in a module of its own.

use std::io::IoSlice;

use bytes::Buf;

use super::operation::Operation;
use super::write::{
    Flush, Shutdown, Write, WriteAll, WriteAllBuf, WriteBuf, WriteNumber, WriteVectored,
};
use crate::io::AsyncWrite;

/// The methods that write one number each.
macro_rules! numbers {
    ($(
        $what:literal, $cancellation:literal:
        $($name:ident: $type:ident, $encode:ident;)*
    )*) => {$($(
        #[doc = concat!("Writes ", $what, ", `", stringify!($type), "`.")]
        ///
        #[doc = concat!("Equivalent to `async fn ", stringify!($name), "(&mut self, n: ", stringify!($type), ") -> io::Result<()>`.")]
        ///
        /// Each such write is a call of the sink, best of a [`BufWriter`](crate::io::BufWriter) then.
        ///
        /// # Errors
        /// As [`write_all`](Self::write_all).
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

/// The methods of [`AsyncWrite`].
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
    /// Writes once, and returns how many bytes of `src` were taken.
    ///
    /// Equivalent to `async fn write(&mut self, src: &[u8]) -> io::Result<usize>`.
    ///
    /// Zero of a buffer that is not empty means that no more can be taken.
    ///
    /// # Errors
    /// Those of the sink. Nothing was taken then.
    ///
    /// # Cancel safety
    /// Who drops the future has written nothing.
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

    /// As [`write`](Self::write), from many buffers as if they were one. A sink that cannot do that takes
    /// from the first that is not empty.
    ///
    /// Equivalent to `async fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize>`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// As [`write`](Self::write).
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

    /// As [`write`](Self::write), from `src`, which goes on by what was taken.
    ///
    /// Equivalent to `async fn write_buf<B: Buf>(&mut self, src: &mut B) -> io::Result<usize>`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// As [`write`](Self::write).
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

    /// Writes until nothing remains in `src`, which goes on by what was taken.
    ///
    /// Equivalent to `async fn write_all_buf<B: Buf>(&mut self, src: &mut B) -> io::Result<()>`.
    ///
    /// # Errors
    /// As [`write_all`](Self::write_all). `src` begins with what was not taken then.
    ///
    /// # Cancel safety
    /// `src` begins with what was not taken. Who drops the future can go on with another one.
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

    /// Writes all of `src`. Some of it may still be in a buffer then; [`flush`](Self::flush) sees to that.
    ///
    /// Equivalent to `async fn write_all(&mut self, src: &[u8]) -> io::Result<()>`.
    ///
    /// # Errors
    /// [`ErrorKind::WriteZero`](std::io::ErrorKind::WriteZero) if the sink takes no more, and those of the
    /// sink, but for interruptions. How much was taken is not known then.
    ///
    /// # Cancel safety
    /// Not cancel safe: who drops the future does not know how much was taken.
    /// [`write_all_buf`](Self::write_all_buf) says so.
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
        "a number of one byte", "Who drops the future has written nothing.":
        write_u8: u8, to_be_bytes;
        write_i8: i8, to_be_bytes;

        "a number with its most significant byte first",
        "Not cancel safe: who drops the future does not know how much of the number was taken.":
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
        "Not cancel safe: who drops the future does not know how much of the number was taken.":
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

    /// Waits until what was written has left every buffer on its way.
    ///
    /// Equivalent to `async fn flush(&mut self) -> io::Result<()>`.
    ///
    /// # Errors
    /// Those of the sink, if not all could be written.
    ///
    /// # Cancel safety
    /// Who drops the future can go on with another one: what has not left its buffer stays there.
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

    /// Ends the stream: flushes it, and tells the other side, where there is one, that nothing follows.
    ///
    /// Equivalent to `async fn shutdown(&mut self) -> io::Result<()>`.
    ///
    /// Nothing should be written any more.
    ///
    /// # Errors
    /// Those of the sink.
    ///
    /// # Cancel safety
    /// Who drops the future can go on with another one.
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
