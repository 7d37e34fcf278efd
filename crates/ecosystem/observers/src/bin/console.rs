//! A program with console-subscriber, which serves the data of tokio-console on a port.

use std::net::TcpListener as Reserved;
use std::time::Duration;

use tokio::net::TcpStream;
use tracing_subscriber::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if cfg!(not(tokio_unstable)) {
        println!("console-subscriber needs the flag");
        return;
    }
    let address = Reserved::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (layer, server) = console_subscriber::ConsoleLayer::builder()
        .server_addr(address)
        .build();
    tracing_subscriber::registry().with(layer).init();
    let server = tokio::spawn(server.serve());
    let mut connected = None;
    for _ in 0..200 {
        match TcpStream::connect(address).await {
            Ok(stream) => connected = Some(stream),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
        if connected.is_some() {
            break;
        }
    }
    assert!(connected.is_some(), "the server does not listen");
    assert!(!server.is_finished());
    println!("the console's server listens");
    server.abort();
}
