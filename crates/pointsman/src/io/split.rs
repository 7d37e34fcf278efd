//! Splits any stream into a reading and a writing half.
//!
//! Invariant: at most one half uses the stream at a time, during a poll. The stream does not move before `unsplit`.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::async_read::forward_read;
use super::async_write::forward_write;
use super::{AsyncRead, AsyncWrite, ReadBuf};
use crate::loom::sync::{Mutex, MutexGuard};

struct SharedStream<T> {
    stream: Mutex<T>,
    is_write_vectored: bool,
}

/// Exclusive access to the stream, during a poll.
struct Locked<'a, T>(MutexGuard<'a, T>);

impl<T> SharedStream<T> {
    fn lock(&self) -> Locked<'_, T> {
        Locked(self.stream.lock().unwrap())
    }

    /// The value of `is_write_vectored` of the stream at the split.
    fn is_write_vectored(&self) -> bool {
        self.is_write_vectored
    }
}

impl<T> Locked<'_, T> {
    fn pinned(&mut self) -> Pin<&mut T> {
        // SAFETY: the stream is accessed only through this pin, under the lock, and `unsplit` moves it out only if it
        // is `Unpin`.
        unsafe { Pin::new_unchecked(&mut *self.0) }
    }
}

/// The reading half of a stream, created by [`split`].
///
/// ```
/// # use pointsman::io::{AsyncReadExt, DuplexStream, ReadHalf, duplex, split};
/// # futures::executor::block_on(async {
/// let (stream, other) = duplex(64);
/// drop(other);
/// let (mut reader, _writer): (ReadHalf<DuplexStream>, _) = split(stream);
/// assert_eq!(reader.read(&mut [0; 8]).await.unwrap(), 0);
/// # });
/// ```
pub struct ReadHalf<T> {
    shared: Arc<SharedStream<T>>,
}

/// The writing half of a stream, created by [`split`].
///
/// ```
/// # use pointsman::io::{AsyncWriteExt, DuplexStream, WriteHalf, duplex, split};
/// # futures::executor::block_on(async {
/// let (stream, _other) = duplex(64);
/// let (_reader, mut writer): (_, WriteHalf<DuplexStream>) = split(stream);
/// assert_eq!(writer.write(b"hello").await.unwrap(), 5);
/// # });
/// ```
pub struct WriteHalf<T> {
    shared: Arc<SharedStream<T>>,
}

// SAFETY: the methods of a half that take `&self` compare pointers only and do not access the stream.
unsafe impl<T> Sync for ReadHalf<T> {}
// SAFETY: the methods of a half that take `&self` compare pointers only and do not access the stream.
unsafe impl<T> Sync for WriteHalf<T> {}

/// Splits a stream into a reading and a writing half, for two tasks.
///
/// The stream is dropped with the last half; dropping one half does not shut down its direction. [`ReadHalf::unsplit`]
/// reunites the halves. Streams that can be split without a lock, such as sockets, have methods of their own for it.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let (stream, mut other) = duplex(64);
/// let (mut reader, mut writer) = split(stream);
/// let writing = pointsman::spawn(async move { writer.write_all(b"ping").await });
/// other.write_all(b"pong").await?;
///
/// let mut message = [0; 4];
/// reader.read_exact(&mut message).await?;
/// assert_eq!(&message, b"pong");
/// # writing.await.unwrap()?;
/// # Ok(())
/// # }
/// ```
pub fn split<T>(stream: T) -> (ReadHalf<T>, WriteHalf<T>)
where
    T: AsyncRead + AsyncWrite,
{
    let is_write_vectored = stream.is_write_vectored();
    let shared = Arc::new(SharedStream {
        stream: Mutex::new(stream),
        is_write_vectored,
    });
    (
        ReadHalf {
            shared: Arc::clone(&shared),
        },
        WriteHalf { shared },
    )
}

impl<T> ReadHalf<T> {
    /// Returns true if `other` is a half of the same stream.
    ///
    /// ```
    /// # use pointsman::io::{empty, split};
    /// let ((reader, writer), (_, other)) = (split(empty()), split(empty()));
    /// assert!(reader.is_pair_of(&writer));
    /// assert!(!reader.is_pair_of(&other));
    /// ```
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Reunites the halves and returns the stream.
    ///
    /// # Panics
    /// If `wr` is a half of another stream. [`is_pair_of`](Self::is_pair_of) checks that.
    ///
    /// ```
    /// # use pointsman::io::split;
    /// let (reader, writer) = split(std::io::Cursor::new(vec![7]));
    /// assert_eq!(reader.unsplit(writer).into_inner(), [7]);
    /// ```
    #[track_caller]
    pub fn unsplit(self, wr: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        assert!(
            self.is_pair_of(&wr),
            "Unrelated `split::Write` passed to `split::Read::unsplit`."
        );
        drop(wr);
        let Some(shared) = Arc::into_inner(self.shared) else {
            unreachable!("a half is not cloned");
        };
        shared.stream.into_inner().unwrap()
    }
}

impl<T> WriteHalf<T> {
    /// Returns true if `other` is a half of the same stream.
    ///
    /// ```
    /// # use pointsman::io::{empty, split};
    /// let (reader, writer) = split(empty());
    /// assert!(writer.is_pair_of(&reader));
    /// ```
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        other.is_pair_of(self)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    forward_read!(self => self.shared.lock().pinned());
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    forward_write!(self => self.shared.lock().pinned(), self.shared);
}

impl<T: fmt::Debug> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("split::ReadHalf").finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("split::WriteHalf").finish()
    }
}
