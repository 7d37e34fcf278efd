//! `PORT=8080 cargo run`. After SIGTERM or ctrl-c it finishes the running requests, for at most ten seconds.

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
    stop_requested().await?;
    println!("stopping");
    let _ = stop.send(());
    let sums = timeout(GRACE, server).await???;
    println!("texts: {}, words: {}", sums.texts, sums.words);
    Ok(())
}

#[cfg(unix)]
async fn stop_requested() -> std::io::Result<()> {
    let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    pointsman::select! {
        stopped = signal::ctrl_c() => stopped,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn stop_requested() -> std::io::Result<()> {
    signal::ctrl_c().await
}
