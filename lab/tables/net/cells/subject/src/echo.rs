//! Servers that echo.

use std::path::PathBuf;

use protocol::MESSAGE;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket, UnixListener};

pub(crate) async fn bind_tcp() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a free port")
}

pub(crate) async fn bind_udp() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.expect("a free port")
}

pub(crate) async fn bind_unix(path: PathBuf) -> UnixListener {
    UnixListener::bind(path).expect("a path that nobody has")
}

pub(crate) fn address_of(socket: &UdpSocket) -> String {
    socket.local_addr().expect("it is bound").to_string()
}

pub(crate) async fn tcp(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket that is open");
        tokio::spawn(echo(stream));
    }
}

pub(crate) async fn unix(listener: UnixListener) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(echo(stream));
    }
}

/// Echoes until the other side closes.
async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut buffer = [0; 1024];
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 || stream.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
}

/// Each connection sends one message and gets it back; then this side closes it.
pub(crate) async fn churn(listener: TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(async move {
            let mut buffer = [0; MESSAGE];
            if stream.read_exact(&mut buffer).await.is_ok() {
                // The load detects missing answers itself.
                let _ = stream.write_all(&buffer).await;
            }
        });
    }
}

pub(crate) async fn udp(socket: UdpSocket) {
    let mut buffer = [0; 1024];
    loop {
        let (count, from) = socket.recv_from(&mut buffer).await.expect("a datagram");
        let sent = socket.send_to(&buffer[..count], from).await;
        assert_eq!(sent.expect("room for a datagram"), count);
    }
}
