//! Options of a TCP socket that is not yet connected.

use std::io;
use std::time::Duration;

use socket2::SockRef;

use super::socket::TcpSocket;

impl TcpSocket {
    /// Sets whether an idle connection is probed (`SO_KEEPALIVE`).
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_keepalive(true)?;
    /// assert!(socket.keepalive()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        SockRef::from(self).set_keepalive(keepalive)
    }

    /// Returns whether an idle connection is probed.
    pub fn keepalive(&self) -> io::Result<bool> {
        SockRef::from(self).keepalive()
    }

    /// Sets whether an address can be bound again while old connections linger (`SO_REUSEADDR`).
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_reuseaddr(true)?;
    /// assert!(socket.reuseaddr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        SockRef::from(self).set_reuse_address(reuseaddr)
    }

    /// Returns whether an address can be bound again while old connections linger.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        SockRef::from(self).reuse_address()
    }

    /// Sets whether several sockets can be bound to one address (`SO_REUSEPORT`).
    #[cfg(all(
        unix,
        not(any(target_os = "illumos", target_os = "nuttx", target_os = "solaris"))
    ))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        SockRef::from(self).set_reuse_port(reuseport)
    }

    /// Returns whether several sockets can be bound to one address.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// assert!(!TcpSocket::new_v4()?.reuseport()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(all(
        unix,
        not(any(target_os = "illumos", target_os = "nuttx", target_os = "solaris"))
    ))]
    pub fn reuseport(&self) -> io::Result<bool> {
        SockRef::from(self).reuse_port()
    }

    /// Sets whether small segments are sent at once (`TCP_NODELAY`).
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_nodelay(true)?;
    /// assert!(socket.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_nodelay(nodelay)
    }

    /// Returns whether small segments are sent at once.
    pub fn nodelay(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_nodelay()
    }

    /// Requests a size for the system's send buffer, in bytes (`SO_SNDBUF`). The system may choose another.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_send_buffer_size(10_000)?;
    /// assert!(socket.send_buffer_size()? >= 10_000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        SockRef::from(self).set_send_buffer_size(size as usize)
    }

    /// Returns the size of the system's send buffer, in bytes.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        SockRef::from(self)
            .send_buffer_size()
            .map(|size| size as u32)
    }

    /// Requests a size for the system's receive buffer, in bytes (`SO_RCVBUF`). The system may choose another.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_recv_buffer_size(10_000)?;
    /// assert!(socket.recv_buffer_size()? >= 10_000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        SockRef::from(self).set_recv_buffer_size(size as usize)
    }

    /// Returns the size of the system's receive buffer, in bytes.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        SockRef::from(self)
            .recv_buffer_size()
            .map(|size| size as u32)
    }

    /// Returns how long closing the socket waits for unsent data (`SO_LINGER`). With `None` it does not wait, and the
    /// system sends the data in the background.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long closing the socket waits for unsent data, in whole seconds. The wait blocks the thread that drops it.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// use std::time::Duration;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// #[allow(deprecated)]
    /// socket.set_linger(Some(Duration::from_secs(1)))?;
    /// assert_eq!(socket.linger()?, Some(Duration::from_secs(1)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[deprecated = "`SO_LINGER` causes the socket to block the thread on drop"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(dur)
    }

    /// Makes closing the socket reset the connection: unsent data is discarded, and nothing waits.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// use std::time::Duration;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_zero_linger()?;
    /// assert_eq!(socket.linger()?, Some(Duration::ZERO));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
    }
}

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
impl TcpSocket {
    /// Returns the traffic class of sent IPv6 packets (`IPV6_TCLASS`).
    ///
    /// ```no_run
    /// # use pointsman::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v6()?;
    /// assert_eq!(socket.tclass_v6()?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tclass_v6(&self) -> io::Result<u32> {
        SockRef::from(self).tclass_v6()
    }

    /// Sets the traffic class of sent IPv6 packets.
    ///
    /// ```no_run
    /// # use pointsman::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v6()?;
    /// socket.set_tclass_v6(32)?;
    /// # Ok::<(), std::io::Error>(())
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
impl TcpSocket {
    /// Returns the type of service of sent IPv4 packets (`IP_TOS`).
    pub fn tos_v4(&self) -> io::Result<u32> {
        SockRef::from(self).tos_v4()
    }

    /// Sets the type of service of sent IPv4 packets. Windows ignores it unless a registry setting allows it.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_tos_v4(16)?;
    /// assert_eq!(socket.tos_v4()?, 16);
    /// # Ok::<(), std::io::Error>(())
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
impl TcpSocket {
    /// Returns the name of the network device that the socket is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// assert_eq!(socket.device()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        SockRef::from(self).device()
    }

    /// Binds the socket to the network device with this name, or with `None` to none. May require privileges.
    ///
    /// ```no_run
    /// # use pointsman::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind_device(Some(b"lo"))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        SockRef::from(self).bind_device(interface)
    }
}
