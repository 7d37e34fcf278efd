//! The work of a subject with Tokio's names: `<program> <work> <cores | one> <quiet | blocked> [address]`.
//!
//! Invariant: the thread that executes the load's orders does not belong to the runtime, and everything else happens
//! in tasks. An error of a subject ends its process, and the load reports it.

mod closed_loop;
mod echo;
mod files;
mod half_load;
mod http;
mod processes;
mod redis;
mod runtime;
mod tls;

use std::time::Duration;

use protocol::{Blocks, Done, Greeting};
use tokio::net::TcpListener;

use half_load::Arrival;
use runtime::Runtime;

pub fn main() {
    // Reports a panic of a task as a failure of the work, which a runtime alone would not do.
    protocol::end_by_panic();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [work, workers, condition, address @ ..] = words.as_slice() else {
        panic!("expected <work> <workers> <condition> [address], got {words:?}");
    };
    let runtime = Runtime::new(workers);
    let blocks = Blocks::default();
    if *condition == "blocked" {
        runtime.spawn(runtime::block_now_and_then(blocks.clone()));
    }
    let (kind, number) = work.split_once('/').unwrap_or((work, ""));
    let address = address.first().copied().unwrap_or_default();
    match kind {
        "tcp" => serve(&runtime, &blocks, echo::tcp),
        "churn" => serve(&runtime, &blocks, echo::churn),
        "plaintext" => serve(&runtime, &blocks, http::plaintext),
        "json" => serve(&runtime, &blocks, http::json),
        "tls" => {
            let folder = tempfile::tempdir().expect("a folder of its own");
            let certificate = folder.path().join("certificate");
            let acceptor = tls::acceptor(&certificate);
            let listener = runtime.wait_for(echo::bind_tcp());
            let address = listener.local_addr().expect("it is bound");
            runtime.spawn(http::plaintext_over_tls(listener, acceptor));
            ready(Some(format!("{address} {}", certificate.display())));
            protocol::obey(&blocks, only_asked);
        }
        "serve" => {
            let (_, bytes) = number.split_once('x').expect("<connections>x<bytes>");
            let folder = tempfile::tempdir().expect("a folder of its own");
            let content = protocol::file_content(parse(bytes) as usize);
            std::fs::write(folder.path().join("file"), content).expect("room for the file");
            let path = folder.path().to_owned();
            serve(&runtime, &blocks, |listener| http::files(listener, path));
        }
        "udp" => {
            let socket = runtime.wait_for(echo::bind_udp());
            ready(Some(echo::address_of(&socket)));
            runtime.spawn(echo::udp(socket));
            protocol::obey(&blocks, only_asked);
        }
        "unix" => {
            let folder = tempfile::tempdir().expect("a folder of its own");
            let path = folder.path().join("socket");
            let listener = runtime.wait_for(echo::bind_unix(path.clone()));
            ready(path.to_str().map(str::to_owned));
            runtime.spawn(echo::unix(listener));
            protocol::obey(&blocks, only_asked);
        }
        "redis" => {
            let client = runtime.wait_for(redis::Client::connect(address.to_owned()));
            work_for_itself(&runtime, &blocks, client, number);
        }
        "web" => at_a_rate(&runtime, &blocks, move |duration| {
            half_load::web(Arrival::Alone, parse(number), duration)
        }),
        "bursts" => at_a_rate(&runtime, &blocks, move |duration| {
            half_load::web(Arrival::Burst, parse(number), duration)
        }),
        "fork" => {
            let (tasks, microseconds) = number.split_once('x').expect("<tasks>x<µs>");
            let (tasks, microseconds) = (parse(tasks), parse(microseconds));
            at_a_rate(&runtime, &blocks, move |duration| {
                half_load::fork_and_join(tasks, microseconds, duration)
            });
        }
        "timers" => at_a_rate(&runtime, &blocks, move |duration| {
            half_load::timers(parse(number), duration)
        }),
        "behind" => at_a_rate(&runtime, &blocks, half_load::behind),
        "file" => work_for_itself(&runtime, &blocks, files::Files::new(number), files::READERS),
        "processes" => work_for_itself(&runtime, &blocks, processes::Processes, number),
        _ => panic!("there is no work {work}"),
    }
}

fn ready(address: Option<String>) {
    protocol::say(Greeting::Ready {
        address,
        note: None,
    });
}

fn only_asked(_: Duration) -> Done {
    panic!("this program is asked by the load")
}

fn serve<S>(runtime: &Runtime, blocks: &Blocks, server: impl FnOnce(TcpListener) -> S)
where
    S: Future<Output = ()> + Send + 'static,
{
    let listener = runtime.wait_for(echo::bind_tcp());
    let address = listener.local_addr().expect("it is bound");
    runtime.spawn(server(listener));
    ready(Some(address.to_string()));
    protocol::obey(blocks, only_asked);
}

fn work_for_itself(
    runtime: &Runtime,
    blocks: &Blocks,
    asked: impl closed_loop::Asked,
    tasks: &str,
) {
    let tasks = tasks.parse().expect("a number of tasks");
    ready(None);
    protocol::obey(blocks, |duration| {
        runtime.wait_for(closed_loop::ask(asked.clone(), tasks, duration))
    });
}

fn at_a_rate<W>(runtime: &Runtime, blocks: &Blocks, mut work: impl FnMut(Duration) -> W)
where
    W: Future<Output = Done> + Send + 'static,
{
    ready(None);
    protocol::obey(blocks, |duration| runtime.wait_for(work(duration)));
}

fn parse(number: &str) -> u64 {
    number.parse().expect("a number")
}
