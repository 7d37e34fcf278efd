//! Packet marks, and the network device.

use std::io;

use socket2::SockRef;

use super::UdpSocket;

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
impl UdpSocket {
    /// Returns the traffic class of sent IPv6 packets (`IPV6_TCLASS`).
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("[::1]:0").await?;
    ///     assert_eq!(socket.tclass_v6()?, 0);
    ///     Ok(())
    /// }
    /// ```
    pub fn tclass_v6(&self) -> io::Result<u32> {
        SockRef::from(self).tclass_v6()
    }

    /// Sets the traffic class of sent IPv6 packets.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("[::1]:0").await?;
    ///     socket.set_tclass_v6(32)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        SockRef::from(self).set_tclass_v6(tclass)
    }
}

#[cfg(not(any(
    target_os = "fuchsia",
    target_os = "haiku",
    target_os = "illumos",
    target_os = "redox",
    target_os = "solaris",
    target_os = "wasi",
)))]
impl UdpSocket {
    /// Returns the type of service of sent IPv4 packets (`IP_TOS`).
    pub fn tos_v4(&self) -> io::Result<u32> {
        SockRef::from(self).tos_v4()
    }

    /// Sets the type of service of sent IPv4 packets. Windows ignores it unless a registry setting allows it.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.set_tos_v4(16)?;
    ///     assert_eq!(socket.tos_v4()?, 16);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        SockRef::from(self).set_tos_v4(tos)
    }

    /// The former name of [`tos_v4`](Self::tos_v4).
    #[deprecated(
        note = "`tos` related methods have been renamed `tos_v4` since they are IPv4-specific."
    )]
    #[doc(hidden)]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// The former name of [`set_tos_v4`](Self::set_tos_v4).
    #[deprecated(
        note = "`tos` related methods have been renamed `tos_v4` since they are IPv4-specific."
    )]
    #[doc(hidden)]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }
}

#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
impl UdpSocket {
    /// Returns the name of the network device that the socket is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert_eq!(socket.device()?, None);
    ///     Ok(())
    /// }
    /// ```
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        SockRef::from(self).device()
    }

    /// Binds the socket to the network device with this name, or with `None` to none. May require privileges.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.bind_device(Some(b"lo"))?;
    ///     Ok(())
    /// }
    /// ```
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        SockRef::from(self).bind_device(interface)
    }
}
