//! More datagrams than a reader can take.

use std::net::UdpSocket as Peer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use faults::{Findings, peer, processor_time, runtime};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

const END: u32 = u32::MAX;

/// Received datagrams are whole and in order, and the reader gets to the end.
pub(crate) fn flood(datagrams: usize, found: &mut Findings) {
    let began = processor_time();
    let runtime = runtime();
    let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
    let address = socket.local_addr().unwrap();
    let is_read = Arc::new(AtomicBool::new(false));
    let sending = peer({
        let is_read = Arc::clone(&is_read);
        move || {
            let peer = Peer::bind("127.0.0.1:0").unwrap();
            let send = |number: u32| {
                let mut datagram = [number as u8; 200];
                datagram[..4].copy_from_slice(&number.to_be_bytes());
                peer.send_to(&datagram, address).unwrap();
            };
            (0..datagrams as u32).for_each(send);
            while !is_read.load(Relaxed) {
                send(END);
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let received = runtime.block_on(runtime.spawn(async move {
        let (mut received, mut next) = (0, 0);
        loop {
            let mut datagram = [0; 1000];
            let read = timeout(Duration::from_secs(10), socket.recv_from(&mut datagram)).await;
            let (length, _) = read.expect("nothing comes any more").unwrap();
            assert_eq!(length, 200);
            let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
            if number == END {
                return received;
            }
            assert!(number >= next, "{number} comes after {next}");
            assert!(datagram[4..length].iter().all(|&it| it == number as u8));
            (received, next) = (received + 1, number + 1);
            if received % 1000 == 0 {
                // Some are lost meanwhile.
                sleep(Duration::from_millis(2)).await;
            }
        }
    }));
    is_read.store(true, Relaxed);
    sending.join().unwrap();
    drop(runtime);
    found.processor_time_each(began, received.unwrap());
}
