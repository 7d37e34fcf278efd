//! Options of a TCP connection.

use std::io;
use std::time::Duration;

use super::stream::TcpStream;

impl TcpStream {
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert!(!stream.nodelay()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        self.source().nodelay()
    }

    /// Lets small segments be sent at once, or be gathered, which is the default.
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

    /// Whether what arrives is acknowledged at once (`TCP_QUICKACK`).
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
        socket2::SockRef::from(self).tcp_quickack()
    }

    /// Lets what arrives be acknowledged at once, or later. The system may change it by itself.
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
        socket2::SockRef::from(self).set_tcp_quickack(quickack)
    }

    linger_methods! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let socket = TcpStream::connect(listener.local_addr()?).await?;"
    }

    ttl_methods! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let socket = TcpStream::connect(listener.local_addr()?).await?;"
    }
}
