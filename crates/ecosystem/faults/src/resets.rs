//! Peers that reset connections during reads and writes.

use std::io::{Read, Write};
use std::net;
use std::thread;
use std::time::Duration;

use faults::{Findings, Outcomes, listen, peer, processor_time, runtime};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const PEERS: usize = 4;

/// A third of the connections is being read when reset, a third written, a third both by two tasks.
pub(crate) fn resets(connections: usize, found: &mut Findings) {
    let began = processor_time();
    let runtime = runtime();
    let (listener, address) = listen(&runtime);
    let connections = connections / PEERS * PEERS;
    let peers: Vec<_> = (0..PEERS)
        .map(|_| peer(move || (0..connections / PEERS).for_each(|number| reset(address, number))))
        .collect();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for number in 0..connections {
            let (stream, _) = listener.accept().await.unwrap();
            tasks.spawn(serve(stream, number, found.outcomes.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    });
    peers.into_iter().for_each(|it| it.join().unwrap());
    drop(runtime);
    found.processor_time_each(began, connections);
}

fn reset(address: net::SocketAddr, number: usize) {
    let mut stream = net::TcpStream::connect(address).unwrap();
    stream.write_all(b"data").unwrap();
    if number.is_multiple_of(2) {
        // Until the peer waits.
        thread::sleep(Duration::from_micros(200));
        let _ = stream.set_read_timeout(Some(Duration::from_micros(100)));
        let _ = stream.read(&mut [0; 4096]);
    }
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
}

async fn serve(mut stream: TcpStream, number: usize, outcomes: Outcomes) {
    match number % 3 {
        0 => {
            let mut all = Vec::new();
            let result = stream.read_to_end(&mut all).await;
            outcomes.add_result("read", &result);
        }
        1 => {
            let result = write(&mut stream).await;
            outcomes.add_result("write", &result);
        }
        // Which of the two tasks gets the error is unspecified.
        _ => {
            let (mut reader, mut writer) = stream.into_split();
            let writing = tokio::spawn(async move { write(&mut writer).await.unwrap_err() });
            let read = reader.read_to_end(&mut Vec::new()).await;
            let written = writing.await.unwrap();
            let kinds = [written.kind()]
                .into_iter()
                .chain(read.err().map(|it| it.kind()));
            assert!(
                kinds
                    .into_iter()
                    .any(|it| it == std::io::ErrorKind::ConnectionReset)
            );
        }
    }
}

async fn write(stream: &mut (impl AsyncWriteExt + Unpin)) -> std::io::Result<()> {
    loop {
        stream.write_all(&[7; 16 * 1024]).await?;
    }
}
