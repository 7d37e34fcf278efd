//! A web application over TLS with state, JSON and a stream; shuts down gracefully during a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::StreamExt;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use programs::{Tls, WebServer};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time;

#[derive(Default)]
struct App {
    sum: AtomicU64,
    slow_has_begun: Notify,
}

#[derive(Serialize, Deserialize)]
struct Sum {
    sum: u64,
}

fn app(state: Arc<App>) -> Router {
    Router::new()
        .route(
            "/add/{number}",
            post(
                |State(app): State<Arc<App>>, Path(number): Path<u64>| async move {
                    let sum = app.sum.fetch_add(number, Ordering::Relaxed) + number;
                    Json(Sum { sum })
                },
            ),
        )
        .route(
            "/count/{to}",
            get(|Path(to): Path<u64>| async move {
                let lines = futures::stream::iter(0..to).then(|number| async move {
                    tokio::task::yield_now().await;
                    Ok::<_, std::io::Error>(Bytes::from(format!("{number}\n")))
                });
                Body::from_stream(lines)
            }),
        )
        .route(
            "/slow",
            get(|State(app): State<Arc<App>>| async move {
                app.slow_has_begun.notify_one();
                time::sleep(Duration::from_millis(300)).await;
                "late, but here"
            }),
        )
        .with_state(state)
}

#[tokio::main]
async fn main() {
    let tls = Tls::new(&["http/1.1"]);
    let state = Arc::new(App::default());
    let server = WebServer::start(app(state.clone()), &tls).await;
    let address = server.address;

    // One connection each: a client without a pool.
    let connect = || async {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let connector = tokio_rustls::TlsConnector::from(tls.client.clone());
        let stream = connector.connect(name, stream).await.unwrap();
        let (sender, connection) =
            hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        sender
    };
    let ask = |method: &str, path: String| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .body(Full::default())
            .unwrap();
        let connected = connect();
        async move {
            let response = connected.await.send_request(request).await.unwrap();
            let status = response.status();
            (
                status,
                response.into_body().collect().await.unwrap().to_bytes(),
            )
        }
    };

    let asked = (1..=50).map(|number| ask("POST", format!("/add/{number}")));
    let mut sums: Vec<u64> = Vec::new();
    for (status, body) in futures::future::join_all(asked).await {
        assert_eq!(status, StatusCode::OK);
        sums.push(serde_json::from_slice::<Sum>(&body).unwrap().sum);
    }
    assert_eq!(sums.iter().max(), Some(&(50 * 51 / 2)));

    let (status, body) = ask("GET", "/count/10000".to_owned()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body.iter().filter(|&&byte| byte == b'\n').count(), 10_000);
    assert_eq!(
        ask("GET", "/nothing".to_owned()).await.0,
        StatusCode::NOT_FOUND
    );

    // Shuts down, but not before the current request is complete.
    let slow = ask("GET", "/slow".to_owned());
    let slow = async {
        let (status, body) = slow.await;
        assert_eq!(
            (status, &body[..]),
            (StatusCode::OK, &b"late, but here"[..])
        );
    };
    let stop = async {
        state.slow_has_begun.notified().await;
        server.stop().await
    };
    let ((), connections) = tokio::join!(slow, stop);
    assert_eq!(connections, 53);
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let refused = client
        .get(format!("http://{address}/").parse().unwrap())
        .await;
    assert!(refused.unwrap_err().is_connect());
    println!("{connections} connections over TLS, and the server has ended gracefully");
}
