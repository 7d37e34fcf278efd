//! A server and clients of HTTP/1.1: keep-alive, pipelined requests, chunked bodies, an upgrade, and a client that
//! disconnects during a request.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Body = BoxBody<Bytes, Infallible>;

async fn answer(mut request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let body = |text: &'static str| Full::new(Bytes::from(text)).boxed();
    Ok(match request.uri().path() {
        "/hello" => Response::new(body("hello")),
        "/upgrade" => {
            tokio::spawn(async move {
                let mut stream = TokioIo::new(hyper::upgrade::on(&mut request).await.unwrap());
                let mut text = [0; 4];
                stream.read_exact(&mut text).await.unwrap();
                text.reverse();
                stream.write_all(&text).await.unwrap();
            });
            let response = Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header("connection", "upgrade")
                .header("upgrade", "backwards");
            response.body(body("")).unwrap()
        }
        "/pieces" => {
            let received = request.into_body().collect().await?.to_bytes();
            let pieces: Vec<_> = received
                .chunks(1_000)
                .map(|it| Ok(Frame::data(Bytes::copy_from_slice(it))))
                .collect();
            Response::new(StreamBody::new(futures::stream::iter(pieces)).boxed())
        }
        _ => {
            let mut response = Response::new(body(""));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

async fn serve(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_millis(200))
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .with_upgrades()
                .await
        });
    }
}

fn request(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("host", "localhost")
        .body(Full::new(body.into()))
        .unwrap()
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener));
    let connect = || async {
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (client, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        client
    };

    let clients = (0..20_usize).map(|number| async move {
        let mut client = connect().await;
        for turn in 0..20 {
            let content = vec![number as u8; turn * 5_000];
            let response = client
                .send_request(request("/pieces", content.clone()))
                .await
                .unwrap();
            let received = response.into_body().collect().await.unwrap().to_bytes();
            assert!(received == content);
            client.ready().await.unwrap();
        }
    });
    futures::future::join_all(clients).await;

    // Two at once, followed by the end of the connection.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let twice = "GET /hello HTTP/1.1\r\nhost: a\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(twice.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.matches("hello").count(), 2);

    let mut upgrade = request("/upgrade", "");
    let headers = upgrade.headers_mut();
    headers.insert("connection", "upgrade".parse().unwrap());
    headers.insert("upgrade", "backwards".parse().unwrap());
    let response = connect().await.send_request(upgrade).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut upgraded = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    upgraded.write_all(b"stop").await.unwrap();
    let mut text = String::new();
    upgraded.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "pots");

    // A client that sends half a header is not waited for.
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /hello HTTP/1.1\r\nho")
        .await
        .unwrap();
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest))
        .await
        .expect("the server waits forever");

    let status = connect()
        .await
        .send_request(request("/nothing", ""))
        .await
        .unwrap()
        .status();
    assert_eq!(status, StatusCode::NOT_FOUND);
    println!("400 requests of 20 connections, and an upgrade");
}
