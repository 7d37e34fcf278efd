//! What a terminal sends by ctrl-c, on every system.

use std::io;

/// Waits until the process is sent a "ctrl-c" after this was first polled.
///
/// From the first call on ctrl-c does not end the process any more, on Unix not even when nobody listens; see
/// `signal::unix::Signal`.
///
/// # Errors
/// If the system does not let the process listen, or the runtime is ending.
///
/// # Panics
/// On Unix, if there is no current runtime, or it has no I/O.
///
/// # Cancel safety
/// Another call hears only of what comes after it. A loop that must miss none keeps a
/// `signal::unix::Signal`.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// let work = async { 7 };
/// pointsman::select! {
///     stopped = pointsman::signal::ctrl_c() => stopped?,
///     result = work => assert_eq!(result, 7),
/// }
/// # Ok(())
/// # }
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    #[cfg(unix)]
    super::unix::signal(super::unix::SignalKind::interrupt())?
        .recv()
        .await;
    #[cfg(windows)]
    super::windows::ctrl_c()?.recv().await;
    Ok(())
}
