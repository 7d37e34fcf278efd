//! An echo over TLS: much data in both directions at once, a closed half, and a client that does not trust the
//! certificate.

use std::io;
use std::sync::Arc;

use programs::Tls;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const BYTES: usize = 1_000_000;

#[tokio::main]
async fn main() -> io::Result<()> {
    let tls = Tls::new(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let acceptor = TlsAcceptor::from(tls.server.clone());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await?;
                let (mut reader, mut writer) = tokio::io::split(stream);
                tokio::io::copy(&mut reader, &mut writer).await?;
                writer.shutdown().await
            });
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });

    let clients = (0..8_u8).map(|client| {
        let connector = TlsConnector::from(tls.client.clone());
        tokio::spawn(async move {
            let stream = TcpStream::connect(address).await?;
            let stream = connector
                .connect("localhost".try_into().unwrap(), stream)
                .await?;
            let (mut reader, mut writer) = tokio::io::split(stream);
            let content: Vec<u8> = (0..BYTES).map(|it| it as u8 ^ client).collect();
            let sent = async {
                writer.write_all(&content).await?;
                writer.shutdown().await
            };
            let mut received = Vec::new();
            let (_, ()) = tokio::try_join!(reader.read_to_end(&mut received), sent)?;
            assert!(received == content);
            io::Result::Ok(received.len())
        })
    });
    let mut bytes = 0;
    for client in clients.collect::<Vec<_>>() {
        bytes += client.await??;
    }
    assert_eq!(bytes, 8 * BYTES);

    let distrustful = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let refused = TlsConnector::from(Arc::new(distrustful))
        .connect(
            "localhost".try_into().unwrap(),
            TcpStream::connect(address).await?,
        )
        .await;
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidData);
    println!("{bytes} bytes there and back in 8 connections");
    Ok(())
}
