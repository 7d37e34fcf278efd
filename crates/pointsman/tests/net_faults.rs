//! Connection faults return the errors that the standard library returns.
#![cfg(all(unix, feature = "net", feature = "io-util"))]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net;

use common::must_end;
use pointsman::io::{AsyncReadExt, AsyncWriteExt};
use pointsman::net::{TcpListener, TcpSocket, TcpStream};
use pointsman::runtime::Builder;
use pointsman::{spawn, task};
use socket2::SockRef;

/// Makes closing the stream reset the connection.
fn reset(stream: net::TcpStream) {
    SockRef::from(&stream)
        .set_linger(Some(std::time::Duration::ZERO))
        .unwrap();
    drop(stream);
}

fn std_pair() -> (net::TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let one = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// A stream, and its peer.
fn pair() -> (TcpStream, net::TcpStream) {
    let (one, other) = std_pair();
    one.set_nonblocking(true).unwrap();
    (TcpStream::from_std(one).unwrap(), other)
}

/// Runs the test on each kind of runtime.
fn each<F: Future<Output = ()> + 'static>(test: fn() -> F) {
    must_end(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test());
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    });
}

#[test]
fn a_reset_ends_a_read_that_waits() {
    each(|| async {
        let (mut one, other) = std_pair();
        let expected = std::thread::spawn(move || one.read(&mut [0; 8]).unwrap_err().kind());
        reset(other);

        let (mut one, other) = pair();
        let read = spawn(async move { one.read(&mut [0; 8]).await.unwrap_err().kind() });
        task::yield_now().await;
        reset(other);
        assert_eq!(read.await.unwrap(), expected.join().unwrap());
    });
}

#[test]
fn a_reset_ends_a_write_that_waits() {
    each(|| async {
        let data = vec![1; 1 << 20];
        let (mut one, other) = std_pair();
        let expected = std::thread::spawn({
            let data = data.clone();
            move || loop {
                if let Err(error) = one.write_all(&data) {
                    return error.kind();
                }
            }
        });
        (&other).read_exact(&mut [0; 8]).unwrap();
        reset(other);

        let (mut one, mut other) = pair();
        let write = spawn(async move {
            loop {
                if let Err(error) = one.write_all(&data).await {
                    return error.kind();
                }
            }
        });
        task::spawn_blocking(move || {
            other.read_exact(&mut [0; 8]).unwrap();
            reset(other);
        })
        .await
        .unwrap();
        // Which of the two errors depends on whether the write is waiting or begins at that moment.
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(kinds.contains(&expected.join().unwrap()));
        assert!(kinds.contains(&write.await.unwrap()));
    });
}

#[test]
fn data_on_a_half_open_connection_arrives() {
    each(|| async {
        let (mut one, mut other) = pair();
        other.write_all(b"last").unwrap();
        other.shutdown(net::Shutdown::Write).unwrap();
        let mut all = Vec::new();
        one.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"last");

        one.write_all(b"answer").await.unwrap();
        one.shutdown().await.unwrap();
        let mut all = Vec::new();
        other.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"answer");
        // The end remains the end, and a second shutdown is no error.
        assert_eq!(one.read(&mut [0; 8]).await.unwrap(), 0);
        one.shutdown().await.unwrap();
    });
}

#[test]
fn an_address_without_a_listener_refuses() {
    each(|| async {
        let closed = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = closed.local_addr().unwrap();
        drop(closed);
        let expected = net::TcpStream::connect(addr).unwrap_err().kind();
        assert_eq!(TcpStream::connect(addr).await.unwrap_err().kind(), expected);
        let socket = TcpSocket::new_v4().unwrap();
        assert_eq!(socket.connect(addr).await.unwrap_err().kind(), expected);

        // One reachable address of several suffices.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[addr, open][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);

        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}
