//! Blocking reads and writes as polls: the pump behind files and the standard streams.
//!
//! There is one buffer, and one job at a time that has it. A read lets the job fill the buffer, and takes from
//! it what it has room for. A write fills the buffer and is over, while the job writes.
//!
//! Invariants:
//! - The jobs of a pump run one after the other, in the order of the calls.
//! - Bytes that a write has accepted are written, even if the runtime shuts down before the job has begun.
//! - Bytes that were read and not taken, because the read was cancelled, wait for the next read. What else is
//!   done at the position of the reader first goes back by as many.
//! - The error of a write is told once, by the next write or flush.
//!
//! Cost: a job for a read, and a copy on top of the system's. A copy and a job for a write.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, Read};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::ReadBuf;
use crate::runtime::{Handle, Refused, shutdown_error};
use crate::task::JoinHandle;

/// So much is read or written by one job, unless a file was told otherwise.
pub(crate) const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// A source that is trusted with memory that was never written.
///
/// # Safety
/// `read` must not look at what is in its buffer, and must have written as many bytes as it returns.
pub(crate) unsafe trait Source: Read {}

/// Bytes on their way, the first of which have arrived.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    taken: usize,
}

impl Buffer {
    /// How many bytes were read and not taken.
    pub(crate) fn unread(&self) -> usize {
        self.bytes.len() - self.taken
    }

    fn copy_to(&mut self, dst: &mut ReadBuf<'_>) {
        let rest = &self.bytes[self.taken..];
        let len = rest.len().min(dst.remaining());
        dst.put_slice(&rest[..len]);
        self.taken += len;
    }

    /// An empty buffer with room for so many bytes. There is nothing to be kept, so it does not grow.
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
        // SAFETY: a `Source` only writes there.
        let room = unsafe { &mut *(std::ptr::from_mut::<[MaybeUninit<u8>]>(room) as *mut [u8]) };
        let len = loop {
            match source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        debug_assert!(len <= max);
        // SAFETY: a `Source` has written as many, and they were asked for, so there is room for them.
        unsafe { self.bytes.set_len(len) };
        Ok(())
    }

    /// Takes the beginning of `parts`.
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

/// What a job has done.
#[derive(Debug)]
enum Done {
    Read(io::Result<()>),
    Write(io::Result<()>),
    Seek(io::Result<u64>),
}

#[derive(Debug)]
enum State {
    Idle(Buffer),
    Busy(JoinHandle<(Done, Buffer)>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pump {
    state: State,
    write_error: Option<io::Error>,
    /// Where the last seek has led.
    position: u64,
}

impl Pump {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Idle(Buffer::default()),
            write_error: None,
            position: 0,
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The buffer, if no job has it.
    pub(crate) fn idle(&mut self) -> Option<&mut Buffer> {
        match &mut self.state {
            State::Idle(buffer) => Some(buffer),
            State::Busy(_) => None,
        }
    }

    /// Starts a job with the buffer, which is there.
    ///
    /// Fails if the blocking pool does not accept the job: the runtime has ended, or no thread can be started. An
    /// accepted job always runs, even if the runtime shuts down, so a write may report to its caller that it has
    /// accepted the bytes.
    fn start(&mut self, job: impl FnOnce(&mut Buffer) -> Done + Send + 'static) -> io::Result<()> {
        let mut buffer = self.idle().map(mem::take).expect("no job runs");
        let job = move || (job(&mut buffer), buffer);
        let (job, accepted) = Handle::current().try_spawn_blocking(job);
        match accepted {
            Ok(()) => {
                self.state = State::Busy(job);
                Ok(())
            }
            Err(Refused::Closed) => Err(shutdown_error()),
            Err(Refused::NoThread(error)) => {
                // The job is still queued. Abort it: a write that has failed must not take place later.
                job.abort();
                Err(error)
            }
        }
    }

    /// Waits until no job runs. What it has done, except that the error of a write is kept.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Done>>> {
        let State::Busy(job) = &mut self.state else {
            return Poll::Ready(Ok(None));
        };
        let result = ready!(Pin::new(job).poll(cx));
        // A job that was cancelled has taken the buffer along.
        self.state = State::Idle(Buffer::default());
        let (done, buffer) = result?;
        self.state = State::Idle(buffer);
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

    /// Waits until no job runs, and keeps every error for the next write or flush.
    pub(crate) async fn settle(&mut self) {
        if let Err(error) = poll_fn(|cx| self.poll_idle(cx)).await {
            self.write_error = Some(error);
        }
    }

    /// Reads at most `max` bytes from `source`, which is made if a job has to ask it.
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

    /// Takes at most `max` bytes of `parts`, for `write` in a job. It is also told how many bytes were read and
    /// not taken.
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

    /// Waits until what was taken is written.
    pub(crate) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_idle(cx))?;
        Poll::Ready(self.write_error.take().map_or(Ok(()), Err))
    }

    /// Starts a job that seeks. It is told how many bytes were read and not taken, which are forgotten.
    pub(crate) fn start_seek(
        &mut self,
        seek: impl FnOnce(usize) -> io::Result<u64> + Send + 'static,
    ) -> io::Result<()> {
        let unread = self.take_unread()?;
        self.start(move |_| Done::Seek(seek(unread)))
    }

    /// As [`start_seek`](Self::start_seek), but at once: for a seek that does not wait.
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

    /// Waits until no job runs. Where the last seek has led.
    pub(crate) fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(match ready!(self.poll_idle(cx))? {
            Some(Done::Seek(result)) => result,
            _ => Ok(self.position),
        })
    }
}
