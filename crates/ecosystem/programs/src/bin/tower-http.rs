//! A file server with compression, a timeout and a size limit, with clients that exceed them.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use programs::{Tls, WebServer};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_http::compression::CompressionLayer;
use tower_http::decompression::DecompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::services::ServeDir;
use tower_http::timeout::TimeoutLayer;

#[tokio::main]
async fn main() {
    let folder = std::env::temp_dir().join(format!("programs-files-{}", std::process::id()));
    tokio::fs::create_dir_all(&folder).await.unwrap();
    let content = "what is said again and again\n".repeat(20_000);
    tokio::fs::write(folder.join("text.txt"), &content)
        .await
        .unwrap();
    let layers = ServiceBuilder::new()
        .layer(CompressionLayer::new())
        .layer(TimeoutLayer::with_status_code(
            StatusCode::GATEWAY_TIMEOUT,
            Duration::from_millis(100),
        ))
        .layer(RequestBodyLimitLayer::new(1_000));
    let app = Router::new()
        .route("/never", get(std::future::pending::<()>))
        .route(
            "/length",
            post(|body: Bytes| async move { body.len().to_string() }),
        )
        .fallback_service(ServeDir::new(&folder))
        .layer(layers);

    // Within one process, without a connection.
    let inside = |request: Request<Body>| {
        let mut service = ServiceBuilder::new()
            .layer(DecompressionLayer::new())
            .service(app.clone());
        async move { service.call(request).await.unwrap() }
    };
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    for _ in 0..20 {
        let response = inside(get("/text.txt")).await;
        assert_eq!(response.status(), StatusCode::OK);
        let received = response.into_body().collect().await.unwrap().to_bytes();
        assert!(received == content);
    }
    let mut part = get("/text.txt");
    part.headers_mut()
        .insert(header::RANGE, "bytes=5-11".parse().unwrap());
    let response = app.clone().oneshot(part).await.unwrap();
    assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
    let received = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(received, content[5..=11]);
    assert_eq!(
        inside(get("/never")).await.status(),
        StatusCode::GATEWAY_TIMEOUT
    );
    let large = Request::post("/length")
        .body(Body::from(vec![0; 2_000]))
        .unwrap();
    assert_eq!(inside(large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);

    // And over TLS, compressed as an external client requests it.
    let tls = Tls::new(&["h2"]);
    let server = WebServer::start(app.clone(), &tls).await;
    let client = reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_der(&tls.certificate).unwrap()])
        .resolve("localhost", server.address)
        .no_proxy()
        .build()
        .unwrap();
    let url = format!("https://localhost:{}/text.txt", server.address.port());
    let asked = client.get(url).header(header::ACCEPT_ENCODING, "gzip");
    let response = asked.send().await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    let compressed = response.bytes().await.unwrap().len();
    assert!(compressed < content.len() / 10);
    drop(client);
    server.stop().await;
    tokio::fs::remove_dir_all(&folder).await.unwrap();
    println!(
        "a file of {} bytes, and of {compressed} when compressed",
        content.len()
    );
}
