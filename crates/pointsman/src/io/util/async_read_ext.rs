//! The extension methods of readers.

use bytes::BufMut;

use super::chain::Chain;
use super::operation::Operation;
use super::read::{Read, ReadExact, ReadInto, ReadNumber};
use super::read_to_end::{self, ReadToEnd};
use super::take::Take;
use super::text::{self, ReadToString};
use crate::io::{AsyncRead, ReadBuf};

macro_rules! numbers {
    ($(
        $what:literal, $cancellation:literal:
        $($name:ident: $type:ident, $decode:ident, $encode:ident;)*
    )*) => {$($(
        #[doc = concat!("Reads ", $what, ", `", stringify!($type), "`.")]
        ///
        #[doc = concat!("Equivalent to `async fn ", stringify!($name), "(&mut self) -> io::Result<", stringify!($type), ">`.")]
        ///
        /// Each call reads from the reader; add a [`BufReader`](crate::io::BufReader) if there are many.
        ///
        /// # Errors
        /// [`ErrorKind::UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before, or if the reader
        /// fails; interrupted reads are retried. The bytes that were read are then lost.
        ///
        /// # Cancel safety
        #[doc = $cancellation]
        ///
        /// ```
        /// # use pointsman::io::AsyncReadExt;
        /// # futures::executor::block_on(async {
        #[doc = concat!("let bytes = 7_", stringify!($type), ".", stringify!($encode), "();")]
        #[doc = concat!("let number = (&bytes[..]).", stringify!($name), "().await.unwrap();")]
        #[doc = concat!("assert_eq!(number, 7_", stringify!($type), ");")]
        /// # });
        /// ```
        fn $name(&mut self) -> Operation<'_, Self, ReadNumber<$type, { size_of::<$type>() }>>
        where
            Self: Unpin,
        {
            Operation::new(self, ReadNumber::new($type::$decode))
        }
    )*)*};
}

