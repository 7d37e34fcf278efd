//! A runtime that shuts down during reads and writes.

use std::io;
use std::time::{Duration, Instant};

use faults::{Findings, echo, processor_time, runtime};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use tokio::runtime::{Runtime, is_rt_shutdown_err};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Connections within the runtime that shuts down.
const INSIDE: usize = 4;

/// A task in another runtime that uses its sockets gets an error that names the cause.
pub(crate) fn dropped(times: usize, found: &mut Findings) {
    let began = processor_time();
    let started = Instant::now();
    let stays = runtime();
    for number in 0..times {
        let ends = runtime();
        let waiting = ends.block_on(begin(&stays));
        // At once, or under full load.
        if number % 4 != 0 {
            std::thread::sleep(Duration::from_micros(200 * (number % 4) as u64));
        }
        match number % 3 {
            0 => drop(ends),
            1 => ends.shutdown_timeout(Duration::from_secs(10)),
            _ => {
                ends.shutdown_background();
            }
        }
        for (operation, task) in waiting {
            let ended = stays.block_on(async { timeout(Duration::from_secs(10), task).await });
            let error = ended.expect("it waits forever").unwrap();
            assert!(is_rt_shutdown_err(&error), "{operation}: {error:?}");
            found.outcomes.add_result::<()>(operation, &Err(error));
        }
    }
    drop(stays);
    let each = started.elapsed().as_secs_f64() * 1e3 / times as f64;
    found.figure("time", each, "ms each");
    found.processor_time_each(began, times);
}

async fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap());
    let (client, server) = tokio::join!(client, listener.accept());
    (client.unwrap(), server.unwrap().0)
}

type Waiting = Vec<(&'static str, JoinHandle<io::Error>)>;

/// Traffic within the current runtime, and tasks of the other runtime that use its sockets.
async fn begin(other: &Runtime) -> Waiting {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut waiting: Waiting = Vec::new();
    for _ in 0..INSIDE {
        let (client, server) = pair(&listener).await;
        tokio::spawn(echo(server));
        let (mut reader, mut writer) = client.into_split();
        tokio::spawn(async move { while writer.write_all(&[7; 1000]).await.is_ok() {} });
        tokio::spawn(async move { while let Ok(1..) = reader.read(&mut [0; 1000]).await {} });
    }
    let (mut reader, silent) = pair(&listener).await;
    let reading = async move {
        let _open = silent;
        reader.read_u8().await.unwrap_err()
    };
    waiting.push(("read", other.spawn(reading)));
    let (client, reads_nothing) = pair(&listener).await;
    let writing = async move {
        let _open = reads_nothing;
        loop {
            if let Err(error) = client.writable().await {
                return error;
            }
            match client.try_write(&[7; 65536]) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return error,
            }
        }
    };
    waiting.push(("write", other.spawn(writing)));
    let accepting = async move { listener.accept().await.unwrap_err() };
    waiting.push(("accept", other.spawn(accepting)));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let receiving = async move { socket.recv(&mut [0]).await.unwrap_err() };
    waiting.push(("recv", other.spawn(receiving)));
    let (left, right) = UnixStream::pair().unwrap();
    let ready = async move {
        let _open = right;
        left.readable().await.unwrap_err()
    };
    waiting.push(("readable", other.spawn(ready)));
    // An operation without a source has no error either.
    let (mut one, _other) = duplex(64);
    tokio::spawn(async move { one.read_u8().await });
    waiting
}
