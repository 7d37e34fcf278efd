//! Cancelling a wait on a socket loses nothing.
#![cfg(all(unix, feature = "net", feature = "io-util"))]

mod common;

use std::io::Write;

use common::must_end;
use futures::FutureExt;
use pointsman::io::AsyncReadExt;
use pointsman::net::{TcpListener, TcpStream, UdpSocket};
use pointsman::runtime::Builder;
use pointsman::task::{self, JoinSet};

const COUNT: usize = 100;

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

/// Polls futures once each until one is ready.
async fn impatient<F: Future>(mut make: impl FnMut() -> F) -> F::Output {
    loop {
        if let Some(output) = make().now_or_never() {
            return output;
        }
        task::yield_now().await;
    }
}

#[test]
fn accept_loses_no_connection() {
    each(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut clients = JoinSet::new();
        for _ in 0..COUNT {
            clients.spawn(async move { TcpStream::connect(addr).await.unwrap() });
        }
        for _ in 0..COUNT {
            impatient(|| listener.accept()).await.unwrap();
        }
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
        assert!(listener.accept().now_or_never().is_none());
    });
}

#[test]
fn recv_from_loses_no_datagram() {
    each(|| async {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let addr = receiver.local_addr().unwrap();
        let sender = task::spawn(async move {
            let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            for index in 0..COUNT {
                sender.send_to(&[index as u8], addr).await.unwrap();
                task::yield_now().await;
            }
        });
        for index in 0..COUNT {
            let received = impatient(|| async {
                let mut buf = [0; 8];
                let (count, _) = receiver.recv_from(&mut buf).await.unwrap();
                buf[..count].to_vec()
            });
            assert_eq!(received.await, [index as u8]);
        }
        sender.await.unwrap();
    });
}

#[test]
fn read_loses_no_byte() {
    each(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        for index in 0..COUNT {
            let mut buf = [0; 8];
            assert!(stream.read(&mut buf).now_or_never().is_none());
            peer.write_all(&[index as u8]).unwrap();
            let count = loop {
                match stream.read(&mut buf).now_or_never() {
                    Some(count) => break count.unwrap(),
                    None => task::yield_now().await,
                }
            };
            assert_eq!(buf[..count], [index as u8]);
        }
    });
}

#[test]
fn a_connection_that_was_given_up_is_closed() {
    each(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        for _ in 0..COUNT {
            let kept = TcpStream::connect(addr).now_or_never();
            let (mut accepted, _) = listener.accept().await.unwrap();
            if kept.is_none() {
                assert!(matches!(accepted.read(&mut [0; 8]).await, Ok(0) | Err(_)));
            }
        }
        let client = TcpStream::connect(addr).await.unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
    });
}
