//! Ctrl-c, on all platforms.

use std::io;

/// Waits for the first ctrl-c after the future was first polled.
///
/// From the first call on, ctrl-c no longer ends the process; on Unix not even when no listener is left, see
/// `signal::unix::Signal`.
///
/// # Errors
/// If the system refuses to register a handler, or the runtime is shutting down.
///
/// # Panics
/// On Unix, if called outside of a runtime, or in one without I/O.
///
/// # Cancel safety
/// Each call is notified only of later signals. A loop that must not miss one uses a `signal::unix::Signal`.
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
