//! Options that several kinds of sockets have.
//!
//! Their examples are made of what the type passes: what it imports, and how a `socket` is made.

/// `ttl` and `set_ttl`.
macro_rules! ttl_methods {
    ($uses:literal, $make:literal) => {
        /// How many hops a packet may take (`IP_TTL`).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make]
        ///     assert!(socket.ttl()? > 0);
        ///     Ok(())
        /// }
        /// ```
        pub fn ttl(&self) -> io::Result<u32> {
            self.source().ttl()
        }

        /// Sets how many hops a packet may take.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make]
        ///     socket.set_ttl(100)?;
        ///     assert_eq!(socket.ttl()?, 100);
        ///     Ok(())
        /// }
        /// ```
        pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
            self.source().set_ttl(ttl)
        }
    };
}

/// `linger`, `set_linger` and `set_zero_linger`.
macro_rules! linger_methods {
    ($uses:literal, $make:literal) => {
        /// How long closing it waits until what was written is sent (`SO_LINGER`). `None`: it does not wait, and the
        /// system sends it in the background.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make]
        ///     assert_eq!(socket.linger()?, None);
        ///     Ok(())
        /// }
        /// ```
        pub fn linger(&self) -> io::Result<Option<Duration>> {
            socket2::SockRef::from(self).linger()
        }

        /// Sets how long closing it waits, which blocks the thread that drops it. The system counts in seconds.
        ///
        /// ```
        #[doc = $uses]
        /// use std::time::Duration;
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make]
        ///     #[allow(deprecated)]
        ///     socket.set_linger(Some(Duration::from_secs(1)))?;
        ///     assert_eq!(socket.linger()?, Some(Duration::from_secs(1)));
        ///     Ok(())
        /// }
        /// ```
        #[deprecated = "`SO_LINGER` causes the socket to block the thread on drop"]
        pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
            socket2::SockRef::from(self).set_linger(dur)
        }

        /// Lets closing it reset the connection: what was not sent yet is dropped, and nothing waits.
        ///
        /// ```
        #[doc = $uses]
        /// use std::time::Duration;
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make]
        ///     socket.set_zero_linger()?;
        ///     assert_eq!(socket.linger()?, Some(Duration::ZERO));
        ///     Ok(())
        /// }
        /// ```
        pub fn set_zero_linger(&self) -> io::Result<()> {
            socket2::SockRef::from(self).set_linger(Some(Duration::ZERO))
        }
    };
}

