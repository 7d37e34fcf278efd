//! Socket addresses and host names.
//!
//! Invariant: an address is never looked up; a name is looked up by a job of the blocking pool.

use std::future::{Future, Ready, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use sealed::{Internal, Lookup, ToSocketAddrsPriv};

/// A value that can be resolved to socket addresses without blocking the thread.
///
/// Addresses ([`SocketAddr`], `(IpAddr, u16)`, a slice of addresses, ...) are used as they are. A string
/// (`"host:port"`, or a tuple of host and port) is parsed; if it is a name, the system's resolver looks it up on a
/// thread for blocking work, which requires a runtime.
///
/// The trait is sealed: use [`lookup_host`], or pass such a value to `connect` or `bind`.
///
/// ```
/// use pointsman::net::{TcpListener, ToSocketAddrs};
///
/// async fn serve(address: impl ToSocketAddrs) -> std::io::Result<u16> {
///     Ok(TcpListener::bind(address).await?.local_addr()?.port())
/// }
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     assert_ne!(serve("127.0.0.1:0").await?, 0);
///     assert_ne!(serve((std::net::Ipv4Addr::LOCALHOST, 0)).await?, 0);
///     Ok(())
/// }
/// ```
pub trait ToSocketAddrs: ToSocketAddrsPriv {}

/// Resolves a host name to addresses, by the system's resolver.
///
/// # Errors
/// If the name is unknown, or the string has no port.
///
/// # Panics
/// If a name is looked up outside of a runtime.
///
/// # Cancel safety
/// Cancel safe: a lookup that has begun completes, and its result is dropped.
///
/// ```
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let addresses = pointsman::net::lookup_host("127.0.0.1:80").await?;
///     assert_eq!(addresses.collect::<Vec<_>>(), ["127.0.0.1:80".parse().unwrap()]);
///     Ok(())
/// }
/// ```
pub async fn lookup_host<T>(host: T) -> io::Result<impl Iterator<Item = SocketAddr>>
where
    T: ToSocketAddrs,
{
    to_socket_addrs(host).await
}

pub(super) fn to_socket_addrs<T: ToSocketAddrs>(addr: T) -> T::Future {
    addr.to_socket_addrs(Internal)
}

/// The error of the last attempt, or that there was no address to attempt.
pub(super) fn no_address(last: Option<io::Error>) -> io::Error {
    last.unwrap_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "could not resolve to any address",
        )
    })
}

/// Returns the result of the first address for which `attempt` succeeds.
pub(super) async fn first_of<T>(
    addr: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = None;
    for addr in to_socket_addrs(addr).await? {
        match attempt(addr) {
            Ok(made) => return Ok(made),
            Err(error) => last = Some(error),
        }
    }
    Err(no_address(last))
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: ToSocketAddrsPriv + ?Sized> ToSocketAddrsPriv for &T {
    type Iter = T::Iter;
    type Future = T::Future;

    fn to_socket_addrs(&self, internal: Internal) -> Self::Future {
        (**self).to_socket_addrs(internal)
    }
}

macro_rules! addresses {
    ($($addr:ty: |$this:ident| $to:expr;)+) => {$(
        impl ToSocketAddrs for $addr {}

        impl ToSocketAddrsPriv for $addr {
            type Iter = std::option::IntoIter<SocketAddr>;
            type Future = Ready<io::Result<Self::Iter>>;

            fn to_socket_addrs(&self, _: Internal) -> Self::Future {
                let $this = *self;
                ready(Ok(Some($to).into_iter()))
            }
        }
    )+};
}

addresses! {
    SocketAddr: |addr| addr;
    SocketAddrV4: |addr| addr.into();
    SocketAddrV6: |addr| addr.into();
    (IpAddr, u16): |addr| addr.into();
    (Ipv4Addr, u16): |addr| addr.into();
    (Ipv6Addr, u16): |addr| addr.into();
}

impl ToSocketAddrs for &[SocketAddr] {}

impl ToSocketAddrsPriv for &[SocketAddr] {
    type Iter = std::vec::IntoIter<SocketAddr>;
    type Future = Ready<io::Result<Self::Iter>>;

    fn to_socket_addrs(&self, _: Internal) -> Self::Future {
        // The future outlives the slice.
        let addrs: Vec<SocketAddr> = self.to_vec();
        ready(Ok(addrs.into_iter()))
    }
}

macro_rules! names {
    ($($name:ty: |$this:ident| $parsed:expr, $owned:expr;)+) => {$(
        impl ToSocketAddrs for $name {}

        impl ToSocketAddrsPriv for $name {
            type Iter = sealed::OneOrMore;
            type Future = Lookup;

            fn to_socket_addrs(&self, _: Internal) -> Self::Future {
                let $this = self;
                match $parsed {
                    Ok(addr) => Lookup::done(addr),
                    Err(_) => Lookup::blocking($owned),
                }
            }
        }
    )+};
}

names! {
    str: |name| name.parse::<SocketAddr>(), name.to_owned();
    String: |name| name.parse::<SocketAddr>(), name.clone();
    (&str, u16): |name| name.0.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, name.1)), (name.0.to_owned(), name.1);
    (String, u16): |name| name.0.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, name.1)), name.clone();
}

/// Sealed: public only because the trait's signature names these types.
pub(crate) mod sealed {
    use std::net::ToSocketAddrs;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use super::{Future, SocketAddr, io};
    use crate::task::{JoinHandle, spawn_blocking};

    #[doc(hidden)]
    pub trait ToSocketAddrsPriv {
        type Iter: Iterator<Item = SocketAddr> + Send + 'static;
        type Future: Future<Output = io::Result<Self::Iter>> + Send + 'static;

        fn to_socket_addrs(&self, internal: Internal) -> Self::Future;
    }

    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Internal;

    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Lookup(LookupState);

    #[derive(Debug)]
    enum LookupState {
        Done(SocketAddr),
        Blocking(JoinHandle<io::Result<std::vec::IntoIter<SocketAddr>>>),
    }

    impl Lookup {
        pub(super) fn done(addr: SocketAddr) -> Self {
            Self(LookupState::Done(addr))
        }

        pub(super) fn blocking<T>(name: T) -> Self
        where
            T: ToSocketAddrs<Iter = std::vec::IntoIter<SocketAddr>> + Send + 'static,
        {
            Self(LookupState::Blocking(spawn_blocking(move || {
                name.to_socket_addrs()
            })))
        }
    }

    impl Future for Lookup {
        type Output = io::Result<OneOrMore>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            match &mut self.0 {
                LookupState::Done(addr) => Poll::Ready(Ok(OneOrMore::One(Some(*addr).into_iter()))),
                LookupState::Blocking(lookup) => {
                    let addrs = ready!(Pin::new(lookup).poll(cx))?;
                    Poll::Ready(addrs.map(OneOrMore::More))
                }
            }
        }
    }

    #[doc(hidden)]
    #[derive(Debug)]
    pub enum OneOrMore {
        One(std::option::IntoIter<SocketAddr>),
        More(std::vec::IntoIter<SocketAddr>),
    }

    impl Iterator for OneOrMore {
        type Item = SocketAddr;

        fn next(&mut self) -> Option<SocketAddr> {
            match self {
                Self::One(addrs) => addrs.next(),
                Self::More(addrs) => addrs.next(),
            }
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            match self {
                Self::One(addrs) => addrs.size_hint(),
                Self::More(addrs) => addrs.size_hint(),
            }
        }
    }
}
