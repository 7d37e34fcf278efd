//! Idle connections.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream as Peer};
use std::process::Stdio;
use std::time::Instant;

use faults::{Findings, limit_descriptors, listen, processor_time, resident, runtime};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::task::JoinSet;

/// Connections from one address, limited by its ports.
const OF_AN_ADDRESS: usize = 20_000;

/// A task for each connection waits for data, until the other process closes them all.
pub(crate) fn connections(wanted: usize, found: &mut Findings) {
    let most = limit_descriptors(110_000) as usize - 100;
    let count = wanted.min(most);
    let runtime = runtime();
    let before = resident();
    for round in ["", "again"] {
        let (listener, address) = listen(&runtime);
        let peers = std::env::current_exe().unwrap();
        let (mut peak, mut accepting) = (0.0, 0.0);
        let began = processor_time();
        let used = runtime.block_on(async {
            let started = Instant::now();
            let mut peers = Command::new(peers)
                .args(["--connect", &address.to_string(), &count.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut tasks = JoinSet::new();
            for _ in 0..count {
                let (mut stream, _) = listener.accept().await.unwrap();
                tasks.spawn(async move { stream.read(&mut [0; 1]).await.unwrap() });
            }
            accepting = started.elapsed().as_secs_f64() * 1e6 / count as f64;
            // All are connected, and nothing happens any more.
            let connected = peers.stdout.as_mut().unwrap().read_u8().await;
            assert_eq!(connected.unwrap(), b'!');
            peak = resident();
            drop(peers.stdin.take());
            assert!(tasks.join_all().await.into_iter().all(|read| read == 0));
            assert!(peers.wait().await.unwrap().success());
            processor_time() - began
        });
        let memory = (peak - before) * 1024.0 / count as f64;
        let stays = (resident() - before) * 1024.0 / count as f64;
        if round.is_empty() {
            found.notes.push(match count < wanted {
                true => format!("{count} connections: the system allows no more descriptors"),
                false => format!("{count} connections"),
            });
            found.figure("memory at the peak", memory, "bytes each");
            found.figure("memory after it", stays, "bytes each");
            found.figure("accepting", accepting, "µs each");
            found.figure(
                "processor time",
                used.as_secs_f64() * 1e6 / count as f64,
                "µs each",
            );
        } else {
            found.figure("memory at a second peak", memory, "bytes each");
            found.figure("memory after that", stays, "bytes each");
        }
    }
}

/// The other process: opens this many connections, reports it, and waits until its input ends.
pub(crate) fn connect(address: SocketAddr, count: usize) {
    let peers: Vec<_> = (0..count)
        .map(|number| {
            let ip = Ipv4Addr::new(127, 0, 0, 2 + (number / OF_AN_ADDRESS) as u8);
            Peer::connect((ip, address.port())).unwrap()
        })
        .collect();
    std::io::stdout().write_all(b"!").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
    drop(peers);
}
