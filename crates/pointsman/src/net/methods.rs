//! Methods that are the same on each kind of socket and pipe, written once.
//!
//! Each type that uses them has a method `source`, which gives its `PollEvented`. Their examples are made of what the
//! type passes: what it imports, how a connected `reader` and `writer` are made, and how `ping` is sent.

/// `ready`.
macro_rules! ready_method {
    ($uses:literal, $setup:literal, $end:ident, $interest:ident, $is_ready:ident) => {
        /// Waits until it is ready for one of these, and says for what.
        ///
        /// It may be told to be ready without being so: be prepared for `WouldBlock`, which ends the readiness if one
        /// of the methods with `try_` gave it.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends.
        ///
        /// # Cancellation
        /// Giving up is safe: the readiness stays for who waits next.
        ///
        /// ```
        /// use pointsman::io::Interest;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $setup]
        #[doc = concat!("    let ready = ", stringify!($end), ".ready(Interest::", stringify!($interest), ").await?;")]
        #[doc = concat!("    assert!(ready.", stringify!($is_ready), "());")]
        ///     Ok(())
        /// }
        /// ```
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            let event = self.source().registration().readiness(interest).await?;
            Ok(event.ready)
        }
    };
}

/// `readable`, with the method to be used after it.
macro_rules! readable_method {
    ($uses:literal, $pair:literal, $send:literal, $try_read:ident) => {
        #[doc = concat!("Waits until [`", stringify!($try_read), "`](Self::", stringify!($try_read), ") is worth trying.")]
        ///
        /// That may give `WouldBlock` all the same, and then this waits for what comes next.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends.
        ///
        /// # Cancellation
        /// Giving up is safe: the readiness stays for who waits next.
        ///
        /// ```
        /// use std::io::ErrorKind;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = $send]
        ///     let mut buf = [0; 16];
        ///     let count = loop {
        ///         reader.readable().await?;
        #[doc = concat!("        match reader.", stringify!($try_read), "(&mut buf) {")]
        ///             Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
        ///             result => break result?,
        ///         }
        ///     };
        ///     assert_eq!(&buf[..count], b"ping");
        ///     Ok(())
        /// }
        /// ```
        pub async fn readable(&self) -> io::Result<()> {
            let registration = self.source().registration();
            registration.readiness(Interest::READABLE).await.map(drop)
        }
    };
}

/// `writable`, with the method to be used after it.
macro_rules! writable_method {
    ($uses:literal, $pair:literal, $try_write:ident) => {
        #[doc = concat!("Waits until [`", stringify!($try_write), "`](Self::", stringify!($try_write), ") is worth trying.")]
        ///
        /// That may give `WouldBlock` all the same, and then this waits until there is room again.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends.
        ///
        /// # Cancellation
        /// Giving up is safe: the readiness stays for who waits next.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.writable().await?;
        #[doc = concat!("    assert_eq!(writer.", stringify!($try_write), "(b\"ping\")?, 4);")]
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub async fn writable(&self) -> io::Result<()> {
            let registration = self.source().registration();
            registration.readiness(Interest::WRITABLE).await.map(drop)
        }
    };
}

/// `poll_read_ready`, by the name that it has on this type.
macro_rules! poll_read_ready_method {
    ($poll:ident, $uses:literal, $pair:literal, $send:literal) => {
        /// Ready when it can be read, for futures that are written by hand.
        ///
        /// Of all that poll for reading only the last one is woken. `readable` has no such limit.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends.
        ///
        /// ```
        /// use std::future::poll_fn;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = $send]
        #[doc = concat!("    poll_fn(|cx| reader.", stringify!($poll), "(cx)).await?;")]
        ///     Ok(())
        /// }
        /// ```
        pub fn $poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.source()
                .registration()
                .poll_read_ready(cx)
                .map_ok(drop)
        }
    };
}

/// `poll_write_ready`, by the name that it has on this type.
macro_rules! poll_write_ready_method {
    ($poll:ident, $uses:literal, $pair:literal) => {
        /// Ready when it can be written, for futures that are written by hand.
        ///
        /// Of all that poll for writing only the last one is woken. `writable` has no such limit.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends.
        ///
        /// ```
        /// use std::future::poll_fn;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = concat!("    poll_fn(|cx| writer.", stringify!($poll), "(cx)).await?;")]
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn $poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.source()
                .registration()
                .poll_write_ready(cx)
                .map_ok(drop)
        }
    };
}

