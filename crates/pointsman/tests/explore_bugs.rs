//! Mistakes of real programs, each with its report, rebuilt in a few lines: exploration finds each one within the seeds
//! given here, and nothing in the program without it. All of them need only one thread.
#![cfg(feature = "test-util")]

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use pointsman::sync::{Notify, mpsc, oneshot};
use pointsman::task::{self, JoinSet};
use pointsman::test_util::explore;
use pointsman::{join, select};

#[derive(Clone, Copy, PartialEq)]
enum Program {
    Mistaken,
    Corrected,
}
use Program::{Corrected, Mistaken};

/// Asserts that one of the first seeds makes the mistaken program fail, and none the corrected one.
fn finds<Fut: Future<Output = ()>>(within: u64, program: impl Fn(Program) -> Fut) {
    let run = |seed| catch_unwind(AssertUnwindSafe(|| explore([seed], || program(Mistaken))));
    let found = (0..within).find(|&seed| run(seed).is_err());
    let found = found.expect("exploration does not find the mistake");
    println!("found with the seed {found}");
    explore(0..1000, || program(Corrected));
}

/// MystenLabs/sui#5137: a branch of `select!` takes an item and then waits for a place to send it. When another branch is
/// ready first, the item is lost.
async fn item_without_a_place(program: Program) {
    let (items, mut incoming) = mpsc::channel(10);
    let (outgoing, mut received) = mpsc::channel(10);
    let (commands, mut command) = mpsc::channel(10);
    pointsman::spawn(async move {
        for item in 0..5 {
            items.send(item).await.unwrap();
        }
    });
    pointsman::spawn(async move {
        for _ in 0..2 {
            commands.send(()).await.unwrap();
        }
        std::future::pending::<()>().await;
        drop(commands);
    });
    pointsman::spawn(async move {
        let mut done = false;
        while !done {
            if program == Mistaken {
                select! {
                    (item, permit) = async { join!(incoming.recv(), outgoing.reserve()) } => match item {
                        Some(item) => permit.unwrap().send(item),
                        None => done = true,
                    },
                    Some(()) = command.recv() => {}
                }
            } else {
                select! {
                    permit = outgoing.reserve() => match incoming.recv().await {
                        Some(item) => permit.unwrap().send(item),
                        None => done = true,
                    },
                    Some(()) = command.recv() => {}
                }
            }
        }
    });
    let mut all = Vec::new();
    while let Some(item) = received.recv().await {
        all.push(item);
    }
    assert_eq!(all, [0, 1, 2, 3, 4]);
}

#[test]
fn finds_the_item_without_a_place() {
    finds(100, item_without_a_place);
}

/// octos-org/octos#927: `notify_waiters` wakes only those that wait at this moment. A loop that handles a message then does
/// not wait, and never hears of the shutdown.
async fn shutdown_during_a_message(program: Program) {
    let shutdown = Arc::new(Notify::new());
    let (tx, mut rx) = mpsc::channel(10);
    let (log, _logged) = mpsc::channel(10);
    let server = pointsman::spawn({
        let shutdown = shutdown.clone();
        async move {
            let stopped = shutdown.notified();
            pointsman::pin!(stopped);
            loop {
                let message = match program {
                    Mistaken => select! {
                        message = rx.recv() => message,
                        () = shutdown.notified() => break,
                    },
                    Corrected => select! {
                        message = rx.recv() => message,
                        () = &mut stopped => break,
                    },
                };
                let Some(answer): Option<oneshot::Sender<()>> = message else {
                    break;
                };
                let _ = answer.send(());
                log.send(()).await.unwrap();
            }
        }
    });
    let client = pointsman::spawn({
        let tx = tx.clone();
        async move {
            for _ in 0..3 {
                let (answer, answered) = oneshot::channel();
                tx.send(answer).await.unwrap();
                answered.await.unwrap();
            }
        }
    });
    client.await.unwrap();
    shutdown.notify_waiters();
    server.await.unwrap();
    drop(tx);
}

#[test]
fn finds_the_shutdown_during_a_message() {
    finds(100, shutdown_during_a_message);
}

