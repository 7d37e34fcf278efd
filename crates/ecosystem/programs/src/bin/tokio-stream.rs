//! Lines of many connections, merged into one stream, in chunks and with a timeout.

use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::{io, time};
use tokio_stream::wrappers::{BroadcastStream, IntervalStream, LinesStream, TcpListenerStream};
use tokio_stream::{StreamExt, StreamMap};

const CONNECTIONS: usize = 20;
const LINES: usize = 100;

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    for number in 0..CONNECTIONS {
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await?;
            for line in 0..LINES {
                stream
                    .write_all(format!("{number} {line}\n").as_bytes())
                    .await?;
            }
            stream.shutdown().await
        });
    }
    let mut incoming = TcpListenerStream::new(listener).take(CONNECTIONS);
    let mut lines = StreamMap::new();
    while let Some(stream) = incoming.next().await {
        let stream = BufReader::new(stream?);
        lines.insert(
            lines.len(),
            LinesStream::new(io::AsyncBufReadExt::lines(stream)),
        );
    }
    let mut next = [0; CONNECTIONS];
    let pieces = lines
        .timeout(Duration::from_secs(20))
        .chunks_timeout(64, Duration::from_millis(50));
    tokio::pin!(pieces);
    while let Some(piece) = pieces.next().await {
        for line in piece {
            let (_, line) = line.expect("nothing comes");
            let line = line?;
            let (number, line) = line.split_once(' ').unwrap();
            let [number, line] = [number, line].map(|it| it.parse::<usize>().unwrap());
            // In order for each connection.
            assert_eq!(next[number], line);
            next[number] += 1;
        }
    }
    assert_eq!(next, [LINES; CONNECTIONS]);

    let (sender, receiver) = broadcast::channel(16);
    let ticks = IntervalStream::new(time::interval(Duration::from_millis(1))).map(|_| 0);
    let mut merged = BroadcastStream::new(receiver)
        .map(|it| it.unwrap())
        .merge(ticks.take(5));
    sender.send(1).unwrap();
    drop(sender);
    let (mut ticked, mut received) = (0, 0);
    while let Some(value) = merged.next().await {
        match value {
            0 => ticked += 1,
            _ => received += 1,
        }
    }
    assert_eq!((ticked, received), (5, 1));
    println!("{} lines of {CONNECTIONS} connections", CONNECTIONS * LINES);
    Ok(())
}
