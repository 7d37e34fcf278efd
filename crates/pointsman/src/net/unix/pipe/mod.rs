//! Pipes: unnamed, and named (FIFOs).

mod descriptor;
mod open;
mod receiver;
mod sender;

use std::io;

use mio::unix::pipe as mio_pipe;

pub use self::open::OpenOptions;
pub use self::receiver::Receiver;
pub use self::sender::Sender;

/// Creates an unnamed pipe.
///
/// # Errors
/// The system's error.
///
/// # Panics
/// If called outside of a runtime, or in one without I/O.
///
/// ```
/// use pointsman::net::unix::pipe;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (sender, receiver) = pipe::pipe()?;
///     sender.writable().await?;
///     sender.try_write(b"ping")?;
///     receiver.readable().await?;
///     assert_eq!(receiver.try_read(&mut [0; 8])?, 4);
///     Ok(())
/// }
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio_pipe::new()?;
    Ok((Sender::new(sender)?, Receiver::new(receiver)?))
}
