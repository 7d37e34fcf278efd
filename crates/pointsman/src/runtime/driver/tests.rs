use std::io::Write;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use mio::unix::pipe;

use super::{Direction, Driver, Interest, Reactor, Ready, RegisteredSource};
use crate::park::ThreadParker;

/// Long enough for anything that does not hang, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_source_outlives_the_runtime_that_registered_it() {
    let reactor = Reactor::new(1, 16, 16).unwrap();
    let (sender, mut receiver) = pipe::new().unwrap();
    let (source, is_first) = reactor
        .register(&mut receiver, Interest::READABLE, None)
        .unwrap();
    assert!(is_first);
    reactor.shut_down();
    drop(reactor);
    assert!(source.ready_event(Interest::READABLE).is_shut_down);
    source.deregister(&mut receiver).unwrap();
    drop((source, sender));
}

#[test]
fn sources_of_several_threads_are_released_while_the_set_grows() {
    let reactor = Reactor::new(2, 16, 16).unwrap();
    let threads = [None, Some(0), Some(1)].map(|worker| {
        let reactor = Arc::clone(&reactor);
        thread::spawn(move || {
            let (_sender, mut receiver) = pipe::new().unwrap();
            let mut kept = Vec::new();
            for round in 0..if cfg!(miri) { 20 } else { 200 } {
                let (source, _) = reactor
                    .register(&mut receiver, Interest::READABLE, worker)
                    .unwrap();
                assert_eq!(source.ready_event(Interest::READABLE).ready, Ready::EMPTY);
                source.deregister(&mut receiver).unwrap();
                if round % 2 == 0 {
                    kept.push(source);
                }
            }
            kept.len()
        })
    });
    let kept: usize = threads.map(|thread| thread.join().unwrap()).iter().sum();
    assert_eq!(reactor.registered.get(), 2 * kept as u64);
    assert_eq!(reactor.deregistered.get(), 2 * kept as u64);
}

/// Signals that it is called, and blocks until the other end is dropped.
struct Blocks(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>);

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
        self.1.lock().unwrap().recv().unwrap_err();
    }
}

/// A source whose waker blocks.
struct Blocking {
    source: RegisteredSource,
    sender: pipe::Sender,
    _receiver: pipe::Receiver,
    begun: mpsc::Receiver<()>,
}

impl Blocking {
    /// The waker blocks until the returned gate is dropped.
    fn new(reactor: &Arc<Reactor>) -> (Self, mpsc::Sender<()>) {
        let (sender, mut receiver) = pipe::new().unwrap();
        let registered = reactor.register(&mut receiver, Interest::READABLE, None);
        let (source, _) = registered.unwrap();
        let (begins, begun) = mpsc::channel();
        let (gate, opens) = mpsc::channel();
        let waker = Waker::from(Arc::new(Blocks(begins, Mutex::new(opens))));
        let poll = source.poll(&mut Context::from_waker(&waker), Direction::Read);
        assert!(poll.is_pending());
        let blocking = Self {
            source,
            sender,
            _receiver: receiver,
            begun,
        };
        (blocking, gate)
    }

    /// Polls in another thread. Returns when that is blocked in the waker.
    fn poll_io(&mut self, driver: &Arc<Driver>) -> thread::JoinHandle<()> {
        self.sender.write_all(b"x").unwrap();
        let driver = Arc::clone(driver);
        let polls = thread::spawn(move || driver.poll_io());
        self.begun.recv_timeout(LIMIT).unwrap();
        polls
    }
}

/// Another thread polls and is blocked in a waker.
#[test]
fn an_unpark_ends_the_wait_of_a_holder_that_cannot_poll() {
    let reactor = Reactor::new(1, 16, 16).unwrap();
    let (mut blocking, gate) = Blocking::new(&reactor);
    let driver = Arc::new(Driver::new(None, Some(reactor)));
    let polls = blocking.poll_io(&driver);
    let (ends, ended) = mpsc::channel();
    let holds = thread::spawn(move || {
        let parker = ThreadParker::current();
        parker.unpark();
        driver.try_hold(&parker).unwrap().park(&parker, || ());
        ends.send(()).unwrap();
    });
    let result = ended.recv_timeout(LIMIT);
    drop(gate);
    result.expect("the unpark ends the wait");
    polls.join().unwrap();
    holds.join().unwrap();
}

/// The holder waits until another thread has polled, and then waits for events itself. The poll ends while the holder
/// begins to wait.
#[test]
fn a_holder_that_cannot_poll_polls_later() {
    for _ in 0..if cfg!(miri) { 5 } else { 100 } {
        let reactor = Reactor::new(1, 16, 16).unwrap();
        let (mut blocking, gate) = Blocking::new(&reactor);
        let driver = Arc::new(Driver::new(None, Some(reactor)));
        let polls = blocking.poll_io(&driver);
        let (returns, returned) = mpsc::channel();
        let holds = thread::spawn(move || {
            let parker = ThreadParker::current();
            parker.unpark();
            let held = driver.try_hold(&parker).unwrap();
            let mut has_events = false;
            while !has_events {
                held.park(&parker, || has_events = true);
                returns.send(has_events).unwrap();
            }
        });
        // It could not poll.
        assert!(!returned.recv_timeout(LIMIT).unwrap());
        drop(gate);
        polls.join().unwrap();
        blocking.sender.write_all(b"x").unwrap();
        while !returned.recv_timeout(LIMIT).expect("the holder polls") {}
        holds.join().unwrap();
        assert!(
            blocking
                .source
                .ready_event(Interest::READABLE)
                .ready
                .is_readable()
        );
    }
}
