//! The methods of readers.
//!
//! Invariant: a method only names what is done: each step is in a module of its own.

use bytes::BufMut;

use super::chain::Chain;
use super::operation::Operation;
use super::read::{Read, ReadExact, ReadInto, ReadNumber};
use super::read_to_end::{self, ReadToEnd};
use super::take::Take;
use super::text::{self, ReadToString};
use crate::io::{AsyncRead, ReadBuf};

/// The methods that read one number each.
macro_rules! numbers {
    ($(
        $what:literal, $cancellation:literal:
        $($name:ident: $type:ident, $decode:ident, $encode:ident;)*
    )*) => {$($(
        #[doc = concat!("Reads ", $what, ", `", stringify!($type), "`.")]
        ///
        #[doc = concat!("Equivalent to `async fn ", stringify!($name), "(&mut self) -> io::Result<", stringify!($type), ">`.")]
        ///
        /// Each such read is a call of the source, best of a [`BufReader`](crate::io::BufReader) then.
        ///
        /// # Errors
        /// [`ErrorKind::UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the source ends before, and
        /// those of the source, but for interruptions.
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

/// The methods of [`AsyncRead`].
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
    /// Reads this, and when it is at its end, `next`.
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

    /// Reads once, as much as there is and fits, and returns how many bytes it was.
    ///
    /// Equivalent to `async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize>`.
    ///
    /// Zero is the end of the source, unless `buf` is empty.
    ///
    /// # Errors
    /// Those of the source. Nothing was read then.
    ///
    /// # Cancel safety
    /// Who drops the future has read nothing.
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

    /// As [`read`](Self::read), behind what is in `buf`, which remembers where that ends.
    ///
    /// Equivalent to `async fn read_buf<B: BufMut>(&mut self, buf: &mut B) -> io::Result<usize>`.
    ///
    /// A vector, or a `BytesMut`, makes room by itself if it has none.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
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

    /// Reads until `buf` is full, and returns its length.
    ///
    /// Equivalent to `async fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the source ends before, and those
    /// of the source, but for interruptions. How much was read is not known then.
    ///
    /// # Cancel safety
    /// Not cancel safe: who drops the future does not know how much was read.
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
        "a number of one byte", "Who drops the future has read nothing.":
        read_u8: u8, from_be_bytes, to_be_bytes;
        read_i8: i8, from_be_bytes, to_be_bytes;

        "a number with its most significant byte first",
        "Not cancel safe: what was read of the number is lost with the future.":
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
        "Not cancel safe: what was read of the number is lost with the future.":
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

    /// Appends all that the source has to `buf`, and returns how many bytes it was.
    ///
    /// Equivalent to `async fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize>`.
    ///
    /// A vector with room for all of it does not grow.
    ///
    /// # Errors
    /// Those of the source, but for interruptions. What was read before is in `buf`.
    ///
    /// # Cancel safety
    /// What was read is in `buf`. Who drops the future can go on with another one, whose count begins anew.
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

    /// Appends all that the source has to `dst`, and returns how many bytes it was.
    ///
    /// Equivalent to `async fn read_to_string(&mut self, dst: &mut String) -> io::Result<usize>`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`](std::io::ErrorKind::InvalidData) if it is not UTF-8, and those of the
    /// source, but for interruptions. `dst` is what it was then.
    ///
    /// # Cancel safety
    /// Not cancel safe: who drops the future before it is done finds `dst` empty, and what was read is lost.
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

    /// Reads the first `limit` bytes of this, as if it ended there.
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
