//! Descriptors are closed with their sockets and runtimes. In its own file: they are counted for the whole process.
#![cfg(all(target_os = "linux", feature = "net", feature = "io-util"))]

mod common;

use std::fs;

use common::must_end;
use futures::FutureExt;
use pointsman::io::unix::AsyncFd;
use pointsman::net::unix::pipe;
use pointsman::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixStream};
use pointsman::runtime::{Builder, Runtime};
use pointsman::task;

/// The target of each open descriptor.
fn open() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").unwrap();
    let links = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

fn runtimes() -> [Runtime; 2] {
    let mut builder = Builder::new_multi_thread();
    let threads = builder.worker_threads(2).enable_all().build().unwrap();
    let current_thread = Builder::new_current_thread().enable_all().build();
    [threads, current_thread.unwrap()]
}

#[test]
fn no_descriptor_is_left() {
    must_end(|| {
        let before = open();
        for runtime in runtimes() {
            let alive = runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let addr = listener.local_addr().unwrap();
                let mut alive = Vec::new();
                for _ in 0..20 {
                    // Cancelled, refused, and dropped in a task that still waits.
                    let _ = TcpStream::connect(addr).now_or_never();
                    listener.accept().await.unwrap();
                    let (one, other) = UnixStream::pair().unwrap();
                    task::spawn(async move {
                        one.readable().await.unwrap();
                        other
                    });
                    let (reader, writer) = TcpStream::connect(addr).await.unwrap().into_split();
                    writer.forget();
                    alive.push(reader);
                }
                let file = fs::File::open("/proc/self/stat").unwrap();
                // SAFETY: the file owns the descriptor, which is open until the file is dropped.
                drop(unsafe { AsyncFd::register(file) }.unwrap_err());
                let (_, _) = (UnixDatagram::pair().unwrap(), pipe::pipe().unwrap());
                UdpSocket::bind("127.0.0.1:0").await.unwrap();
                alive
            });
            drop(runtime);
            drop(alive);
        }
        assert_eq!(open(), before);
    });
}
