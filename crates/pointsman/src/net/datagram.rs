//! What sockets of datagrams have in common, written once for those of UDP and of Unix.
//!
//! Their examples are made of what the type passes: what it imports, and how a connected `reader` and `writer` are
//! made.

/// All that is sent and received on a connection. `$receiving` is what ends a wait for a datagram.
macro_rules! datagram_methods {
    ($Address:ty, $receiving:expr, $uses:literal, $pair:literal) => {
        ready_method!($uses, $pair, writer, WRITABLE, is_writable);
        readable_method!($uses, $pair, "    writer.send(b\"ping\").await?;", try_recv);
        writable_method!($uses, $pair, try_send);
        poll_read_ready_method!(
            poll_recv_ready,
            $uses,
            $pair,
            "    writer.send(b\"ping\").await?;"
        );
        poll_write_ready_method!(poll_send_ready, $uses, $pair);

        /// Sends one datagram to the peer that it is connected to, and says how many bytes that was: all.
        ///
        /// # Errors
        /// The system's, such as that the datagram is too long, or nobody receives at the other end; if the runtime that
        /// it belongs to ends.
        ///
        /// # Cancellation
        /// Giving up is safe: the datagram was not sent then.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     assert_eq!(writer.send(b"ping").await?, 4);
        ///     assert_eq!(reader.recv(&mut [0; 8]).await?, 4);
        ///     Ok(())
        /// }
        /// ```
        pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration
                .async_io(Interest::WRITABLE, || self.io.send(buf))
                .await
        }

        /// As [`send`](Self::send), for futures that are written by hand. Of all that poll for sending only the last
        /// one is woken.
        ///
        /// ```
        #[doc = $uses]
        /// use std::future::poll_fn;
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     assert_eq!(poll_fn(|cx| writer.poll_send(cx, b"ping")).await?, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let registration = self.io.registration();
            registration.poll_write_io(cx, || self.io.send(buf))
        }

        /// As [`send`](Self::send), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is no room, or it is not yet known: wait by [`writable`](Self::writable) first.
        /// Otherwise as [`send`](Self::send).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.writable().await?;
        ///     assert_eq!(writer.try_send(b"ping")?, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Interest::WRITABLE, || self.io.send(buf))
        }

        /// Receives the next datagram, and says how many bytes of it there are. What does not fit into the buffer is
        /// lost.
        ///
        /// # Errors
        /// The system's; if the runtime that it belongs to ends.
        ///
        /// # Cancellation
        /// Giving up is safe: no datagram is lost.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let mut buf = [0; 8];
        ///     let count = reader.recv(&mut buf).await?;
        ///     assert_eq!(&buf[..count], b"ping");
        ///     Ok(())
        /// }
        /// ```
        pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration
                .async_io($receiving, || self.io.recv(buf))
                .await
        }

        /// As [`recv`](Self::recv), for futures that are written by hand. Of all that poll for receiving only the last
        /// one is woken.
        ///
        /// ```
        /// use pointsman::io::ReadBuf;
        #[doc = $uses]
        /// use std::future::poll_fn;
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let mut bytes = [0; 8];
        ///     let mut buf = ReadBuf::new(&mut bytes);
        ///     poll_fn(|cx| reader.poll_recv(cx, &mut buf)).await?;
        ///     assert_eq!(buf.filled(), b"ping");
        ///     Ok(())
        /// }
        /// ```
        pub fn poll_recv(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let received = ready!(self.io.registration().poll_read_io(cx, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill(buf, |free| self.io.recv(free).map(|count| (count, ()))) }
            }));
            Poll::Ready(received.map(drop))
        }

        /// As [`recv`](Self::recv), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is none, or it is not yet known: wait by [`readable`](Self::readable) first.
        /// Otherwise as [`recv`](Self::recv).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     reader.readable().await?;
        ///     assert_eq!(reader.try_recv(&mut [0; 8])?, 4);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
            let registration = self.io.registration();
            registration.try_io(Interest::READABLE, || self.io.recv(buf))
        }

        /// As [`recv`](Self::recv), into the free part of a buffer that grows by what was received.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let mut buf = Vec::with_capacity(8);
        ///     assert_eq!(reader.recv_buf(&mut buf).await?, 4);
        ///     assert_eq!(buf, b"ping");
        ///     Ok(())
        /// }
        /// ```
        #[cfg(feature = "io-util")]
        pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let registration = self.io.registration();
            let result = registration.async_io($receiving, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill_buf(buf, |free| self.io.recv(free).map(|count| (count, ()))) }
            });
            result.await.map(|(count, ())| count)
        }

        /// As [`try_recv`](Self::try_recv), into the free part of a buffer that grows by what was received.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     reader.readable().await?;
        ///     let mut buf = Vec::with_capacity(8);
        ///     assert_eq!(reader.try_recv_buf(&mut buf)?, 4);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(feature = "io-util")]
        pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let registration = self.io.registration();
            let result = registration.try_io(Interest::READABLE, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill_buf(buf, |free| self.io.recv(free).map(|count| (count, ()))) }
            });
            result.map(|(count, ())| count)
        }

        /// As [`recv`](Self::recv), with the address of who has sent it. The socket need not be connected.
        ///
        /// # Errors
        /// As [`recv`](Self::recv).
        ///
        /// # Cancellation
        /// Giving up is safe: no datagram is lost.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let (count, sender) = reader.recv_from(&mut [0; 8]).await?;
        ///     println!("{count} bytes from {sender:?}");
        ///     Ok(())
        /// }
        /// ```
        pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Address)> {
            let registration = self.io.registration();
            let result = registration.async_io($receiving, || self.io.recv_from(buf));
            result.await.map(|(count, address)| (count, address.into()))
        }

        /// As [`recv_from`](Self::recv_from), for futures that are written by hand. Of all that poll for receiving only
        /// the last one is woken.
        ///
        /// ```
        /// use pointsman::io::ReadBuf;
        #[doc = $uses]
        /// use std::future::poll_fn;
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let mut bytes = [0; 8];
        ///     let mut buf = ReadBuf::new(&mut bytes);
        ///     let _sender = poll_fn(|cx| reader.poll_recv_from(cx, &mut buf)).await?;
        ///     assert_eq!(buf.filled(), b"ping");
        ///     Ok(())
        /// }
        /// ```
        pub fn poll_recv_from(
            &self,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<$Address>> {
            let received = ready!(self.io.registration().poll_read_io(cx, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill(buf, |free| self.io.recv_from(free)) }
            }));
            Poll::Ready(received.map(|(_, address)| address.into()))
        }

        /// As [`recv_from`](Self::recv_from), without waiting.
        ///
        /// # Errors
        /// As [`try_recv`](Self::try_recv).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     reader.readable().await?;
        ///     let (count, _sender) = reader.try_recv_from(&mut [0; 8])?;
        ///     assert_eq!(count, 4);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Address)> {
            let registration = self.io.registration();
            let result = registration.try_io(Interest::READABLE, || self.io.recv_from(buf));
            result.map(|(count, address)| (count, address.into()))
        }

        /// As [`recv_from`](Self::recv_from), into the free part of a buffer that grows by what was received.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     let mut buf = Vec::with_capacity(8);
        ///     let (count, _sender) = reader.recv_buf_from(&mut buf).await?;
        ///     assert_eq!((count, &buf[..]), (4, b"ping".as_ref()));
        ///     Ok(())
        /// }
        /// ```
        #[cfg(feature = "io-util")]
        pub async fn recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> io::Result<(usize, $Address)> {
            let registration = self.io.registration();
            let result = registration.async_io($receiving, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill_buf(buf, |free| self.io.recv_from(free)) }
            });
            result.await.map(|(count, address)| (count, address.into()))
        }

        /// As [`try_recv_from`](Self::try_recv_from), into the free part of a buffer that grows by what was received.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.send(b"ping").await?;
        ///     reader.readable().await?;
        ///     let mut buf = Vec::with_capacity(8);
        ///     assert_eq!(reader.try_recv_buf_from(&mut buf)?.0, 4);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(feature = "io-util")]
        pub fn try_recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> io::Result<(usize, $Address)> {
            let registration = self.io.registration();
            let result = registration.try_io(Interest::READABLE, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill_buf(buf, |free| self.io.recv_from(free)) }
            });
            result.map(|(count, address)| (count, address.into()))
        }

        /// Takes out the error that the system has noted since somebody asked last (`SO_ERROR`).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     assert!(writer.take_error()?.is_none());
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn take_error(&self) -> io::Result<Option<io::Error>> {
            self.io.take_error()
        }
    };
}
