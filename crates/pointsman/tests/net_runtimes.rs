//! Sockets with their own runtime and with others.
#![cfg(all(unix, feature = "net", feature = "io-util"))]

mod common;

use std::io;
use std::sync::Arc;
use std::thread;

use common::{current_thread, must_end, threads};
use pointsman::io::{AsyncReadExt, AsyncWriteExt, Interest};
use pointsman::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixStream};
use pointsman::runtime::is_rt_shutdown_err;
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinSet};

#[test]
fn waiters_get_an_error_when_the_runtime_shuts_down() {
    must_end(|| {
        for ending in [current_thread(), threads(2)] {
            let waiting = threads(2);
            let mut waits = JoinSet::new();
            let handle = waiting.handle();
            let guard = ending.enter();
            let (mut reader, _peer) = UnixStream::pair().unwrap();
            let (mut writer, _other) = UnixStream::pair().unwrap();
            let (datagrams, _peer) = UnixDatagram::pair().unwrap();
            let streams = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            streams.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(streams).unwrap();
            drop(guard);
            let datagrams = Arc::new(datagrams);
            let shared = Arc::clone(&datagrams);

            waits.spawn_on(
                async move { reader.read(&mut [0; 8]).await.map(drop) },
                handle,
            );
            waits.spawn_on(
                async move { writer.write_all(&vec![0; 1 << 22]).await },
                handle,
            );
            waits.spawn_on(async move { listener.accept().await.map(drop) }, handle);
            waits.spawn_on(
                async move { datagrams.recv(&mut [0; 8]).await.map(drop) },
                handle,
            );
            waits.spawn_on(async move { shared.readable().await }, handle);
            // The tasks may already wait, or find the runtime shut down when they begin.
            waiting.block_on(task::yield_now());
            drop(ending);
            waiting.block_on(async {
                while let Some(result) = waits.join_next().await {
                    assert!(is_rt_shutdown_err(&result.unwrap().unwrap_err()));
                }
            });
        }
    });
}

#[test]
fn a_socket_that_outlives_its_runtime_can_move_to_another() {
    must_end(|| {
        let (first, second) = (threads(1), current_thread());
        let (one, other) = first.block_on(async { UnixStream::pair().unwrap() });
        drop(first);
        // Operations that do not wait still work.
        assert_eq!(one.try_write(b"ping").unwrap(), 4);
        let ended = second.block_on(other.readable()).unwrap_err();
        assert!(is_rt_shutdown_err(&ended));

        let other = other.into_std().unwrap();
        second.block_on(async {
            let mut other = UnixStream::from_std(other).unwrap();
            let mut buf = [0; 4];
            other.read_exact(&mut buf).await.unwrap();
            assert_eq!(&buf, b"ping");
        });
        drop(one);
    });
}

#[test]
fn registering_after_shutdown_returns_its_error() {
    must_end(|| {
        let runtime = threads(1);
        let handle = runtime.handle().clone();
        drop(runtime);
        let _guard = handle.enter();
        assert!(is_rt_shutdown_err(&UnixStream::pair().unwrap_err()));
    });
}

#[test]
fn a_socket_wakes_tasks_of_another_runtime() {
    must_end(|| {
        for owner in [current_thread(), threads(1)] {
            let (one, other) = {
                let _guard = owner.enter();
                UnixStream::pair().unwrap()
            };
            let (stop, stopped) = oneshot::channel::<()>();
            let driver = thread::spawn(move || owner.block_on(stopped).is_ok());
            let user = threads(2);
            let (mut one, mut other) = (one, other);
            let echo = user.spawn(async move {
                let mut buf = [0; 1];
                while other.read(&mut buf).await.unwrap() == 1 {
                    other.write_all(&buf).await.unwrap();
                }
            });
            user.block_on(async move {
                for byte in 0..200 {
                    one.write_all(&[byte]).await.unwrap();
                    assert_eq!(one.read_u8().await.unwrap(), byte);
                }
                drop(one);
                echo.await.unwrap();
            });
            stop.send(()).unwrap();
            assert!(driver.join().unwrap());
        }
    });
}

#[test]
fn tasks_that_read_one_socket_share_its_data() {
    const EACH: usize = 200;
    must_end(|| {
        for runtime in [current_thread(), threads(3)] {
            runtime.block_on(async {
                let (reader, writer) = UnixDatagram::pair().unwrap();
                let reader = Arc::new(reader);
                let mut readers = JoinSet::new();
                for index in 0..4 {
                    let reader = Arc::clone(&reader);
                    readers.spawn(async move {
                        let mut count = 0;
                        loop {
                            let mut buf = [0; 1];
                            let received = match index % 2 {
                                0 => {
                                    reader.readable().await.unwrap();
                                    reader.try_recv(&mut buf)
                                }
                                _ => {
                                    let recv = || socket2::SockRef::from(&*reader).peek_sender();
                                    reader.async_io(Interest::READABLE, recv).await.unwrap();
                                    reader.try_recv(&mut buf)
                                }
                            };
                            match received {
                                Ok(_) if buf[0] == 0 => return count,
                                Ok(_) => count += 1,
                                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                            }
                        }
                    });
                }
                for _ in 0..EACH {
                    writer.send(&[1]).await.unwrap();
                }
                for _ in 0..4 {
                    writer.send(&[0]).await.unwrap();
                }
                let counts = readers.join_all().await;
                assert_eq!(counts.into_iter().sum::<usize>(), EACH);
            });
        }
    });
}

#[test]
fn tasks_share_one_udp_socket() {
    must_end(|| {
        for runtime in [current_thread(), threads(3)] {
            runtime.block_on(async {
                let server = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                let addr = server.local_addr().unwrap();
                for _ in 0..3 {
                    let server = Arc::clone(&server);
                    task::spawn(async move {
                        let mut buf = [0; 8];
                        loop {
                            let (count, sender) = server.recv_from(&mut buf).await.unwrap();
                            server.send_to(&buf[..count], sender).await.unwrap();
                        }
                    });
                }
                let mut clients = JoinSet::new();
                for _ in 0..10 {
                    clients.spawn(async move {
                        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                        client.connect(addr).await.unwrap();
                        for byte in 0..50 {
                            client.send(&[byte]).await.unwrap();
                            let mut buf = [0; 8];
                            assert_eq!(client.recv(&mut buf).await.unwrap(), 1);
                            assert_eq!(buf[0], byte);
                        }
                    });
                }
                clients.join_all().await;
            });
        }
    });
}

#[test]
fn many_connections_talk_at_once() {
    must_end(|| {
        for runtime in [current_thread(), threads(1), threads(4)] {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let addr = listener.local_addr().unwrap();
                task::spawn(async move {
                    loop {
                        let (stream, _) = listener.accept().await.unwrap();
                        task::spawn(async move {
                            let (mut reader, mut writer) = stream.into_split();
                            let mut buf = [0; 64];
                            loop {
                                match reader.read(&mut buf).await.unwrap() {
                                    0 => return,
                                    count => writer.write_all(&buf[..count]).await.unwrap(),
                                }
                            }
                        });
                    }
                });
                let mut clients = JoinSet::new();
                for _ in 0..100 {
                    clients.spawn(async move {
                        let mut stream = TcpStream::connect(addr).await.unwrap();
                        for byte in 0..20 {
                            stream.write_all(&[byte]).await.unwrap();
                            assert_eq!(stream.read_u8().await.unwrap(), byte);
                        }
                    });
                }
                clients.join_all().await;
            });
        }
    });
}