/// What IP marks its packets with, and the network device.
macro_rules! packet_methods {
    ($uses:literal, $make_v4:literal, $make_v6:literal) => {
        /// The class of traffic that IPv6 packets are marked with (`IPV6_TCLASS`).
        ///
        /// ```no_run
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v6]
        ///     assert_eq!(socket.tclass_v6()?, 0);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
        ))]
        pub fn tclass_v6(&self) -> io::Result<u32> {
            socket2::SockRef::from(self).tclass_v6()
        }

        /// Sets the class of traffic that IPv6 packets are marked with.
        ///
        /// ```no_run
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v6]
        ///     socket.set_tclass_v6(32)?;
        ///     Ok(())
        /// }
        /// ```
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
        ))]
        pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
            socket2::SockRef::from(self).set_tclass_v6(tclass)
        }

        /// The type of service that IPv4 packets are marked with (`IP_TOS`).
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v4]
        ///     assert_eq!(socket.tos_v4()?, 0);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "haiku",
            target_os = "illumos",
            target_os = "redox",
            target_os = "solaris",
            target_os = "wasi",
        )))]
        pub fn tos_v4(&self) -> io::Result<u32> {
            socket2::SockRef::from(self).tos_v4()
        }

        /// Sets the type of service that IPv4 packets are marked with. Windows needs to be told to allow it.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v4]
        ///     socket.set_tos_v4(16)?;
        ///     assert_eq!(socket.tos_v4()?, 16);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "haiku",
            target_os = "illumos",
            target_os = "redox",
            target_os = "solaris",
            target_os = "wasi",
        )))]
        pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
            socket2::SockRef::from(self).set_tos_v4(tos)
        }

        /// The former name of [`tos_v4`](Self::tos_v4).
        #[deprecated(
            note = "`tos` related methods have been renamed `tos_v4` since they are IPv4-specific."
        )]
        #[doc(hidden)]
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "haiku",
            target_os = "illumos",
            target_os = "redox",
            target_os = "solaris",
            target_os = "wasi",
        )))]
        pub fn tos(&self) -> io::Result<u32> {
            self.tos_v4()
        }

        /// The former name of [`set_tos_v4`](Self::set_tos_v4).
        #[deprecated(
            note = "`tos` related methods have been renamed `tos_v4` since they are IPv4-specific."
        )]
        #[doc(hidden)]
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "haiku",
            target_os = "illumos",
            target_os = "redox",
            target_os = "solaris",
            target_os = "wasi",
        )))]
        pub fn set_tos(&self, tos: u32) -> io::Result<()> {
            self.set_tos_v4(tos)
        }

        /// The name of the network device that it is bound to (`SO_BINDTODEVICE`), if any.
        ///
        /// ```
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v4]
        ///     assert_eq!(socket.device()?, None);
        ///     Ok(())
        /// }
        /// ```
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
            socket2::SockRef::from(self).device()
        }

        /// Binds it to a network device, by its name, or with `None` to none. It may need privileges.
        ///
        /// ```no_run
        #[doc = $uses]
        ///
        /// #[pointsman::main]
        /// async fn main() -> std::io::Result<()> {
        #[doc = $make_v4]
        ///     socket.bind_device(Some(b"lo"))?;
        ///     Ok(())
        /// }
        /// ```
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
            socket2::SockRef::from(self).bind_device(interface)
        }
    };
}

/// Pairs of methods that set an option that is on or off, and tell which.
macro_rules! switch_methods {
    (
        $uses:literal, $make:literal;
        $($(#[$cfg:meta])* $set:ident => $inner_set:ident, $get:ident => $inner_get:ident, $what:literal;)+
    ) => {$(
        #[doc = concat!("Sets whether ", $what, ".")]
        ///
        /// ```
        #[doc = $uses]
        ///
        #[doc = concat!("let socket = ", $make, ";")]
        #[doc = concat!("socket.", stringify!($set), "(true)?;")]
        #[doc = concat!("assert!(socket.", stringify!($get), "()?);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        $(#[$cfg])*
        pub fn $set(&self, $get: bool) -> io::Result<()> {
            socket2::SockRef::from(self).$inner_set($get)
        }

        #[doc = concat!("Whether ", $what, ".")]
        ///
        /// ```
        #[doc = $uses]
        ///
        #[doc = concat!("assert!(!", $make, ".", stringify!($get), "()?);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        $(#[$cfg])*
        pub fn $get(&self) -> io::Result<bool> {
            socket2::SockRef::from(self).$inner_get()
        }
    )+};
}

/// Pairs of methods that set the size of a buffer, and tell it.
macro_rules! buffer_size_methods {
    ($($set:ident, $get:ident, $what:literal;)+) => {$(
        #[doc = concat!("Asks for a size of the system's buffer for what is ", $what, ", in bytes.")]
        ///
        /// The system may take another one.
        ///
        /// ```
        /// # use pointsman::net::TcpSocket;
        /// let socket = TcpSocket::new_v4()?;
        #[doc = concat!("socket.", stringify!($set), "(10_000)?;")]
        #[doc = concat!("assert!(socket.", stringify!($get), "()? >= 10_000);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub fn $set(&self, size: u32) -> io::Result<()> {
            self.inner.$set(size as usize)
        }

        #[doc = concat!("The size of the system's buffer for what is ", $what, ", in bytes.")]
        ///
        /// ```
        /// # use pointsman::net::TcpSocket;
        #[doc = concat!("assert!(TcpSocket::new_v4()?.", stringify!($get), "()? > 0);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub fn $get(&self) -> io::Result<u32> {
            self.inner.$get().map(|size| size as u32)
        }
    )+};
}
