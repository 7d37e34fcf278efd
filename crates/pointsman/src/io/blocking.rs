//! Polls for blocking reads and writes on the blocking pool, for files and the standard streams.
//!
//! There is one buffer, which at most one job uses at a time. A read lets a job fill the buffer and then copies from
//! it. A write fills the buffer and returns; a job then writes it.
//!
//! # Invariants
//!
//! - The jobs of a pump run one after the other, in the order of the calls.
//! - Bytes that a write has accepted are written, even if the runtime shuts down before the job has begun.
//! - Bytes that were read and not taken, because the read was cancelled, are returned by the next read. Any other
//!   operation at the reader's position first moves it back by their number.
//! - The error of a write is reported once, by the next write or flush.
//!
//! Cost: a job and a copy per read; a copy and a job per write.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, Read};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::ReadBuf;
use crate::runtime::{Handle, Refused, shutdown_error};
use crate::task::JoinHandle;

/// The maximum number of bytes per job, unless a file sets another.
pub(crate) const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// A reader that can be given uninitialized memory.
///
/// # Safety
/// `read` must not read from its buffer, and must have written as many bytes as it returns.
pub(crate) unsafe trait Source: Read {}

/// Bytes that are read or written, and how many of them the caller has taken.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    taken: usize,
}

impl Buffer {
    /// The number of bytes that were read and not taken.
    pub(crate) fn unread(&self) -> usize {
        self.bytes.len() - self.taken
    }

    fn copy_to(&mut self, dst: &mut ReadBuf<'_>) {
        let rest = &self.bytes[self.taken..];
        let len = rest.len().min(dst.remaining());
        dst.put_slice(&rest[..len]);
        self.taken += len;
    }

    /// Empties the buffer and reserves `room` bytes. Allocates anew instead of growing, since no content is kept.
    fn clear(&mut self, room: usize) {
        self.taken = 0;
        self.bytes.clear();
        if self.bytes.capacity() < room {
            self.bytes = Vec::with_capacity(room);
        }
    }

