//! The address of a Unix socket.

use std::fmt;
#[cfg(target_os = "android")]
use std::os::android::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net;
use std::path::Path;

/// The address of a Unix socket: a path, a name in Linux's abstract namespace, or unnamed.
///
/// Converts from and into the standard library's type.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, _other) = UnixStream::pair()?;
///     assert!(one.local_addr()?.is_unnamed());
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct SocketAddr(pub(super) net::SocketAddr);

impl SocketAddr {
    /// The address of a path, or on Linux, for a path that begins with a zero byte, of a name in the abstract
    /// namespace.
    pub(super) fn of_path(path: &Path) -> std::io::Result<Self> {
        #[cfg(any(target_os = "android", target_os = "linux"))]
        {
            use std::os::unix::ffi::OsStrExt;

            if let [0, name @ ..] = path.as_os_str().as_bytes() {
                return net::SocketAddr::from_abstract_name(name).map(Self);
            }
        }
        net::SocketAddr::from_pathname(path).map(Self)
    }

    /// Returns whether the socket is unnamed, as those of a pair are.
    ///
    /// ```
    /// # use pointsman::net::unix::SocketAddr;
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/tmp/socket")?;
    /// assert!(!SocketAddr::from(address).is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed()
    }

    /// Returns the path, if the address is one.
    ///
    /// ```
    /// # use pointsman::net::unix::SocketAddr;
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/tmp/socket")?;
    /// let address = SocketAddr::from(address);
    /// assert_eq!(address.as_pathname(), Some("/tmp/socket".as_ref()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn as_pathname(&self) -> Option<&Path> {
        self.0.as_pathname()
    }

    /// Returns the name in the abstract namespace, without the zero byte, if the address is one.
    ///
    /// ```
    /// # use pointsman::net::unix::SocketAddr;
    /// use std::os::linux::net::SocketAddrExt;
    ///
    /// let address = std::os::unix::net::SocketAddr::from_abstract_name("name")?;
    /// let address = SocketAddr::from(address);
    /// assert_eq!(address.as_abstract_name(), Some(b"name".as_ref()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        self.0.as_abstract_name()
    }
}

impl fmt::Debug for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<net::SocketAddr> for SocketAddr {
    fn from(address: net::SocketAddr) -> Self {
        Self(address)
    }
}

impl From<SocketAddr> for net::SocketAddr {
    fn from(address: SocketAddr) -> Self {
        address.0
    }
}
