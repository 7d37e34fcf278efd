//! `PORT=8080 cargo run`. SIGTERM or ctrl-c ends it, when what has begun is done or ten seconds have passed.

use std::error::Error;
use std::time::Duration;

use axum_on_pointsman::serve;
use pointsman::net::TcpListener;
use pointsman::signal;
use pointsman::sync::oneshot;
use pointsman::time::timeout;

const GRACE: Duration = Duration::from_secs(10);

#[pointsman::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".into());
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    println!("listening on {}", listener.local_addr()?);

    let (stop, stopped) = oneshot::channel();
    let server = pointsman::spawn(serve(listener, async { stopped.await.unwrap_or(()) }));
    told_to_stop().await?;
    println!("stopping");
    let _ = stop.send(());
    let sums = timeout(GRACE, server).await???;
    println!("texts: {}, words: {}", sums.texts, sums.words);
    Ok(())
}

#[cfg(unix)]
async fn told_to_stop() -> std::io::Result<()> {
    let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    pointsman::select! {
        stopped = signal::ctrl_c() => stopped,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn told_to_stop() -> std::io::Result<()> {
    signal::ctrl_c().await
}