    fn read_from(&mut self, source: &mut impl Source, max: usize) -> io::Result<()> {
        self.clear(max);
        let room = &mut self.bytes.spare_capacity_mut()[..max];
        // SAFETY: by the contract of `Source`, `read` only writes to the slice.
        let room = unsafe { &mut *(std::ptr::from_mut::<[MaybeUninit<u8>]>(room) as *mut [u8]) };
        let len = loop {
            match source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        debug_assert!(len <= max);
        // SAFETY: by the contract of `Source`, `read` has written `len` bytes, and the slice was no longer than the
        // spare capacity.
        unsafe { self.bytes.set_len(len) };
        Ok(())
    }

    /// Copies at most `max` bytes of `parts`. Returns the number of bytes.
    fn fill(&mut self, parts: &[IoSlice<'_>], max: usize) -> usize {
        let len = parts.iter().map(|part| part.len()).sum::<usize>().min(max);
        self.clear(len);
        for part in parts {
            let left = len - self.bytes.len();
            self.bytes.extend_from_slice(&part[..part.len().min(left)]);
        }
        len
    }
}

#[derive(Debug)]
enum Done {
    Read(io::Result<()>),
    Write(io::Result<()>),
    Seek(io::Result<u64>),
}

#[derive(Debug)]
enum PumpState {
    Idle(Buffer),
    Busy(JoinHandle<(Done, Buffer)>),
}

#[derive(Debug)]
pub(crate) struct Pump {
    state: PumpState,
    write_error: Option<io::Error>,
    /// The position after the last seek.
    position: u64,
}

impl Pump {
    pub(crate) fn new() -> Self {
        Self {
            state: PumpState::Idle(Buffer::default()),
            write_error: None,
            position: 0,
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the buffer, unless a job uses it.
    pub(crate) fn idle(&mut self) -> Option<&mut Buffer> {
        match &mut self.state {
            PumpState::Idle(buffer) => Some(buffer),
            PumpState::Busy(_) => None,
        }
    }

    /// Starts a job, which takes the buffer. No job may be running.
    ///
    /// Fails if the blocking pool does not accept the job: the runtime has shut down, or no thread can be started. An
    /// accepted job always runs, even during the shutdown, so a write may report that it has accepted the bytes.
    fn start(&mut self, job: impl FnOnce(&mut Buffer) -> Done + Send + 'static) -> io::Result<()> {
        let mut buffer = self.idle().map(mem::take).expect("no job runs");
        let job = move || (job(&mut buffer), buffer);
        let (job, accepted) = Handle::current().try_spawn_blocking(job);
        match accepted {
            Ok(()) => {
                self.state = PumpState::Busy(job);
                Ok(())
            }
            Err(Refused::Closed) => Err(shutdown_error()),
            Err(Refused::NoThread(error)) => {
                // The job is still queued. Abort it: a write that has failed must not happen later.
                job.abort();
                Err(error)
            }
        }
    }

    /// Waits until no job runs and returns its result. Keeps the error of a write for later.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Done>>> {
        let PumpState::Busy(job) = &mut self.state else {
            return Poll::Ready(Ok(None));
        };
        let result = ready!(Pin::new(job).poll(cx));
        // A cancelled job has dropped the buffer.
        self.state = PumpState::Idle(Buffer::default());
        let (done, buffer) = result?;
        self.state = PumpState::Idle(buffer);
        match done {
            Done::Write(Err(error)) => {
                self.write_error = Some(error);
                return Poll::Ready(Ok(None));
            }
            Done::Seek(Ok(position)) => self.position = position,
            _ => {}
        }
        Poll::Ready(Ok(Some(done)))
    }

    /// Waits until no job runs. Keeps an error for the next write or flush.
    pub(crate) async fn settle(&mut self) {
        if let Err(error) = poll_fn(|cx| self.poll_idle(cx)).await {
            self.write_error = Some(error);
        }
    }

    /// Reads at most `max` bytes. Calls `source` only if a job has to read.
    pub(crate) fn poll_read<S>(
        &mut self,
        cx: &mut Context<'_>,
        dst: &mut ReadBuf<'_>,
        max: usize,
        source: impl Fn() -> S,
    ) -> Poll<io::Result<()>>
    where
        S: Source + Send + 'static,
    {
        loop {
            let is_read = match ready!(self.poll_idle(cx))? {
                Some(Done::Read(result)) => result.map(|()| true)?,
                _ => false,
            };
            let buffer = self.idle().expect("no job runs");
            if is_read || buffer.unread() > 0 || dst.remaining() == 0 {
                buffer.copy_to(dst);
                return Poll::Ready(Ok(()));
            }
            let (mut source, max) = (source(), max.min(dst.remaining()));
            self.start(move |buffer| Done::Read(buffer.read_from(&mut source, max)))?;
        }
    }

    /// Accepts at most `max` bytes of `parts`, which a job passes to `write` with the number of bytes that were read
    /// and not taken.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
        max: usize,
        write: impl FnOnce(&[u8], usize) -> io::Result<()> + Send + 'static,
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let buffer = self.idle().expect("no job runs");
        let unread = buffer.unread();
        let len = buffer.fill(parts, max);
        let started = self.start(move |buffer| {
            let result = write(&buffer.bytes, unread);
            buffer.bytes.clear();
            Done::Write(result)
        });
        Poll::Ready(started.map(|()| len))
    }

    /// Waits until all accepted bytes are written.
    pub(crate) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_idle(cx))?;
        Poll::Ready(self.write_error.take().map_or(Ok(()), Err))
    }

    /// Starts a job that seeks. `seek` gets the number of bytes that were read and not taken, which are discarded.
    pub(crate) fn start_seek(
        &mut self,
        seek: impl FnOnce(usize) -> io::Result<u64> + Send + 'static,
    ) -> io::Result<()> {
        let unread = self.take_unread()?;
        self.start(move |_| Done::Seek(seek(unread)))
    }

    /// As [`start_seek`](Self::start_seek), on this thread: for a seek that does not block.
    pub(crate) fn seek_now(
        &mut self,
        seek: impl FnOnce(usize) -> io::Result<u64>,
    ) -> io::Result<()> {
        self.position = seek(self.take_unread()?)?;
        Ok(())
    }

    fn take_unread(&mut self) -> io::Result<usize> {
        let buffer = self.idle().ok_or_else(|| {
            io::Error::other(
                "other file operation is pending, call poll_complete before start_seek",
            )
        })?;
        let unread = buffer.unread();
        buffer.clear(0);
        Ok(unread)
    }

    /// Waits until no job runs. Returns the position after the last seek.
    pub(crate) fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(match ready!(self.poll_idle(cx))? {
            Some(Done::Seek(result)) => result,
            _ => Ok(self.position),
        })
    }
}
