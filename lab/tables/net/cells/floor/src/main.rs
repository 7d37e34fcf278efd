//! The work without a runtime, hand-written: `net-floor <work>`. One thread waits for connections and serves them;
//! files and processes have a thread for each concurrent request.

mod closed_loop;
mod connections;

use std::net::UdpSocket;
use std::process::Command;
use std::thread;

use mio::net::{TcpListener, UnixListener};
use protocol::{Blocks, Greeting, MESSAGE};

fn main() {
    protocol::end_by_panic();
    let work = std::env::args().nth(1).expect("a work");
    let (kind, number) = work.split_once('/').expect("a work and its number");
    let number: usize = number.parse().expect("a number");
    match kind {
        "tcp" | "churn" => {
            let any = "127.0.0.1:0".parse().expect("an address");
            let listener = TcpListener::bind(any).expect("a free port");
            let address = listener.local_addr().expect("it is bound").to_string();
            let once = kind == "churn";
            thread::spawn(move || connections::serve(listener, once));
            only_serve(address);
        }
        "unix" => {
            let folder = tempfile::tempdir().expect("a folder of its own");
            let path = folder.path().join("socket");
            let listener = UnixListener::bind(&path).expect("a path that nobody has");
            thread::spawn(move || connections::serve(listener, false));
            only_serve(path.to_str().expect("a path of letters").to_owned());
        }
        "udp" => {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let address = socket.local_addr().expect("it is bound").to_string();
            thread::spawn(move || echo_datagrams(&socket));
            only_serve(address);
        }
        "file" => {
            let folder = tempfile::tempdir().expect("a folder of its own");
            let path = |task: usize| folder.path().join(task.to_string());
            for task in 0..READERS {
                std::fs::write(path(task), vec![0x5a; number]).expect("room for the files");
            }
            work_for_itself(READERS, |task| {
                let content = std::fs::read(path(task)).expect("the file is there");
                assert_eq!(content.len(), number, "a file of another length");
            });
        }
        "processes" => work_for_itself(number, |_| {
            let status = Command::new("/bin/true").status();
            assert!(status.expect("a process that starts").success());
        }),
        _ => panic!("there is no work {work}"),
    }
}

const READERS: usize = 16;

fn echo_datagrams(socket: &UdpSocket) {
    let mut buffer = [0; MESSAGE];
    loop {
        let (count, from) = socket.recv_from(&mut buffer).expect("a datagram");
        let sent = socket.send_to(&buffer[..count], from);
        assert_eq!(sent.expect("room for a datagram"), count);
    }
}

fn only_serve(address: String) {
    protocol::say(Greeting::Ready {
        address: Some(address),
        note: None,
    });
    protocol::obey(&Blocks::default(), |_| {
        panic!("this program is asked by the load")
    });
}

fn work_for_itself(threads: usize, request: impl Fn(usize) + Sync) {
    protocol::say(Greeting::Ready {
        address: None,
        note: None,
    });
    protocol::obey(&Blocks::default(), |duration| {
        closed_loop::ask(threads, duration, &request)
    });
}
