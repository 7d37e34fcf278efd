//! A server with its own codec over TCP, whose tasks are cancelled and awaited. A file is sent over a length-delimited
//! codec.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Decoder, Encoder, Framed, LengthDelimitedCodec};
use tokio_util::io::{ReaderStream, StreamReader};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A kind, a length and that many numbers.
struct Numbers;

impl Decoder for Numbers {
    type Item = Vec<u32>;
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Vec<u32>>> {
        if source.len() < 3 {
            return Ok(None);
        }
        if source[0] != b'n' {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "an unknown kind",
            ));
        }
        let count = usize::from(u16::from_be_bytes([source[1], source[2]]));
        if source.len() < 3 + 4 * count {
            source.reserve(3 + 4 * count - source.len());
            return Ok(None);
        }
        source.advance(3);
        Ok(Some((0..count).map(|_| source.get_u32()).collect()))
    }
}

impl Encoder<Vec<u32>> for Numbers {
    type Error = io::Error;

    fn encode(&mut self, numbers: Vec<u32>, target: &mut BytesMut) -> io::Result<()> {
        target.put_u8(b'n');
        target.put_u16(numbers.len() as u16);
        numbers
            .into_iter()
            .for_each(|number| target.put_u32(number));
        Ok(())
    }
}

async fn serve(listener: TcpListener, cancelled: CancellationToken) -> usize {
    let tasks = TaskTracker::new();
    let mut served = 0;
    while let Some(accepted) = cancelled.run_until_cancelled(listener.accept()).await {
        let (stream, _) = accepted.unwrap();
        served += 1;
        let cancelled = cancelled.clone();
        tasks.spawn(async move {
            let mut framed = Framed::new(stream, Numbers);
            while let Some(Some(Ok(numbers))) = cancelled.run_until_cancelled(framed.next()).await {
                let doubled = numbers.into_iter().map(|it| it.wrapping_mul(2)).collect();
                framed.send(doubled).await.unwrap();
            }
        });
    }
    tasks.close();
    tasks.wait().await;
    served
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let cancelled = CancellationToken::new();
    let server = tokio::spawn(serve(listener, cancelled.clone()));

    let clients = (0..20_u32).map(|client| async move {
        let stream = TcpStream::connect(address).await?;
        let (mut sink, mut answers) = Framed::new(stream, Numbers).split();
        let asked = move |turn: u32| (0..turn * 97).map(|it| it ^ client).collect::<Vec<_>>();
        let sent = async move {
            for turn in 0..20 {
                sink.send(asked(turn)).await?;
            }
            io::Result::Ok(sink)
        };
        let received = async {
            for turn in 0..20 {
                let expected: Vec<u32> = asked(turn).into_iter().map(|it| it * 2).collect();
                assert_eq!(answers.next().await.unwrap()?, expected);
            }
            io::Result::Ok(())
        };
        // Stays open: the server closes it.
        let (sink, ()) = tokio::try_join!(sent, received)?;
        io::Result::Ok((sink, answers))
    });
    let open = futures::future::try_join_all(clients).await?;
    cancelled.cancel();
    assert_eq!(server.await?, 20);
    for (_, mut answers) in open {
        assert!(answers.next().await.is_none());
    }

    // Invalid data is an error, and ends the stream.
    let mut framed = Framed::new(io::Cursor::new(b"wrong".to_vec()), Numbers);
    let error = framed.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);

    let path = std::env::temp_dir().join(format!("programs-codec-{}", std::process::id()));
    let content: Vec<u8> = (0..300_000_u32).map(|it| (it % 251) as u8).collect();
    tokio::fs::write(&path, &content).await?;
    let (ours, theirs) = tokio::io::duplex(1_000);
    let sent = async {
        let file = tokio::fs::File::open(&path).await?;
        let mut pieces = ReaderStream::with_capacity(file, 10_000);
        let mut sink = LengthDelimitedCodec::builder().new_write(ours);
        while let Some(piece) = pieces.next().await {
            sink.send(piece?).await?;
        }
        SinkExt::<Bytes>::close(&mut sink).await
    };
    let received = async {
        let frames = LengthDelimitedCodec::builder().new_read(theirs);
        let mut reader = StreamReader::new(frames.map(|it| it.map(Bytes::from)));
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await?;
        io::Result::Ok(received)
    };
    let ((), received) = tokio::try_join!(sent, received)?;
    assert!(received == content);
    tokio::fs::remove_file(&path).await?;
    println!(
        "400 frames of 20 connections, and a file of {} bytes",
        content.len()
    );
    Ok(())
}
