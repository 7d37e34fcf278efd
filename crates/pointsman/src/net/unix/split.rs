//! The halves of a Unix stream.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(feature = "io-util")]
use super::super::fill::fill_buf;
use super::SocketAddr;
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
use crate::net::UnixStream;

macro_rules! nothing_more {
    ($($all:tt)*) => {};
}

stream_halves! {
    UnixStream, mio::net::UnixStream, SocketAddr,
    "use pointsman::net::UnixStream;",
    "    let (one, other) = UnixStream::pair()?;",
    reading: { nothing_more },
    owned: "    let (one, other) = UnixStream::pair()?;
    let ((_keep, writer), (reader, _also)) = (one.into_split(), other.into_split());",
    borrowed: "    let (mut one, mut other) = UnixStream::pair()?;
    let ((_, writer), (reader, _)) = (one.split(), other.split());"
}
