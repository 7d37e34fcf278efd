//! A connection pool: more tasks than connections, replaced broken connections, a timeout, and the reaper.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bb8::{ManageConnection, Pool, RunError};
use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time;

/// Connects to an echo server.
struct Echo {
    port: u16,
    connections: Arc<AtomicUsize>,
}

/// A connection, and whether it has failed.
struct Connection(TcpStream, bool);

impl Connection {
    /// Sends bytes, and returns the server's answer.
    async fn ask(&mut self, bytes: [u8; 4]) -> io::Result<[u8; 4]> {
        let mut answer = [0; 4];
        self.0.write_all(&bytes).await?;
        self.0.read_exact(&mut answer).await?;
        Ok(answer)
    }
}

impl ManageConnection for Echo {
    type Connection = Connection;
    type Error = io::Error;

    async fn connect(&self) -> io::Result<Connection> {
        self.connections.fetch_add(1, Ordering::SeqCst);
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        Ok(Connection(stream, false))
    }

    async fn is_valid(&self, connection: &mut Connection) -> io::Result<()> {
        match connection.ask(*b"ping").await? == *b"ping" {
            true => Ok(()),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.1
    }
}

async fn echo(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let (mut reader, mut writer) = stream.into_split();
            tokio::io::copy(&mut reader, &mut writer).await
        });
    }
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(echo(listener));
    let connections = Arc::<AtomicUsize>::default();
    let manager = Echo {
        port,
        connections: connections.clone(),
    };
    let pool = Pool::builder()
        .max_size(4)
        .min_idle(1)
        .connection_timeout(Duration::from_secs(20))
        .idle_timeout(Duration::from_millis(20))
        .reaper_rate(Duration::from_millis(10))
        .build(manager)
        .await
        .unwrap();

    let (inside, most) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let tasks = (0..500_u32).map(|number| {
        let (pool, inside, most) = (pool.clone(), inside.clone(), most.clone());
        tokio::spawn(async move {
            let mut connection = pool.get().await.unwrap();
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let answer = connection.ask(number.to_be_bytes()).await.unwrap();
            assert_eq!(u32::from_be_bytes(answer), number);
            // Every hundredth connection is not reused.
            connection.1 = number % 100 == 0;
            inside.fetch_sub(1, Ordering::SeqCst);
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    assert!(most.load(Ordering::SeqCst) <= 4);
    assert!(connections.load(Ordering::SeqCst) >= 5);
    assert_eq!(pool.state().statistics.connections_closed_broken, 5);

    let held = join_all((0..4).map(|_| pool.get_owned())).await;
    let waits = time::timeout(Duration::from_millis(20), pool.get());
    assert!(waits.await.is_err(), "a fifth connection");
    let impatient = Pool::builder()
        .max_size(1)
        .connection_timeout(Duration::from_millis(500))
        .build(Echo {
            port,
            connections: connections.clone(),
        })
        .await
        .unwrap();
    let only = impatient.get().await.unwrap();
    assert!(matches!(impatient.get().await, Err(RunError::TimedOut)));
    drop(only);
    drop(held);

    // The reaper closes idle connections, except one.
    time::timeout(Duration::from_secs(20), async {
        while pool.state().connections > 1 {
            time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("idle connections stay open");
    println!(
        "500 tasks, {} connections",
        connections.load(Ordering::SeqCst)
    );
}
