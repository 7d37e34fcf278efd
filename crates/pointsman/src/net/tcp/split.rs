//! The halves of a TCP connection, and what they have that those of other streams don't: `peek`.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(feature = "io-util")]
use super::super::fill::fill_buf;
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
use crate::net::TcpStream;

macro_rules! peek_methods {
    ($Half:ty, $uses:literal, $halves:literal) => {
        impl $Half {
            /// Receives what comes next, once there is something, and leaves it there for who reads. `Ok(0)` is the
            /// end, or an empty buffer.
            ///
            /// # Errors
            /// The system's; if the runtime that it belongs to ends.
            ///
            /// # Cancellation
            /// Giving up is safe.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $halves]
            ///     writer.try_write(b"ping")?;
            ///     let mut reader = reader;
            ///     let mut buf = [0; 4];
            ///     assert_eq!(reader.peek(&mut buf).await?, 4);
            ///     assert_eq!(reader.peek(&mut buf).await?, 4);
            ///     Ok(())
            /// }
            /// ```
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                let mut buf = ReadBuf::new(buf);
                poll_fn(|cx| self.poll_peek(cx, &mut buf)).await
            }

            /// As [`peek`](Self::peek), for futures that are written by hand.
            ///
            /// ```
            /// use pointsman::io::ReadBuf;
            #[doc = $uses]
            /// use std::future::poll_fn;
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $halves]
            ///     writer.try_write(b"ping")?;
            ///     let mut reader = reader;
            ///     let mut bytes = [0; 4];
            ///     let mut buf = ReadBuf::new(&mut bytes);
            ///     assert_eq!(poll_fn(|cx| reader.poll_peek(cx, &mut buf)).await?, 4);
            ///     Ok(())
            /// }
            /// ```
            pub fn poll_peek(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.as_ref().poll_peek(cx, buf)
            }
        }
    };
}

stream_halves! {
    TcpStream, mio::net::TcpStream, SocketAddr,
    "use pointsman::net::{TcpListener, TcpStream};",
    "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let one = TcpStream::connect(listener.local_addr()?).await?;
    let (other, _) = listener.accept().await?;",
    reading: { peek_methods },
    owned: "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let (_keep, writer) = TcpStream::connect(listener.local_addr()?).await?.into_split();
    let (reader, _keep) = listener.accept().await?.0.into_split();",
    borrowed: "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let mut one = TcpStream::connect(listener.local_addr()?).await?;
    let (mut other, _) = listener.accept().await?;
    let (_, writer) = one.split();
    let (reader, _) = other.split();"
}
