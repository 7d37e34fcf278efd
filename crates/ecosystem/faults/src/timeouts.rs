//! Peers that never answer, and cancelled operations.

use std::io::Write;
use std::net;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use faults::{Findings, listen, peer, processor_time, resident, runtime};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long to wait for a silent peer.
const PATIENCE: Duration = Duration::from_millis(300);

/// All reads, writes and connects time out; those that are answered later have lost no data.
pub(crate) fn half_open(connections: usize, found: &mut Findings) {
    let began = processor_time();
    let runtime = runtime();
    let (listener, address) = listen(&runtime);
    runtime.block_on(async {
        let mut peers = Vec::new();
        let mut tasks = JoinSet::new();
        for _ in 0..connections {
            let peer = net::TcpStream::connect(address).unwrap();
            peers.push(peer);
            let (mut stream, _) = listener.accept().await.unwrap();
            tasks.spawn(async move {
                let asked = Instant::now();
                let read = timeout(PATIENCE, stream.read_u8()).await;
                assert!(read.is_err(), "a silent peer was read: {read:?}");
                let late = asked.elapsed() - PATIENCE;
                (stream, late)
            });
        }
        let mut streams = Vec::new();
        let mut latest = Duration::ZERO;
        while let Some(ended) = tasks.join_next().await {
            let (stream, late) = ended.unwrap();
            streams.push(stream);
            latest = latest.max(late);
        }
        found.figure("latest timeout", latest.as_secs_f64() * 1e3, "ms late");
        // They answer after all.
        peers.iter_mut().for_each(|it| it.write_all(&[7]).unwrap());
        for stream in &mut streams {
            let read = timeout(Duration::from_secs(10), stream.read_u8()).await;
            assert_eq!(read.expect("nothing comes").unwrap(), 7);
        }
        for stream in streams.iter_mut().take(50) {
            SockRef::from(&*stream).set_send_buffer_size(4096).unwrap();
            let written = timeout(PATIENCE / 10, write(stream)).await;
            assert!(written.is_err(), "writing does not wait: {written:?}");
        }
        black_hole(connections / 4).await;
    });
    drop(runtime);
    found.processor_time_each(began, connections);
}

async fn write(stream: &mut TcpStream) {
    loop {
        stream.write_all(&[7; 16 * 1024]).await.unwrap();
    }
}

/// Connects to a listener that does not accept.
async fn black_hole(connects: usize) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = net::SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..connects {
        tasks.spawn(timeout(PATIENCE, TcpStream::connect(address)));
    }
    let ended = tasks.join_all().await;
    let connected = ended.iter().filter(|it| it.is_ok()).count();
    assert!(connected <= 4, "{connected} have connected");
}

const CONNECTIONS: usize = 500;
/// The number of bytes that arrive on each connection meanwhile.
const BYTES: u8 = 200;

/// Cancels this many reads while single bytes arrive: every byte is read, in order.
pub(crate) fn cancelled(times: usize, found: &mut Findings) {
    let before = resident();
    let began = processor_time();
    let runtime = runtime();
    let (listener, address) = listen(&runtime);
    let left = Arc::new(AtomicUsize::new(times));
    runtime.block_on(async {
        let mut peers = Vec::new();
        let mut tasks = JoinSet::new();
        for number in 0..CONNECTIONS {
            peers.push(net::TcpStream::connect(address).unwrap());
            let stream = accept(&listener).await;
            tasks.spawn(read(stream, number % 2 == 0, Arc::clone(&left)));
        }
        let writing = peer({
            let left = Arc::clone(&left);
            move || {
                for byte in 0..BYTES {
                    // Spread over the whole duration.
                    let due = times - times / usize::from(BYTES) * usize::from(byte);
                    while left.load(Relaxed) > due {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    peers
                        .iter_mut()
                        .for_each(|it| it.write_all(&[byte]).unwrap());
                }
                peers
            }
        });
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        drop(writing.join().unwrap());
    });
    drop(runtime);
    found.processor_time_each(began, times);
    found.figure("memory that stays", (resident() - before) / 1024.0, "MB");
}

async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.unwrap().0
}

async fn read(mut stream: TcpStream, whole: bool, left: Arc<AtomicUsize>) {
    let mut expected = 0;
    loop {
        let wait = Duration::from_micros(10);
        let read = match whole {
            true => timeout(wait, stream.read_u8()).await,
            // Any number of tasks may wait this way.
            false => match timeout(wait, stream.readable()).await {
                Ok(ready) => {
                    ready.unwrap();
                    let mut byte = [0];
                    match stream.try_read(&mut byte) {
                        Ok(count) => {
                            assert_eq!(count, 1, "the peer has gone");
                            Ok(Ok(byte[0]))
                        }
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                        Err(error) => Ok(Err(error)),
                    }
                }
                Err(elapsed) => Err(elapsed),
            },
        };
        match read {
            Ok(byte) => {
                assert_eq!(byte.unwrap(), expected, "a byte is lost");
                expected += 1;
                if expected == BYTES {
                    return;
                }
            }
            Err(_) => {
                let _ = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            }
        }
    }
}
