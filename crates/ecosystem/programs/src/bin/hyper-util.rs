//! The server that detects HTTP/1.1 and 2 and shuts down gracefully, and the client with a pool.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::{conn::auto, graceful::GracefulShutdown};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time;

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let version = request.version();
    let received = request.into_body().collect().await?.to_bytes();
    let mut response = Response::new(Full::new(received));
    *response.version_mut() = version;
    Ok(response)
}

async fn serve(listener: TcpListener, mut stopped: oneshot::Receiver<Infallible>) -> usize {
    let (graceful, mut connections) = (GracefulShutdown::new(), 0);
    let builder = auto::Builder::new(TokioExecutor::new());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                connections += 1;
                let stream = TokioIo::new(accepted.unwrap().0);
                let connection = builder.serve_connection(stream, service_fn(echo));
                tokio::spawn(graceful.watch(connection.into_owned()));
            }
            _ = &mut stopped => break,
        }
    }
    drop(listener);
    time::timeout(Duration::from_secs(20), graceful.shutdown())
        .await
        .expect("the server does not end");
    connections
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(serve(listener, stopped));
    let client = |http2: bool| -> Client<HttpConnector, Full<Bytes>> {
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .http2_only(http2)
            .build_http()
    };
    let (first, second) = (client(false), client(true));
    for (client, version) in [(&first, Version::HTTP_11), (&second, Version::HTTP_2)] {
        // Ten at once, twenty times: from the second time on the connections exist.
        for round in 0..20 {
            let asked = (0..10).map(|number| async move {
                let content = format!("{round} {number}").repeat(1_000);
                let request = Request::post(format!("http://{address}/"))
                    .body(Full::from(content.clone()))
                    .unwrap();
                let response = client.request(request).await?;
                assert_eq!(response.version(), version);
                let received = response.into_body().collect().await.unwrap().to_bytes();
                assert!(received == content);
                Ok::<_, hyper_util::client::legacy::Error>(())
            });
            try_join_all(asked).await.unwrap();
        }
    }
    drop(stop);
    let connections = server.await.unwrap();
    assert!(
        connections < 40,
        "the pool has not been used: {connections} connections"
    );
    let refused = first
        .get(format!("http://{address}/").parse().unwrap())
        .await;
    refused.unwrap_err();
    println!("400 requests over {connections} connections");
}
