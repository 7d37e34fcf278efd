//! Readers that read a byte occasionally.

use std::io::Read;
use std::net::TcpStream as Peer;
use std::thread;
use std::time::{Duration, Instant};

use faults::{EchoBeside, Findings, listen, peer, processor_time, resident, runtime};
use tokio::io::{AsyncWriteExt, BufWriter};
use tokio::task::JoinSet;

const CONNECTIONS: usize = 50;

/// Writers wait, use no more memory, and do not delay others; data is read in order.
pub(crate) fn readers(milliseconds: usize, found: &mut Findings) {
    let runtime = runtime();
    let beside = EchoBeside::begin(&runtime, 4);
    let (listener, address) = listen(&runtime);
    let time = Duration::from_millis(milliseconds as u64);
    let (mut before, mut began) = (0.0, Duration::ZERO);
    runtime.block_on(async {
        let mut peers = Vec::new();
        let mut tasks = JoinSet::new();
        for _ in 0..CONNECTIONS {
            peers.push(Peer::connect(address).unwrap());
            let (stream, _) = listener.accept().await.unwrap();
            tasks.spawn(async move {
                let mut writer = BufWriter::new(stream);
                let mut next = 0_u8;
                loop {
                    let chunk: [u8; 1024] = std::array::from_fn(|at| next.wrapping_add(at as u8));
                    if let Err(error) = writer.write_all(&chunk).await {
                        return error.kind();
                    }
                    next = next.wrapping_add(chunk.len() as u8);
                }
            });
        }
        // Until all buffers of the system are full.
        tokio::time::sleep(time / 10).await;
        (before, began) = (resident(), processor_time());
        let reading = peer(move || read(peers, time));
        let peers = tokio::task::spawn_blocking(|| reading.join().unwrap()).await;
        found.figure("memory that it adds", resident() - before, "kB");
        drop(peers);
        while let Some(ended) = tasks.join_next().await {
            found.outcomes.add(format!("write: {:?}", ended.unwrap()));
        }
    });
    found.figure("echo beside", beside.latest(), "ms at most");
    let used = (processor_time() - began).as_secs_f64() / time.as_secs_f64();
    found.figure("processor time", used * 1e3, "ms a second");
}

/// Reads a byte of each connection every millisecond.
fn read(mut peers: Vec<Peer>, time: Duration) -> Vec<Peer> {
    let started = Instant::now();
    let mut next = 0_u8;
    while started.elapsed() < time {
        for peer in &mut peers {
            let mut byte = [0];
            peer.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [next]);
        }
        next = next.wrapping_add(1);
        thread::sleep(Duration::from_millis(1));
    }
    peers
}
