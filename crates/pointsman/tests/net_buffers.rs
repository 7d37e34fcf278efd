//! The vectored, growing-buffer and polling variants of reading, writing, sending and receiving transfer the same bytes
//! as the plain methods, on each kind of socket and pipe.
#![cfg(all(unix, feature = "net", feature = "io-util"))]

use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};

use pointsman::io::ReadBuf;
use pointsman::net::unix::pipe;
use pointsman::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixStream};

/// Writes "ping" from two buffers and reads it into two buffers, and once more into a growing one.
macro_rules! transfers_vectored_and_growing {
    ($writer:expr, $reader:expr) => {{
        let (writer, reader) = ($writer, $reader);
        for growing in [false, true] {
            writer.writable().await?;
            let bufs = [IoSlice::new(b"pi"), IoSlice::new(b"ng")];
            assert_eq!(writer.try_write_vectored(&bufs)?, 4);
            reader.readable().await?;
            if growing {
                let mut buf = Vec::with_capacity(8);
                assert_eq!(reader.try_read_buf(&mut buf)?, 4);
                assert_eq!(buf, b"ping");
            } else {
                let (mut first, mut second) = ([0; 1], [0; 3]);
                let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
                assert_eq!(reader.try_read_vectored(&mut bufs)?, 4);
                assert_eq!((&first, &second), (b"p", b"ing"));
            }
        }
    }};
}

async fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    Ok((client, listener.accept().await?.0))
}

#[pointsman::test]
async fn streams_and_their_halves_transfer_vectored_and_growing() -> io::Result<()> {
    let (mut one, mut other) = tcp_pair().await?;
    transfers_vectored_and_growing!(&one, &other);
    transfers_vectored_and_growing!(one.split().1, other.split().0);
    let (_reader, writer) = one.into_split();
    let (reader, _writer) = other.into_split();
    transfers_vectored_and_growing!(&writer, &reader);

    let (mut one, mut other) = UnixStream::pair()?;
    transfers_vectored_and_growing!(&one, &other);
    transfers_vectored_and_growing!(one.split().1, other.split().0);
    let (_reader, writer) = one.into_split();
    let (reader, _writer) = other.into_split();
    transfers_vectored_and_growing!(&writer, &reader);
    Ok(())
}

#[pointsman::test]
async fn pipes_transfer_vectored_and_growing() -> io::Result<()> {
    let (sender, receiver) = pipe::pipe()?;
    transfers_vectored_and_growing!(&sender, &receiver);
    Ok(())
}

/// Checks the polling variants of readiness on a connected pair.
macro_rules! polls_readiness {
    ($writer:expr, $write_ready:ident, $ping:expr, $reader:expr, $read_ready:ident) => {{
        poll_fn(|cx| $writer.$write_ready(cx)).await?;
        assert_eq!($ping?, 4);
        poll_fn(|cx| $reader.$read_ready(cx)).await?;
    }};
}

#[pointsman::test]
async fn readiness_can_be_polled() -> io::Result<()> {
    let (one, other) = tcp_pair().await?;
    polls_readiness!(
        one,
        poll_write_ready,
        one.try_write(b"ping"),
        other,
        poll_read_ready
    );
    let (one, other) = UnixStream::pair()?;
    polls_readiness!(
        one,
        poll_write_ready,
        one.try_write(b"ping"),
        other,
        poll_read_ready
    );
    let (one, other) = pipe::pipe()?;
    polls_readiness!(
        one,
        poll_write_ready,
        one.try_write(b"ping"),
        other,
        poll_read_ready
    );
    let (one, other) = UnixDatagram::pair()?;
    polls_readiness!(
        one,
        poll_send_ready,
        one.try_send(b"ping"),
        other,
        poll_recv_ready
    );
    let (one, other) = udp_pair().await?;
    polls_readiness!(
        one,
        poll_send_ready,
        one.try_send(b"ping"),
        other,
        poll_recv_ready
    );
    Ok(())
}

async fn udp_pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let one = UdpSocket::bind("127.0.0.1:0").await?;
    let other = UdpSocket::bind("127.0.0.1:0").await?;
    one.connect(other.local_addr()?).await?;
    other.connect(one.local_addr()?).await?;
    Ok((one, other))
}

/// Sends "ping" by polling and receives it by each variant.
macro_rules! transfers_datagrams {
    ($pair:expr) => {{
        let (one, other) = $pair;
        let mut buf = Vec::with_capacity(64);
        let mut bytes = [0; 8];

        poll_fn(|cx| one.poll_send(cx, b"ping")).await?;
        assert_eq!(other.recv_buf(&mut buf).await?, 4);
        one.send(b"ping").await?;
        other.readable().await?;
        assert_eq!(other.try_recv_buf(&mut buf)?, 4);
        one.send(b"ping").await?;
        assert_eq!(other.recv_buf_from(&mut buf).await?.0, 4);
        one.send(b"ping").await?;
        other.readable().await?;
        assert_eq!(other.try_recv_buf_from(&mut buf)?.0, 4);
        assert_eq!(buf, b"pingpingpingping");

        let mut polled = ReadBuf::new(&mut bytes);
        one.send(b"ping").await?;
        poll_fn(|cx| other.poll_recv(cx, &mut polled)).await?;
        one.send(b"pong").await?;
        poll_fn(|cx| other.poll_recv_from(cx, &mut polled)).await?;
        assert_eq!(polled.filled(), b"pingpong");
    }};
}

#[pointsman::test]
async fn datagram_sockets_transfer_by_each_variant() -> io::Result<()> {
    transfers_datagrams!(udp_pair().await?);
    transfers_datagrams!(UnixDatagram::pair()?);
    Ok(())
}

#[pointsman::test]
async fn peeked_bytes_stay_to_be_read() -> io::Result<()> {
    let (one, mut other) = tcp_pair().await?;
    one.try_write(b"ping")?;
    let mut bytes = [0; 4];
    assert_eq!(other.split().0.peek(&mut bytes).await?, 4);
    let (mut reader, _writer) = other.into_split();
    let mut peeked = ReadBuf::new(&mut bytes);
    assert_eq!(poll_fn(|cx| reader.poll_peek(cx, &mut peeked)).await?, 4);
    reader.readable().await?;
    assert_eq!(reader.try_read(&mut bytes)?, 4);
    assert_eq!(&bytes, b"ping");
    Ok(())
}
