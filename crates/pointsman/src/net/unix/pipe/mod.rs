//! Pipes: between parts of a program, processes, or who opens a path (FIFO).

mod open;

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use mio::unix::pipe as mio_pipe;

pub use self::open::OpenOptions;
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
#[cfg(feature = "io-util")]
use crate::net::fill::fill_buf;

/// A pipe without a name: what is written at one end is read at the other.
///
/// # Errors
/// The system's.
///
/// # Panics
/// Outside of a runtime, or in one without I/O.
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

/// What both ends have: how they are made of descriptors, and become those again.
macro_rules! pipe_end {
    (
        $End:ident, $Mio:ty, $interest:ident, $uses:literal, $pair:literal, $name:literal,
        modes: $modes:pat, not: $not:literal, try_io: $call:literal
    ) => {
        impl $End {
            #[track_caller]
            fn new(pipe: $Mio) -> io::Result<Self> {
                let io = PollEvented::new_with_interest(pipe, Interest::$interest)?;
                Ok(Self { io })
            }

            fn source(&self) -> &PollEvented<$Mio> {
                &self.io
            }

            /// Takes over a file that is this end of a pipe, and puts it into non-blocking mode.
            ///
            /// # Errors
            /// `InvalidInput` if it is no pipe, or not opened for this. The system's.
            ///
            /// # Panics
            /// Outside of a runtime, or in one without I/O.
            ///
            /// ```
            #[doc = $uses]
            /// use std::fs::File;
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let file = File::from(", $name, ".into_blocking_fd()?);")]
            #[doc = concat!("    pipe::", stringify!($End), "::from_file(file)?;")]
            ///     Ok(())
            /// }
            /// ```
            #[track_caller]
            pub fn from_file(file: File) -> io::Result<Self> {
                Self::from_owned_fd(file.into())
            }

            /// As [`from_file`](Self::from_file), for a descriptor.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let descriptor = ", $name, ".into_blocking_fd()?;")]
            #[doc = concat!("    pipe::", stringify!($End), "::from_owned_fd(descriptor)?;")]
            ///     Ok(())
            /// }
            /// ```
            #[track_caller]
            pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
                check_pipe(owned_fd.as_fd())?;
                let flags = flags_of(owned_fd.as_fd())?;
                if !matches!(flags & libc::O_ACCMODE, $modes) {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, $not));
                }
                set_flags(owned_fd.as_fd(), flags, flags | libc::O_NONBLOCK)?;
                Self::from_owned_fd_unchecked(owned_fd)
            }

            /// As [`from_file`](Self::from_file), without a check: it has to be this end of a pipe, or anything else
            /// that the system tells the readiness of, in non-blocking mode.
            ///
            /// # Errors
            /// The system's, if it cannot be watched.
            ///
            /// # Panics
            /// Outside of a runtime, or in one without I/O.
            ///
            /// ```
            #[doc = $uses]
            /// use std::fs::File;
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let file = File::from(", $name, ".into_nonblocking_fd()?);")]
            #[doc = concat!("    pipe::", stringify!($End), "::from_file_unchecked(file)?;")]
            ///     Ok(())
            /// }
            /// ```
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> io::Result<Self> {
                Self::from_owned_fd_unchecked(file.into())
            }

            /// As [`from_file_unchecked`](Self::from_file_unchecked), for a descriptor.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let descriptor = ", $name, ".into_nonblocking_fd()?;")]
            #[doc = concat!("    pipe::", stringify!($End), "::from_owned_fd_unchecked(descriptor)?;")]
            ///     Ok(())
            /// }
            /// ```
            #[track_caller]
            pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
                Self::new(<$Mio>::from(owned_fd))
            }

            /// Gives back the descriptor, in blocking mode.
            ///
            /// # Errors
            /// The system's.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let descriptor = ", $name, ".into_blocking_fd()?;")]
            ///     Ok(())
            /// }
            /// ```
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                let flags = flags_of(fd.as_fd())?;
                set_flags(fd.as_fd(), flags, flags & !libc::O_NONBLOCK)?;
                Ok(fd)
            }

            /// Gives back the descriptor, in non-blocking mode.
            ///
            /// # Errors
            /// If the system refuses to stop watching it.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("    let descriptor = ", $name, ".into_nonblocking_fd()?;")]
            ///     Ok(())
            /// }
            /// ```
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                self.io.into_inner().map(OwnedFd::from)
            }

            /// Tries a system call of your own, if it is known to be ready for it.
            ///
            /// The call must not block, and give `WouldBlock` where it would: that ends the readiness. It must be one
            /// on this descriptor.
            ///
            /// # Errors
            /// `WouldBlock` if it is not known to be ready, when nothing is called. Otherwise what the call gives.
            ///
            /// ```
            #[doc = $uses]
            ///
            /// #[pointsman::main]
            /// async fn main() -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = $call]
            ///     Ok(())
            /// }
            /// ```
            pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                let io = self.source();
                io.registration().try_io(Interest::$interest, || io.try_io(f))
            }
        }

        descriptor!($End);
    };
}

