//! A stream that follows a script, one step per call.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use pointsman::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Reads return these bytes, in as many calls as they need.
    Give(Vec<u8>),
    /// A write accepts at most this many bytes.
    Take(usize),
    /// Pending once. The test polls again.
    Wait,
    Fail(ErrorKind),
}

/// After the script the stream is at its end and accepts all writes.
#[derive(Debug, Default)]
pub(crate) struct Script {
    steps: VecDeque<Step>,
    /// The bytes written.
    pub(crate) written: Vec<u8>,
    /// The number of reads and writes.
    pub(crate) calls: usize,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }
}

pub(crate) fn give(bytes: &str) -> Step {
    Step::Give(bytes.into())
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.calls += 1;
        match self.steps.pop_front() {
            Some(Step::Give(mut bytes)) => {
                let rest = bytes.split_off(bytes.len().min(buf.remaining()));
                buf.put_slice(&bytes);
                if !rest.is_empty() {
                    self.steps.push_front(Step::Give(rest));
                }
                Poll::Ready(Ok(()))
            }
            Some(Step::Wait) => Poll::Pending,
            Some(Step::Fail(kind)) => Poll::Ready(Err(kind.into())),
            Some(Step::Take(_)) => panic!("read where a write was to come"),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Script {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.calls += 1;
        let len = match self.steps.pop_front() {
            Some(Step::Take(len)) => len.min(buf.len()),
            Some(Step::Wait) => return Poll::Pending,
            Some(Step::Fail(kind)) => return Poll::Ready(Err(kind.into())),
            Some(Step::Give(_)) => panic!("written where a read was to come"),
            None => buf.len(),
        };
        self.written.extend_from_slice(&buf[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