/// Extension methods for [`AsyncRead`].
///
/// ```
/// use pointsman::io::{self, AsyncReadExt};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let mut source = &b"hello, world"[..];
/// let mut greeting = [0; 5];
/// source.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # Ok(())
/// # }
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// Creates a reader that reads `self` until its end and then `next`.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let mut text = String::new();
    /// b"hello, ".chain(&b"world"[..]).read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello, world");
    /// # });
    /// ```
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Reads bytes into `buf` with one read. Returns their number.
    ///
    /// Equivalent to `async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize>`.
    ///
    /// 0 means the end, unless `buf` is empty.
    ///
    /// # Errors
    /// If the reader fails. No byte was read then.
    ///
    /// # Cancel safety
    /// Cancel safe: if the future is dropped, no byte was read.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let (mut source, mut bytes) = (&b"hello"[..], [0; 8]);
    /// let read = source.read(&mut bytes).await.unwrap();
    /// assert_eq!(&bytes[..read], b"hello");
    /// assert_eq!(source.read(&mut bytes).await.unwrap(), 0);
    /// # });
    /// ```
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, Read<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Read(buf))
    }

    /// Reads bytes with one read, appends them to `buf` and advances it. Returns their number.
    ///
    /// Equivalent to `async fn read_buf<B: BufMut>(&mut self, buf: &mut B) -> io::Result<usize>`.
    ///
    /// A `Vec` or a `BytesMut` grows if it is full.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    ///
    /// # Cancel safety
    /// As for [`read`](Self::read).
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let (mut source, mut bytes) = (&b"lo"[..], b"hel".to_vec());
    /// assert_eq!(source.read_buf(&mut bytes).await.unwrap(), 2);
    /// assert_eq!(bytes, b"hello");
    /// # });
    /// ```
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, ReadInto<'a, B>>
    where
        Self: Unpin,
        B: BufMut + ?Sized,
    {
        Operation::new(self, ReadInto(buf))
    }

    /// Reads exactly enough bytes to fill `buf`. Returns its length.
    ///
    /// Equivalent to `async fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before, or if the reader
    /// fails; interrupted reads are retried. The contents of `buf` are then unspecified.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, the number of bytes read is unknown.
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, ErrorKind};
    /// # futures::executor::block_on(async {
    /// let (mut source, mut bytes) = (&b"hello"[..], [0; 3]);
    /// source.read_exact(&mut bytes).await.unwrap();
    /// assert_eq!(&bytes, b"hel");
    /// let error = source.read_exact(&mut bytes).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    /// # });
    /// ```
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, ReadExact<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadExact(ReadBuf::new(buf)))
    }

    numbers! {
        "a number of one byte", "Cancel safe: if the future is dropped, nothing was read.":
        read_u8: u8, from_be_bytes, to_be_bytes;
        read_i8: i8, from_be_bytes, to_be_bytes;

        "a number with its most significant byte first",
        "Not cancel safe: if the future is dropped, the bytes that it has read are lost.":
        read_u16: u16, from_be_bytes, to_be_bytes;
        read_i16: i16, from_be_bytes, to_be_bytes;
        read_u32: u32, from_be_bytes, to_be_bytes;
        read_i32: i32, from_be_bytes, to_be_bytes;
        read_u64: u64, from_be_bytes, to_be_bytes;
        read_i64: i64, from_be_bytes, to_be_bytes;
        read_u128: u128, from_be_bytes, to_be_bytes;
        read_i128: i128, from_be_bytes, to_be_bytes;
        read_f32: f32, from_be_bytes, to_be_bytes;
        read_f64: f64, from_be_bytes, to_be_bytes;

        "a number with its least significant byte first",
        "Not cancel safe: if the future is dropped, the bytes that it has read are lost.":
        read_u16_le: u16, from_le_bytes, to_le_bytes;
        read_i16_le: i16, from_le_bytes, to_le_bytes;
        read_u32_le: u32, from_le_bytes, to_le_bytes;
        read_i32_le: i32, from_le_bytes, to_le_bytes;
        read_u64_le: u64, from_le_bytes, to_le_bytes;
        read_i64_le: i64, from_le_bytes, to_le_bytes;
        read_u128_le: u128, from_le_bytes, to_le_bytes;
        read_i128_le: i128, from_le_bytes, to_le_bytes;
        read_f32_le: f32, from_le_bytes, to_le_bytes;
        read_f64_le: f64, from_le_bytes, to_le_bytes;
    }

    /// Reads all bytes until the end and appends them to `buf`. Returns their number.
    ///
    /// Equivalent to `async fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize>`.
    ///
    /// A `Vec` with enough capacity does not grow.
    ///
    /// # Errors
    /// If the reader fails; interrupted reads are retried. `buf` contains the bytes that were read before.
    ///
    /// # Cancel safety
    /// Cancel safe: `buf` contains the bytes that were read, and another call continues. Its count starts at 0.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let (mut source, mut bytes) = (&b"lo, world"[..], b"hel".to_vec());
    /// assert_eq!(source.read_to_end(&mut bytes).await.unwrap(), 9);
    /// assert_eq!(bytes, b"hello, world");
    /// # });
    /// ```
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> Operation<'a, Self, ReadToEnd<'a>>
    where
        Self: Unpin,
    {
        read_to_end::read_to_end(self, buf)
    }

    /// Reads all bytes until the end and appends them to `dst` as UTF-8. Returns their number.
    ///
    /// Equivalent to `async fn read_to_string(&mut self, dst: &mut String) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`](std::io::ErrorKind::InvalidData) if the bytes are not UTF-8, or if the reader fails;
    /// interrupted reads are retried. `dst` is then unchanged.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, `dst` is empty and the bytes that were read are lost.
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, ErrorKind};
    /// # futures::executor::block_on(async {
    /// let mut text = String::from("hel");
    /// (&b"lo"[..]).read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello");
    ///
    /// let error = (&b"\xff"[..]).read_to_string(&mut text).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidData);
    /// assert_eq!(text, "hello");
    /// # });
    /// ```
    fn read_to_string<'a>(
        &'a mut self,
        dst: &'a mut String,
    ) -> Operation<'a, Self, ReadToString<'a>>
    where
        Self: Unpin,
    {
        text::read_to_string(self, dst)
    }

    /// Creates a reader that reads at most `limit` bytes and then ends.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let mut text = String::new();
    /// b"hello, world".take(5).read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello");
    /// # });
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
