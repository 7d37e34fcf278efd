//! Web servers: hyper as in its documentation, also over TLS, and axum.

use std::convert::Infallible;
use std::path::Path;

use axum::{Json, Router, routing};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower_http::services::ServeDir;

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Ok(response)
}

pub(crate) async fn plaintext(listener: TcpListener) {
    loop {
        let stream = accept(&listener).await;
        tokio::spawn(serve(stream));
    }
}

pub(crate) async fn plaintext_over_tls(listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let stream = accept(&listener).await;
        let acceptor = acceptor.clone();
        tokio::spawn(async move { serve(acceptor.accept(stream).await.expect("TLS")).await });
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().await.expect("a connection");
    stream.set_nodelay(true).expect("a socket that is open");
    stream
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    // The load detects missing answers itself.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

#[derive(Serialize)]
struct Greeting {
    message: &'static str,
}

async fn greet() -> Json<Greeting> {
    Json(Greeting {
        message: "Hello, World!",
    })
}

pub(crate) async fn json(listener: TcpListener) {
    let router = Router::new().route("/", routing::get(greet));
    axum::serve(listener, router).await.expect("it never ends");
}

/// Serves the files of a folder.
pub(crate) async fn files(listener: TcpListener, folder: impl AsRef<Path>) {
    let router = Router::new().fallback_service(ServeDir::new(folder));
    axum::serve(listener, router).await.expect("it never ends");
}
