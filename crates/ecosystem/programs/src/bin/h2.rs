//! HTTP/2 streams over one connection, larger than its windows, in both directions; one is reset.

use bytes::Bytes;
use futures::future::join_all;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};

const STREAMS: usize = 20;
const BYTES: usize = 300_000;

/// Sends the data as the windows allow.
async fn send(mut stream: SendStream<Bytes>, mut content: Bytes) -> Result<(), h2::Error> {
    while !content.is_empty() {
        stream.reserve_capacity(content.len());
        let granted = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let granted = granted.expect("the stream has ended")?;
        stream.send_data(content.split_to(granted.min(content.len())), false)?;
    }
    stream.send_data(Bytes::new(), true)
}

async fn receive(mut stream: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut received = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        received.extend_from_slice(&piece);
        stream.flow_control().release_capacity(piece.len())?;
    }
    Ok(received)
}

async fn serve(listener: TcpListener) -> usize {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut requests = 0;
    while let Some(accepted) = connection.accept().await {
        let (request, mut respond) = accepted.unwrap();
        requests += 1;
        tokio::spawn(async move {
            if request.uri().path() == "/reset" {
                respond.send_reset(Reason::ENHANCE_YOUR_CALM);
                return;
            }
            let mut content = receive(request.into_body()).await.unwrap();
            content.reverse();
            let stream = respond.send_response(Response::new(()), false).unwrap();
            send(stream, content.into()).await.unwrap();
        });
    }
    requests
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(listener));
    let stream = TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = |path: &str| {
        Request::post(format!("http://{address}{path}"))
            .body(())
            .unwrap()
    };

    let streams = (0..STREAMS).map(|number| {
        let (client, request) = (client.clone(), request("/reverse"));
        async move {
            let mut client = client.ready().await.unwrap();
            let (response, stream) = client.send_request(request, false).unwrap();
            let content: Vec<u8> = (0..BYTES).map(|it| (it * (number + 1)) as u8).collect();
            let sent = send(stream, content.clone().into());
            let received = async { receive(response.await?.into_body()).await };
            let ((), mut received) = tokio::try_join!(sent, received).unwrap();
            received.reverse();
            assert!(received == content);
        }
    });
    join_all(streams).await;

    let mut ready = client.ready().await.unwrap();
    let (response, _) = ready.send_request(request("/reset"), true).unwrap();
    assert_eq!(
        response.await.unwrap_err().reason(),
        Some(Reason::ENHANCE_YOUR_CALM)
    );
    drop(ready);
    connection.await.unwrap().unwrap();
    assert_eq!(server.await.unwrap(), STREAMS + 1);
    println!(
        "{} bytes there and back in {STREAMS} streams",
        STREAMS * BYTES
    );
}
