//! A client with a pool and timeouts, over TLS by HTTP/1.1 and 2, against an axum server.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::routing::{get, post};
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use programs::{Tls, WebServer};
use reqwest::{Certificate, Client, Version};
use tokio::time;

fn app() -> Router {
    Router::new()
        .route("/hello", get(|| async { "hello" }))
        .route("/never", get(std::future::pending::<()>))
        .route(
            "/stalls",
            get(|| async {
                let begins = stream::iter([Ok::<_, std::io::Error>(Bytes::from("beginning"))]);
                Body::from_stream(begins.chain(stream::pending()))
            }),
        )
        .route(
            "/length",
            post(|request: Request| async {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                body.len().to_string()
            }),
        )
}

async fn try_version(version: Version) -> usize {
    let protocol = match version {
        Version::HTTP_2 => "h2",
        _ => "http/1.1",
    };
    let tls = Tls::new(&[protocol]);
    let server = WebServer::start(app(), &tls).await;
    let port = server.address.port();
    let url = |path: &str| format!("https://localhost:{port}/{path}");
    let client = Client::builder()
        .tls_certs_only([Certificate::from_der(&tls.certificate).unwrap()])
        .resolve("localhost", server.address)
        .no_proxy()
        .build()
        .unwrap();

    let texts: Vec<String> = stream::iter(0..200)
        .map(|_| async {
            let response = client.get(url("hello")).send().await.unwrap();
            assert_eq!(response.version(), version);
            response.text().await.unwrap()
        })
        .buffer_unordered(8)
        .collect()
        .await;
    assert!(texts.len() == 200 && texts.iter().all(|it| it == "hello"));

    let patience = Duration::from_millis(100);
    let begun = time::Instant::now();
    let error = client
        .get(url("never"))
        .timeout(patience)
        .send()
        .await
        .unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(begun.elapsed() >= patience);
    let stalled = client
        .get(url("stalls"))
        .timeout(patience)
        .send()
        .await
        .unwrap();
    let error = stalled.bytes().await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");

    let pieces = stream::iter((0..64).map(|_| Ok::<_, std::io::Error>(vec![7_u8; 16 * 1024])));
    let body = reqwest::Body::wrap_stream(pieces);
    let sent = client.post(url("length")).body(body).send().await.unwrap();
    assert_eq!(sent.text().await.unwrap(), (64 * 16 * 1024).to_string());
    drop(client);
    server.stop().await
}

#[tokio::main]
async fn main() {
    let first = try_version(Version::HTTP_11).await;
    let second = try_version(Version::HTTP_2).await;
    assert!(
        first < 20,
        "the pool has not been used: {first} connections"
    );
    assert!(
        second < 20,
        "the pool has not been used: {second} connections"
    );
    println!("400 requests over {first} and {second} connections; timeouts have fired");
}
