use std::sync::Arc;
use std::thread;

use mio::unix::pipe;

use super::{Interest, Reactor, Ready};

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
