//! A connection over TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream as StdTcpStream;
use std::sync::Arc;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub(crate) struct Tls(StreamOwned<ClientConnection, TcpStream>);

/// Trusts the certificate in this file.
pub(crate) fn trust(certificate: &str) -> Arc<ClientConfig> {
    let certificate = std::fs::read(certificate).expect("the server's certificate");
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(certificate))
        .expect("a certificate");
    let config = ClientConfig::builder().with_root_certificates(roots);
    Arc::new(config.with_no_client_auth())
}

/// Blocks until the handshake is over.
pub(crate) fn connect(mut stream: StdTcpStream, config: &Arc<ClientConfig>) -> io::Result<Tls> {
    let name = ServerName::try_from("localhost").expect("a name");
    let mut connection =
        ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    stream.set_nonblocking(true)?;
    let stream = TcpStream::from_std(stream);
    Ok(Tls(StreamOwned::new(connection, stream)))
}

impl Read for Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Source for Tls {
    fn register(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.0.sock.register(to, token, interest)
    }

    fn reregister(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.0.sock.reregister(to, token, interest)
    }

    fn deregister(&mut self, from: &Registry) -> io::Result<()> {
        self.0.sock.deregister(from)
    }
}