/// kguardian-dev/kguardian#1504: looks a key up and inserts it after an `.await`, so two tasks report the same key.
async fn look_up_and_insert(program: Program) {
    let cache = Arc::new(Mutex::new(HashMap::new()));
    let (tx, mut rx) = mpsc::channel(10);
    for task in 0..2 {
        let (cache, tx) = (cache.clone(), tx.clone());
        pointsman::spawn(async move {
            for key in 0..2 {
                if program == Corrected {
                    if cache.lock().unwrap().insert(key, task).is_some() {
                        continue;
                    }
                    tx.send(key).await.unwrap();
                } else {
                    if cache.lock().unwrap().contains_key(&key) {
                        continue;
                    }
                    tx.send(key).await.unwrap();
                    cache.lock().unwrap().insert(key, task);
                }
            }
        });
    }
    drop(tx);
    let mut reported = Vec::new();
    while let Some(key) = rx.recv().await {
        reported.push(key);
    }
    reported.sort_unstable();
    assert_eq!(reported, [0, 1]);
}

#[test]
fn finds_look_up_and_insert() {
    finds(100, look_up_and_insert);
}

/// magicblock-labs/magicblock-validator#1190: takes the results of a `JoinSet` for those of its tasks in the order in which
/// they were spawned. They are in the order in which the tasks have ended.
async fn results_in_the_order_of_the_tasks(program: Program) {
    let mut set = JoinSet::new();
    for number in 0..3 {
        set.spawn(async move { (number, number * number) });
    }
    let mut results = set.join_all().await;
    if program == Corrected {
        results.sort_unstable();
    }
    let squares: Vec<_> = results.into_iter().map(|(_, square)| square).collect();
    assert_eq!(squares, [0, 1, 4]);
}

#[test]
fn finds_results_in_the_order_of_the_tasks() {
    finds(100, results_in_the_order_of_the_tasks);
}

/// fereidani/kanal#50: a sender hands its value to a receiver that waits. If the receiver's branch of `select!` is dropped
/// before it is polled again, the value goes with it.
#[derive(Default)]
struct HandOff {
    values: VecDeque<u32>,
    waiting: VecDeque<oneshot::Sender<u32>>,
}

struct Receive<'a> {
    channel: &'a RefCell<HandOff>,
    handed: oneshot::Receiver<u32>,
    takes_back: bool,
}

impl Drop for Receive<'_> {
    fn drop(&mut self) {
        if self.takes_back {
            if let Ok(value) = self.handed.try_recv() {
                self.channel.borrow_mut().values.push_front(value);
            }
        }
    }
}

async fn receive(channel: &RefCell<HandOff>, program: Program) -> u32 {
    if let Some(value) = channel.borrow_mut().values.pop_front() {
        return value;
    }
    let (tx, handed) = oneshot::channel();
    channel.borrow_mut().waiting.push_back(tx);
    let mut receive = Receive {
        channel,
        handed,
        takes_back: program == Corrected,
    };
    (&mut receive.handed).await.unwrap()
}

fn send(channel: &RefCell<HandOff>, mut value: u32) {
    while let Some(waiting) = channel.borrow_mut().waiting.pop_front() {
        match waiting.send(value) {
            Ok(()) => return,
            Err(refused) => value = refused,
        }
    }
    channel.borrow_mut().values.push_back(value);
}

async fn value_handed_to_a_lost_branch(program: Program) {
    let channels = Rc::new([RefCell::default(), RefCell::default()]);
    let receiver = task::spawn_local({
        let channels = channels.clone();
        async move {
            let mut all = Vec::new();
            while all.len() < 6 {
                select! {
                    value = receive(&channels[0], program) => all.push(value),
                    value = receive(&channels[1], program) => all.push(value),
                }
            }
            all
        }
    });
    for index in 0..2 {
        let channels = channels.clone();
        task::spawn_local(async move {
            for value in 0..3 {
                send(&channels[index], value);
                task::yield_now().await;
            }
        });
    }
    let mut all = receiver.await.unwrap();
    all.sort_unstable();
    assert_eq!(all, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn finds_the_value_handed_to_a_lost_branch() {
    finds(100, value_handed_to_a_lost_branch);
}
