//! Echo over TCP and connection churn on monoio: `<program> <work> <cores> <quiet | blocked>`.
//!
//! As its documentation says: a runtime with io_uring on a thread for each core, each with a listener of its own on
//! the same port; the system distributes the connections among them.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use monoio::io::{AsyncReadRent, AsyncReadRentExt, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use monoio::time::{MissedTickBehavior, interval};
use monoio::utils::detect_uring;
use monoio::{IoUringDriver, RuntimeBuilder};
use protocol::{BLOCK_EVERY, Blocks, Greeting, MESSAGE};

fn main() {
    protocol::end_by_panic();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, _, condition, ..] = arguments.as_slice() else {
        panic!("expected <work> <workers> <condition>, got {arguments:?}");
    };
    if !detect_uring() {
        let why = "not here: io_uring, which this system refuses";
        return protocol::say(Greeting::Unavailable(why.to_owned()));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let blocks = Blocks::default();
    let churns = work.starts_with("churn");
    let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
    for core in 0..cores {
        let blocks = (core == 0 && condition == "blocked").then(|| blocks.clone());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let runtime = RuntimeBuilder::<IoUringDriver>::new().enable_timer();
            let mut runtime = runtime.build().expect("a runtime");
            runtime.block_on(serve(address, churns, blocks, sender));
        });
        address = receiver.recv().expect("a thread that listens");
    }
    protocol::say(Greeting::Ready {
        address: Some(address.to_string()),
        note: None,
    });
    protocol::obey(&blocks, |_: Duration| {
        panic!("this program is asked by the load")
    });
}

async fn serve(
    address: SocketAddr,
    churns: bool,
    blocks: Option<Blocks>,
    listens: Sender<SocketAddr>,
) {
    let listener = TcpListener::bind(address).expect("a port that is free, or shared");
    let address = listener.local_addr().expect("it is bound");
    listens.send(address).expect("the main thread waits");
    if let Some(blocks) = blocks {
        monoio::spawn(block_now_and_then(blocks));
    }
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        if churns {
            monoio::spawn(echo_once(stream));
        } else {
            stream.set_nodelay(true).expect("a socket that is open");
            monoio::spawn(echo(stream));
        }
    }
}

/// Echoes until the other side closes.
async fn echo(mut stream: TcpStream) {
    let mut buffer = Vec::with_capacity(1024);
    loop {
        let (count, filled) = stream.read(buffer).await;
        if !count.is_ok_and(|count| count > 0) {
            break;
        }
        let (written, emptied) = stream.write_all(filled).await;
        if written.is_err() {
            break;
        }
        buffer = emptied;
        buffer.clear();
    }
}

async fn echo_once(mut stream: TcpStream) {
    let (read, message) = stream.read_exact(vec![0; MESSAGE]).await;
    if read.is_ok() {
        // The load detects missing answers itself.
        let _ = stream.write_all(message).await;
    }
}

async fn block_now_and_then(blocks: Blocks) {
    let mut interval = interval(BLOCK_EVERY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        interval.tick().await;
        blocks.block();
    }
}
