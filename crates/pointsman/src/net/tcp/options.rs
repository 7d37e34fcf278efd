//! Options of a TCP stream.

use std::io;
use std::time::Duration;

use socket2::SockRef;

use super::stream::TcpStream;

impl TcpStream {
    /// Returns whether small segments are sent at once (`TCP_NODELAY`).
    pub fn nodelay(&self) -> io::Result<bool> {
        self.source().nodelay()
    }

    /// Sets whether small segments are sent at once or, the default, combined.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     stream.set_nodelay(true)?;
    ///     assert!(stream.nodelay()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.source().set_nodelay(nodelay)
    }

    /// Returns whether data is acknowledged at once (`TCP_QUICKACK`).
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     stream.quickack()?;
    ///     Ok(())
    /// }
    /// ```
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux",))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_quickack()
    }

    /// Sets whether data is acknowledged at once. The system may change the option by itself.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     stream.set_quickack(true)?;
    ///     Ok(())
    /// }
    /// ```
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux",))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// Returns how long closing the socket waits for unsent data (`SO_LINGER`). With `None` it does not wait, and the
    /// system sends the data in the background.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long closing the socket waits for unsent data, in whole seconds. The wait blocks the thread that drops it.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let socket = TcpStream::connect(listener.local_addr()?).await?;
    ///     #[allow(deprecated)]
    ///     socket.set_linger(Some(Duration::from_secs(1)))?;
    ///     assert_eq!(socket.linger()?, Some(Duration::from_secs(1)));
    ///     Ok(())
    /// }
    /// ```
    #[deprecated = "`SO_LINGER` causes the socket to block the thread on drop"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(dur)
    }

    /// Makes closing the socket reset the connection: unsent data is discarded, and nothing waits.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let socket = TcpStream::connect(listener.local_addr()?).await?;
    ///     socket.set_zero_linger()?;
    ///     assert_eq!(socket.linger()?, Some(Duration::ZERO));
    ///     Ok(())
    /// }
    /// ```
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
    }

    /// Returns the number of hops that a packet may take (`IP_TTL`).
    pub fn ttl(&self) -> io::Result<u32> {
        self.source().ttl()
    }

    /// Sets the number of hops that a packet may take.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let socket = TcpStream::connect(listener.local_addr()?).await?;
    ///     socket.set_ttl(100)?;
    ///     assert_eq!(socket.ttl()?, 100);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source().set_ttl(ttl)
    }
}
