//! A web socket echo: texts, binaries, a ping and a proper close.

use futures::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{accept_async, client_async};

async fn echo(stream: TcpStream) -> usize {
    let mut socket = accept_async(stream).await.unwrap();
    let mut echoed = 0;
    while let Some(message) = socket.next().await {
        let message = message.unwrap();
        if message.is_text() || message.is_binary() {
            socket.send(message).await.unwrap();
            echoed += 1;
        }
    }
    echoed
}

async fn client(address: std::net::SocketAddr, number: usize) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut socket, response) = client_async(format!("ws://{address}/"), stream)
        .await
        .unwrap();
    assert_eq!(response.status(), 101);
    for turn in 0..50 {
        let message = match turn % 2 {
            0 => Message::text(format!("{number} {turn}")),
            _ => Message::binary(vec![turn as u8; turn * 1_000]),
        };
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    socket
        .send(Message::Ping("are you there".into()))
        .await
        .unwrap();
    let pong = socket.next().await.unwrap().unwrap();
    assert_eq!(pong, Message::Pong("are you there".into()));
    let reason = CloseFrame {
        code: CloseCode::Normal,
        reason: "enough".into(),
    };
    socket.close(Some(reason.clone())).await.unwrap();
    assert_eq!(
        socket.next().await.unwrap().unwrap(),
        Message::Close(Some(reason))
    );
    assert!(socket.next().await.is_none());
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let clients: Vec<_> = (0..20)
        .map(|it| tokio::spawn(client(address, it)))
        .collect();
    let mut served = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (stream, _) = listener.accept().await.unwrap();
        served.spawn(echo(stream));
    }
    let echoed: usize = served.join_all().await.into_iter().sum();
    assert_eq!(echoed, 20 * 50);
    for client in clients {
        client.await.unwrap();
    }
    println!("{echoed} messages of 20 sockets");
}
