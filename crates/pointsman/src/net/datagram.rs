//! Sending and receiving datagrams, for UDP and Unix sockets.

use std::io;
use std::task::{Context, Poll, ready};

use mio::event::Source;

use super::fill::fill;
#[cfg(feature = "io-util")]
use super::fill::fill_buf;
use crate::io::{Interest, PollEvented, ReadBuf};

/// A datagram socket of mio.
///
/// # Safety
/// `recv` and `recv_from` write to their buffer without reading it, and return the number of bytes written.
pub(crate) unsafe trait Datagram: Source {
    type Address;

    /// The events that end a wait for a datagram.
    const RECEIVE: Interest;

    fn send(&self, buf: &[u8]) -> io::Result<usize>;
    fn recv(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Address)>;
}

impl<D: Datagram> PollEvented<D> {
    pub(super) async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.registration()
            .async_io(Interest::WRITABLE, || D::send(self, buf))
            .await
    }

    pub(super) fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.registration().poll_write_io(cx, || D::send(self, buf))
    }

    pub(super) fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::WRITABLE, || D::send(self, buf))
    }

    pub(super) async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration()
            .async_io(D::RECEIVE, || D::recv(self, buf))
            .await
    }

    pub(super) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let received = ready!(self.registration().poll_read_io(cx, || {
            // SAFETY: an implementation of `Datagram` guarantees what `fill` asks of `recv`.
            unsafe { fill(buf, |free| D::recv(self, free).map(|count| (count, ()))) }
        }));
        Poll::Ready(received.map(drop))
    }

    pub(super) fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::READABLE, || D::recv(self, buf))
    }

    #[cfg(feature = "io-util")]
    pub(super) async fn recv_buf(&self, buf: &mut impl bytes::BufMut) -> io::Result<usize> {
        self.registration()
            .async_io(D::RECEIVE, || self.recv_into(buf))
            .await
    }

    #[cfg(feature = "io-util")]
    pub(super) fn try_recv_buf(&self, buf: &mut impl bytes::BufMut) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::READABLE, || self.recv_into(buf))
    }

    pub(super) async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, D::Address)> {
        self.registration()
            .async_io(D::RECEIVE, || D::recv_from(self, buf))
            .await
    }

    pub(super) fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<D::Address>> {
        let received = ready!(self.registration().poll_read_io(cx, || {
            // SAFETY: an implementation of `Datagram` guarantees what `fill` asks of `recv_from`.
            unsafe { fill(buf, |free| D::recv_from(self, free)) }
        }));
        Poll::Ready(received.map(|(_, address)| address))
    }

    pub(super) fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, D::Address)> {
        self.registration()
            .try_io(Interest::READABLE, || D::recv_from(self, buf))
    }

    #[cfg(feature = "io-util")]
    pub(super) async fn recv_buf_from(
        &self,
        buf: &mut impl bytes::BufMut,
    ) -> io::Result<(usize, D::Address)> {
        self.registration()
            .async_io(D::RECEIVE, || self.recv_from_into(buf))
            .await
    }

    #[cfg(feature = "io-util")]
    pub(super) fn try_recv_buf_from(
        &self,
        buf: &mut impl bytes::BufMut,
    ) -> io::Result<(usize, D::Address)> {
        self.registration()
            .try_io(Interest::READABLE, || self.recv_from_into(buf))
    }

    #[cfg(feature = "io-util")]
    fn recv_into(&self, buf: &mut impl bytes::BufMut) -> io::Result<usize> {
        // SAFETY: an implementation of `Datagram` guarantees what `fill_buf` asks of `recv`.
        let received =
            unsafe { fill_buf(buf, |free| D::recv(self, free).map(|count| (count, ()))) };
        received.map(|(count, ())| count)
    }

    #[cfg(feature = "io-util")]
    fn recv_from_into(&self, buf: &mut impl bytes::BufMut) -> io::Result<(usize, D::Address)> {
        // SAFETY: an implementation of `Datagram` guarantees what `fill_buf` asks of `recv_from`.
        unsafe { fill_buf(buf, |free| D::recv_from(self, free)) }
    }
}
