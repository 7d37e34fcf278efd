//! Broadcast, multicast and TTL options.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::UdpSocket;

impl UdpSocket {
    /// Returns whether the socket may send to broadcast addresses (`SO_BROADCAST`).
    pub fn broadcast(&self) -> io::Result<bool> {
        self.io.broadcast()
    }

    /// Sets whether the socket may send to broadcast addresses.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.set_broadcast(true)?;
    ///     assert!(socket.broadcast()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.io.set_broadcast(on)
    }

    /// Returns whether IPv4 multicast datagrams are looped back to this host (`IP_MULTICAST_LOOP`).
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.io.multicast_loop_v4()
    }

    /// Sets whether IPv4 multicast datagrams are looped back to this host. On Windows the receiver sets it.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.set_multicast_loop_v4(false)?;
    ///     assert!(!socket.multicast_loop_v4()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v4(on)
    }

    /// Returns the number of hops that an IPv4 multicast datagram may take (`IP_MULTICAST_TTL`).
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.io.multicast_ttl_v4()
    }

    /// Sets the number of hops that an IPv4 multicast datagram may take.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.set_multicast_ttl_v4(4)?;
    ///     assert_eq!(socket.multicast_ttl_v4()?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.io.set_multicast_ttl_v4(ttl)
    }

    /// Returns whether IPv6 multicast datagrams are looped back to this host (`IPV6_MULTICAST_LOOP`).
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.io.multicast_loop_v6()
    }

    /// Sets whether IPv6 multicast datagrams are looped back to this host.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("[::1]:0").await?;
    ///     socket.set_multicast_loop_v6(false)?;
    ///     assert!(!socket.multicast_loop_v6()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v6(on)
    }

    /// Joins an IPv4 multicast group on the interface with this address; the unspecified address selects any interface.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.join_multicast_v4([224, 0, 0, 123].into(), [0, 0, 0, 0].into())?;
    ///     Ok(())
    /// }
    /// ```
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins an IPv6 multicast group on the interface with this index; 0 selects any interface.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("[::1]:0").await?;
    ///     socket.join_multicast_v6(&"ff02::123".parse().unwrap(), 0)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Leaves an IPv4 multicast group on this interface.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.leave_multicast_v4([224, 0, 0, 123].into(), [0, 0, 0, 0].into())?;
    ///     Ok(())
    /// }
    /// ```
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves an IPv6 multicast group on this interface.
    ///
    /// ```no_run
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("[::1]:0").await?;
    ///     socket.leave_multicast_v6(&"ff02::123".parse().unwrap(), 0)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }

    /// Returns the number of hops that a packet may take (`IP_TTL`).
    pub fn ttl(&self) -> io::Result<u32> {
        self.source().ttl()
    }

    /// Sets the number of hops that a packet may take.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     socket.set_ttl(100)?;
    ///     assert_eq!(socket.ttl()?, 100);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source().set_ttl(ttl)
    }
}
