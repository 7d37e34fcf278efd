//! The halves of a stream, written once for those of TCP and of Unix.
//!
//! Their examples are made of what the stream's module passes: what it imports, and how a connected `one` and `other`
//! are made.

/// The four halves, the error of two that don't fit, and how they are made: `borrowed` and `owned`.
macro_rules! stream_halves {
    (
        $Stream:ident, $Mio:ty, $Address:ty, $uses:literal, $pair:literal,
        reading: { $($reading:tt)* }, owned: $owned:literal, borrowed: $borrowed:literal
    ) => {
        #[doc = concat!("The half of a [`", stringify!($Stream), "`] that reads, lent by [`split`](", stringify!($Stream), "::split).")]
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     let (mut one, mut other) = (one, other);
        ///     let (reader, _) = one.split();
        ///     let (_, writer) = other.split();
        ///     writer.try_write(b"ping")?;
        ///     reader.readable().await?;
        ///     assert_eq!(reader.try_read(&mut [0; 8])?, 4);
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $Stream);

        #[doc = concat!("The half of a [`", stringify!($Stream), "`] that writes, lent by [`split`](", stringify!($Stream), "::split).")]
        ///
        /// Its [`poll_shutdown`](AsyncWrite::poll_shutdown) ends the writing; dropping it does not.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     let mut one = one;
        ///     let (_, writer) = one.split();
        ///     assert_eq!(writer.try_write(b"ping")?, 4);
        ///     # drop(other);
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $Stream);

        #[doc = concat!("The half of a [`", stringify!($Stream), "`] that reads, from [`into_split`](", stringify!($Stream), "::into_split).")]
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     let (reader, _) = one.into_split();
        ///     other.try_write(b"ping")?;
        ///     reader.readable().await?;
        ///     assert_eq!(reader.try_read(&mut [0; 8])?, 4);
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug)]
        pub struct OwnedReadHalf(Arc<$Stream>);

        #[doc = concat!("The half of a [`", stringify!($Stream), "`] that writes, from [`into_split`](", stringify!($Stream), "::into_split).")]
        ///
        /// Dropping it ends the writing, which [`forget`](Self::forget) prevents.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     let (_reader, writer) = one.into_split();
        ///     drop(writer);
        ///     other.readable().await?;
        ///     assert_eq!(other.try_read(&mut [0; 8])?, 0);
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: Arc<$Stream>,
            shuts_down: bool,
        }

        /// Two halves that are not of the same stream, given back.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $pair]
        ///     let ((reader, _), (_, writer)) = (one.into_split(), other.into_split());
        ///     let error = reader.reunite(writer).unwrap_err();
        ///     assert_eq!(error.to_string(), "tried to reunite halves that are not from the same socket");
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug)]
        pub struct ReuniteError(
            /// The half that reads.
            pub OwnedReadHalf,
            /// The half that writes.
            pub OwnedWriteHalf,
        );

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tried to reunite halves that are not from the same socket")
            }
        }

        impl std::error::Error for ReuniteError {}

        pub(super) fn borrowed(stream: &mut $Stream) -> (ReadHalf<'_>, WriteHalf<'_>) {
            (ReadHalf(stream), WriteHalf(stream))
        }

        pub(super) fn owned(stream: $Stream) -> (OwnedReadHalf, OwnedWriteHalf) {
            let stream = Arc::new(stream);
            let read = OwnedReadHalf(Arc::clone(&stream));
            let write = OwnedWriteHalf {
                stream,
                shuts_down: true,
            };
            (read, write)
        }

        fn reunite(read: OwnedReadHalf, write: OwnedWriteHalf) -> Result<$Stream, ReuniteError> {
            if !Arc::ptr_eq(&read.0, &write.stream) {
                return Err(ReuniteError(read, write));
            }
            write.forget();
            Ok(Arc::into_inner(read.0).expect("a stream has two halves"))
        }

        impl OwnedReadHalf {
            /// Puts the halves together again.
            ///
            /// # Errors
            /// If they are not of the same stream.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            ///     let (reader, writer) = one.into_split();
            ///     let one = reader.reunite(writer).expect("they are of one stream");
            ///     one.try_write(b"ping")?;
            ///     # drop(other);
            ///     Ok(())
            /// }
            /// ```
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$Stream, ReuniteError> {
                reunite(self, other)
            }
        }

        impl OwnedWriteHalf {
            /// Puts the halves together again.
            ///
            /// # Errors
            /// If they are not of the same stream.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            ///     let (reader, writer) = one.into_split();
            ///     let one = writer.reunite(reader).expect("they are of one stream");
            ///     one.try_write(b"ping")?;
            ///     # drop(other);
            ///     Ok(())
            /// }
            /// ```
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$Stream, ReuniteError> {
                reunite(other, self)
            }

            /// Drops it without ending the writing.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            ///     let (_reader, writer) = one.into_split();
            ///     writer.forget();
            ///     assert!(other.try_read(&mut [0; 8]).is_err(), "the end has not come");
            ///     Ok(())
            /// }
            /// ```
            pub fn forget(mut self) {
                self.shuts_down = false;
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.shuts_down {
                    // The peer may have gone.
                    let _ = self.stream.shutdown_write();
                }
            }
        }

        stream_halves! { @read ReadHalf<'_>, |half| half.0, $Stream, $Mio, $Address, $uses, $borrowed, { $($reading)* } }
        stream_halves! { @read OwnedReadHalf, |half| half.0, $Stream, $Mio, $Address, $uses, $owned, { $($reading)* } }
        stream_halves! { @write WriteHalf<'_>, |half| half.0, $Stream, $Mio, $Address, $uses, $borrowed }
        stream_halves! { @write OwnedWriteHalf, |half| half.stream, $Stream, $Mio, $Address, $uses, $owned }

        async_write!(WriteHalf<'_>, |half| half.0.shutdown_write());
        async_write!(OwnedWriteHalf, |half| {
            half.stream.shutdown_write()?;
            half.shuts_down = false;
            Ok(())
        });
    };

    (
        @read $Half:ty, |$half:ident| $stream:expr, $Stream:ident, $Mio:ty, $Address:ty, $uses:literal, $halves:literal,
        { $($reading:tt)* }
    ) => {
        impl $Half {
            fn source(&self) -> &PollEvented<$Mio> {
                self.as_ref().source()
            }

            ready_method!($uses, $halves, writer, WRITABLE, is_writable);
            readable_method!($uses, $halves, "    writer.try_write(b\"ping\")?;", try_read);
            try_read_methods!($uses, $halves, "    writer.try_write(b\"ping\")?;");
            stream_halves! { @addresses $Address, reader, $uses, $halves }
        }

        $($reading)*! { $Half, $uses, $halves }

        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                let $half = self;
                &$stream
            }
        }

        async_read!($Half);
    };

    (
        @write $Half:ty, |$half:ident| $stream:expr, $Stream:ident, $Mio:ty, $Address:ty, $uses:literal, $halves:literal
    ) => {
        impl $Half {
            fn source(&self) -> &PollEvented<$Mio> {
                self.as_ref().source()
            }

            ready_method!($uses, $halves, writer, WRITABLE, is_writable);
            writable_method!($uses, $halves, try_write);
            try_write_methods!($uses, $halves);
            stream_halves! { @addresses $Address, writer, $uses, $halves }
        }

        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                let $half = self;
                &$stream
            }
        }
    };

    (@addresses $Address:ty, $half:ident, $uses:literal, $halves:literal) => {
        /// The peer's address.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $halves]
        #[doc = concat!("    println!(\"{:?}\", ", stringify!($half), ".peer_addr()?);")]
        ///     # drop((reader, writer));
        ///     Ok(())
        /// }
        /// ```
        pub fn peer_addr(&self) -> io::Result<$Address> {
            self.as_ref().peer_addr()
        }

        /// The stream's own address.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $halves]
        #[doc = concat!("    println!(\"{:?}\", ", stringify!($half), ".local_addr()?);")]
        ///     # drop((reader, writer));
        ///     Ok(())
        /// }
        /// ```
        pub fn local_addr(&self) -> io::Result<$Address> {
            self.as_ref().local_addr()
        }
    };
}
