//! Real programs on packages built on Tokio, one per package and named like it, in `src/bin`. Each checks its own
//! results, panics if one is wrong, and ends with a line that says what was done.
//!
//! This library holds what several of them need: a certificate, and a web server with TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tower::Service;

/// A certificate for `localhost`, and the TLS configuration of both sides.
pub struct Tls {
    /// For servers.
    pub server: Arc<ServerConfig>,
    /// For clients.
    pub client: Arc<ClientConfig>,
    /// The root that clients must trust.
    pub certificate: CertificateDer<'static>,
}

impl Tls {
    /// Creates a certificate. `protocols` are offered by ALPN.
    pub fn new(protocols: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        server.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let client = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            server: Arc::new(server),
            client: Arc::new(client),
            certificate,
        }
    }
}

/// A web server over TLS that can be shut down.
pub struct WebServer {
    /// Its address.
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<usize>,
}

impl WebServer {
    /// Serves an application on a free local port, by HTTP/1.1 or 2 as the client chooses.
    pub async fn start(app: Router, tls: &Tls) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let acceptor = TlsAcceptor::from(tls.server.clone());
        let served = tokio::spawn(serve(listener, acceptor, app, stopped));
        Self {
            address,
            stop,
            served,
        }
    }

    /// Shuts down after the current requests are complete, and returns the number of connections served.
    pub async fn stop(self) -> usize {
        self.stop.send(()).unwrap();
        tokio::time::timeout(Duration::from_secs(20), self.served)
            .await
            .expect("the server does not end")
            .unwrap()
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    app: Router,
    mut stopped: oneshot::Receiver<()>,
) -> usize {
    let graceful = GracefulShutdown::new();
    let mut connections = 0;
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted.unwrap(),
            _ = &mut stopped => break,
        };
        connections += 1;
        let (acceptor, app) = (acceptor.clone(), app.clone());
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                app.clone().call(request)
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            let _ = watcher.watch(connection.into_owned()).await;
        });
    }
    drop(listener);
    graceful.shutdown().await;
    connections
}
