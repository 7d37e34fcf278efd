//! Web servers: hyper as in its documentation, and axum.

use std::convert::Infallible;

use axum::{Json, Router, routing};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpListener;

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Ok(response)
}

pub(crate) async fn plaintext(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket that is open");
        tokio::spawn(async move {
            // The load detects missing answers itself.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
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