/// The end of a pipe that writes.
///
/// Writing when nobody reads any more fails with `BrokenPipe`. Who reads sees the end when this is dropped: shutting it
/// down does nothing.
///
/// ```
/// use pointsman::net::unix::pipe;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (sender, receiver) = pipe::pipe()?;
///     drop(receiver);
///     sender.writable().await?;
///     assert_eq!(sender.try_write(b"ping").unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio_pipe::Sender>,
}

pipe_end! {
    Sender, mio_pipe::Sender, WRITABLE,
    "use pointsman::net::unix::pipe;",
    "    let (writer, _reader) = pipe::pipe()?;", "writer",
    modes: libc::O_WRONLY | libc::O_RDWR, not: "not in O_WRONLY or O_RDWR access mode",
    try_io: "    writer.writable().await?;
    let count = writer.try_io(|| std::io::Write::write(&mut writer_file(&writer)?, b\"ping\"))?;
    assert_eq!(count, 4);
    # fn writer_file(pipe: &pipe::Sender) -> std::io::Result<std::fs::File> {
    #     use std::os::fd::AsFd;
    #     Ok(pipe.as_fd().try_clone_to_owned()?.into())
    # }"
}

impl Sender {
    ready_method! {
        "use pointsman::net::unix::pipe;", "    let (writer, _reader) = pipe::pipe()?;",
        writer, WRITABLE, is_writable
    }

    writable_method! {
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;", try_write
    }

    poll_write_ready_method! {
        poll_write_ready,
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;"
    }

    try_write_methods! {
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;"
    }
}

async_write!(Sender, |_| Ok(()));

/// The end of a pipe that reads.
///
/// It reads the end, `Ok(0)`, when all who write have gone.
///
/// ```
/// use pointsman::net::unix::pipe;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (sender, receiver) = pipe::pipe()?;
///     drop(sender);
///     receiver.readable().await?;
///     assert_eq!(receiver.try_read(&mut [0; 8])?, 0);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio_pipe::Receiver>,
}

pipe_end! {
    Receiver, mio_pipe::Receiver, READABLE,
    "use pointsman::net::unix::pipe;",
    "    let (writer, reader) = pipe::pipe()?;\n    # let _writer = &writer;", "reader",
    modes: libc::O_RDONLY | libc::O_RDWR, not: "not in O_RDONLY or O_RDWR access mode",
    try_io: "    drop(writer);
    reader.readable().await?;
    let count = reader.try_io(|| std::io::Read::read(&mut reader_file(&reader)?, &mut [0; 8]))?;
    assert_eq!(count, 0);
    # fn reader_file(pipe: &pipe::Receiver) -> std::io::Result<std::fs::File> {
    #     use std::os::fd::AsFd;
    #     Ok(pipe.as_fd().try_clone_to_owned()?.into())
    # }"
}

impl Receiver {
    ready_method! {
        "use pointsman::net::unix::pipe;",
        "    let (writer, reader) = pipe::pipe()?;
    writer.writable().await?;
    writer.try_write(b\"ping\")?;",
        reader, READABLE, is_readable
    }

    readable_method! {
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;",
        "    writer.writable().await?;
    writer.try_write(b\"ping\")?;",
        try_read
    }

    poll_read_ready_method! {
        poll_read_ready,
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;",
        "    writer.writable().await?;
    writer.try_write(b\"ping\")?;"
    }

    try_read_methods! {
        "use pointsman::net::unix::pipe;", "    let (writer, reader) = pipe::pipe()?;",
        "    writer.writable().await?;
    writer.try_write(b\"ping\")?;"
    }
}

async_read!(Receiver);

// --- what the system says of a descriptor ---

fn check_pipe(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: it is a structure of numbers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the place is there to be written.
    if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } == -1 {
        return Err(io::Error::last_os_error());
    }
    match stat.st_mode & libc::S_IFMT == libc::S_IFIFO {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe")),
    }
}

fn flags_of(fd: BorrowedFd<'_>) -> io::Result<libc::c_int> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}

fn set_flags(fd: BorrowedFd<'_>, before: libc::c_int, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    match flags == before || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) } == 0 {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}