/// `try_read`, `try_read_vectored` and `try_read_buf`.
macro_rules! try_read_methods {
    ($uses:literal, $pair:literal, $send:literal) => {
        /// Reads what is there, at most as much as the buffer takes, without waiting. `Ok(0)` is the end, or an empty
        /// buffer.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing, or it is not yet known: wait by `readable` first. Otherwise the system's.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = $send]
        ///     reader.readable().await?;
        ///     let mut buf = [0; 2];
        ///     assert_eq!(reader.try_read(&mut buf)?, 2);
        ///     assert_eq!(&buf, b"pi");
        ///     Ok(())
        /// }
        /// ```
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            let io = self.source();
            io.registration()
                .try_io(Interest::READABLE, || (&**io).read(buf))
        }

        /// As [`try_read`](Self::try_read), into several buffers, one after the other.
        ///
        /// # Errors
        /// As [`try_read`](Self::try_read).
        ///
        /// ```
        /// use std::io::IoSliceMut;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = $send]
        ///     reader.readable().await?;
        ///     let (mut first, mut second) = ([0; 1], [0; 3]);
        ///     let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        ///     assert_eq!(reader.try_read_vectored(&mut bufs)?, 4);
        ///     assert_eq!(&second, b"ing");
        ///     Ok(())
        /// }
        /// ```
        pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            let io = self.source();
            io.registration()
                .try_io(Interest::READABLE, || (&**io).read_vectored(bufs))
        }

        /// As [`try_read`](Self::try_read), into the free part of a buffer that grows by what was read.
        ///
        /// # Errors
        /// As [`try_read`](Self::try_read).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = $send]
        ///     reader.readable().await?;
        ///     let mut buf = Vec::with_capacity(16);
        ///     assert_eq!(reader.try_read_buf(&mut buf)?, 4);
        ///     assert_eq!(buf, b"ping");
        ///     Ok(())
        /// }
        /// ```
        #[cfg(feature = "io-util")]
        pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            let io = self.source();
            let result = io.registration().try_io(Interest::READABLE, || {
                // SAFETY: the system writes, does not read, and counts right.
                unsafe { fill_buf(buf, |free| (&**io).read(free).map(|count| (count, ()))) }
            });
            result.map(|(count, ())| count)
        }
    };
}

/// `try_write` and `try_write_vectored`.
macro_rules! try_write_methods {
    ($uses:literal, $pair:literal) => {
        /// Writes as much as there is room for, without waiting, and says how much that was.
        ///
        /// # Errors
        /// `WouldBlock` if there is no room, or it is not yet known: wait by `writable` first. Otherwise the system's.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.writable().await?;
        ///     assert_eq!(writer.try_write(b"ping")?, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            let io = self.source();
            io.registration()
                .try_io(Interest::WRITABLE, || (&**io).write(buf))
        }

        /// As [`try_write`](Self::try_write), from several buffers, one after the other.
        ///
        /// # Errors
        /// As [`try_write`](Self::try_write).
        ///
        /// ```
        /// use std::io::IoSlice;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.writable().await?;
        ///     let bufs = [IoSlice::new(b"pi"), IoSlice::new(b"ng")];
        ///     assert_eq!(writer.try_write_vectored(&bufs)?, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            let io = self.source();
            io.registration()
                .try_io(Interest::WRITABLE, || (&**io).write_vectored(bufs))
        }
    };
}

/// `try_io` and `async_io`.
macro_rules! custom_io_methods {
    ($uses:literal, $pair:literal, $call:literal) => {
        /// Tries a system call of your own, if it is known to be ready for it.
        ///
        /// The call must not block, and give `WouldBlock` where it would: that ends the readiness. It must be one on
        /// this descriptor and of this interest, or somebody else waits in vain.
        ///
        /// # Errors
        /// `WouldBlock` if it is not known to be ready, when nothing is called. Otherwise what the call gives.
        ///
        /// ```
        /// use pointsman::io::Interest;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     writer.writable().await?;
        #[doc = concat!("    let count = writer.try_io(Interest::WRITABLE, || ", $call, ")?;")]
        ///     assert_eq!(count, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub fn try_io<R>(
            &self,
            interest: Interest,
            f: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            let io = self.source();
            io.registration().try_io(interest, || io.try_io(f))
        }

        /// Does a system call of your own as soon as that is possible.
        ///
        /// The call must not block, and give `WouldBlock` where it would: then it is called again when it is ready
        /// again. It must be one on this descriptor and of this interest. Any number of tasks may wait at once.
        ///
        /// # Errors
        /// If the runtime that it belongs to ends. Otherwise what the call gives.
        ///
        /// # Cancellation
        /// Giving up is safe between the calls.
        ///
        /// ```
        /// use pointsman::io::Interest;
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        #[doc = concat!("    let count = writer.async_io(Interest::WRITABLE, || ", $call, ").await?;")]
        ///     assert_eq!(count, 4);
        ///     # drop(reader);
        ///     Ok(())
        /// }
        /// ```
        pub async fn async_io<R>(
            &self,
            interest: Interest,
            mut f: impl FnMut() -> io::Result<R>,
        ) -> io::Result<R> {
            let io = self.source();
            let result = io.registration().async_io(interest, || io.try_io(&mut f));
            result.await
        }
    };
}
