//! Listeners without enough descriptors.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream as Peer};
use std::process::Command as Blocking;
use std::time::{Duration, Instant};

use faults::{
    EchoBeside, Findings, descriptors, limit_descriptors, listen, peer, processor_time, runtime,
};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long descriptors are exhausted.
const FLOOD: Duration = Duration::from_secs(1);
/// The number of descriptors for connections.
const SPARE: usize = 10;

/// With exhausted descriptors exactly the operations that need one fail; once descriptors are free, all waiting
/// connections are served.
pub(crate) fn no_descriptors(connections: usize, found: &mut Findings) {
    let runtime = runtime();
    let (listener, address) = listen(&runtime);
    // Allocates what a process keeps after its first child.
    let first = runtime.block_on(async { Command::new("true").status().await });
    assert!(first.unwrap().success());
    let beside = EchoBeside::begin(&runtime, 4);
    let _peers = numbered(address, connections);
    let normal = limit_descriptors(u64::MAX >> 1);
    limit_descriptors((descriptors() + SPARE) as u64);
    let mut accepted = Vec::new();
    let since = processor_time();
    runtime.block_on(async {
        accepted.extend(until_refused(&listener).await);
        others_that_fail(found, address).await;

        // A server that pauses after an error, as servers do, uses little processor time.
        let began = Instant::now();
        while began.elapsed() < FLOOD {
            found
                .outcomes
                .add_result("accept", &listener.accept().await);
            sleep(Duration::from_millis(10)).await;
        }
    });
    found.figure("echo beside", beside.latest(), "ms at most");
    let used = (processor_time() - since).as_secs_f64() * 1e3;
    found.figure("processor time", used, "ms in a second");

    // The latter closes its connections: their descriptors are used up first.
    runtime.block_on(async {
        sleep(Duration::from_millis(100)).await;
        accepted.extend(until_refused(&listener).await);
    });
    spin(&runtime, listener, accepted, found);
    limit_descriptors(normal);
    recover(&runtime, connections, found);
}

/// A server that does not pause after an error does not starve other tasks.
fn spin(
    runtime: &Runtime,
    listener: TcpListener,
    mut accepted: Vec<TcpStream>,
    found: &mut Findings,
) {
    runtime.block_on(async {
        let spinning = tokio::spawn(timeout(FLOOD, async move {
            while listener.accept().await.is_err() {}
            unreachable!("there was a descriptor");
        }));
        let mut latest = Duration::ZERO;
        while !spinning.is_finished() {
            let asked = Instant::now();
            sleep(Duration::from_millis(5)).await;
            latest = latest.max(asked.elapsed());
        }
        assert!(spinning.await.unwrap().is_err(), "it has ended by itself");
        let latest = latest.as_secs_f64() * 1e3 - 5.0;
        found.figure("timer beside a server that spins", latest, "ms late");
    });
    // The listener is closed, with its pending connections. Connections accepted before get all their data.
    let mut seen = Vec::new();
    runtime.block_on(async {
        for stream in &mut accepted {
            seen.push(stream.read_u32().await.unwrap());
        }
    });
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= SPARE);
}

/// Connections that wait while descriptors are exhausted are served once one is free.
fn recover(runtime: &Runtime, connections: usize, found: &mut Findings) {
    let normal = limit_descriptors(u64::MAX >> 1);
    let (listener, address) = listen(runtime);
    let _peers = numbered(address, connections);
    limit_descriptors((descriptors() + SPARE) as u64);
    let mut seen = Vec::new();
    let mut errors = 0;
    runtime.block_on(async {
        let mut open = VecDeque::new();
        while seen.len() + open.len() < connections {
            match listener.accept().await {
                Ok((stream, _)) => open.push_back(stream),
                Err(_) => {
                    errors += 1;
                    let mut oldest: TcpStream = open.pop_front().unwrap();
                    seen.push(oldest.read_u32().await.unwrap());
                }
            }
        }
        while let Some(mut stream) = open.pop_front() {
            seen.push(stream.read_u32().await.unwrap());
        }
    });
    seen.sort_unstable();
    assert!(
        seen.into_iter().eq(0..connections as u32),
        "a connection is lost"
    );
    found
        .outcomes
        .add(format!("{errors} errors until all were accepted"));
    limit_descriptors(normal);
}

/// Peers that have each sent a number.
fn numbered(address: SocketAddr, connections: usize) -> Vec<Peer> {
    let peer = |number: usize| {
        let mut peer = Peer::connect(address).unwrap();
        peer.write_all(&(number as u32).to_be_bytes()).unwrap();
        peer
    };
    (0..connections).map(peer).collect()
}

async fn until_refused(listener: &TcpListener) -> Vec<TcpStream> {
    let mut accepted = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        accepted.push(stream);
    }
    accepted
}

async fn others_that_fail(found: &Findings, address: SocketAddr) {
    let outcomes = &found.outcomes;
    outcomes.add_result("connect", &TcpStream::connect(address).await);
    outcomes.add_result("bind", &TcpListener::bind("127.0.0.1:0").await);
    outcomes.add_result("bind UDP", &UdpSocket::bind("127.0.0.1:0").await);
    outcomes.add_result("open", &tokio::fs::File::open("/dev/null").await);
    outcomes.add_result("read a file", &tokio::fs::read("/dev/null").await);
    outcomes.add_result("start a process", &Command::new("true").spawn());
    outcomes.add_result("start a runtime", &Runtime::new());
    outcomes.add_result("the system", &Blocking::new("true").spawn());
}

/// Peers that close right after connecting: each is accepted and ends.
pub(crate) fn storm(connections: usize, found: &mut Findings) {
    const PEERS: usize = 4;
    let began = processor_time();
    let started = Instant::now();
    let runtime = runtime();
    let (listener, address) = listen(&runtime);
    let peers: Vec<_> = (0..PEERS)
        .map(|number| {
            // From different addresses, as a port is not free at once.
            let own = (Ipv4Addr::new(127, 0, 0, 2 + number as u8), address.port());
            peer(move || (0..connections / PEERS).for_each(|_| drop(Peer::connect(own).unwrap())))
        })
        .collect();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..connections / PEERS * PEERS {
            let (mut stream, _) = listener.accept().await.unwrap();
            let outcomes = found.outcomes.clone();
            tasks.spawn(async move {
                let read = stream.read(&mut [0]).await;
                assert!(read.as_ref().map_or(true, |count| *count == 0));
                outcomes.add_result("read", &read);
            });
            while let Some(ended) = tasks.try_join_next() {
                ended.unwrap();
            }
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    });
    peers.into_iter().for_each(|it| it.join().unwrap());
    drop(runtime);
    let rate = started.elapsed().as_secs_f64() * 1e6 / connections as f64;
    found.figure("time", rate, "µs each");
    found.processor_time_each(began, connections);
}
