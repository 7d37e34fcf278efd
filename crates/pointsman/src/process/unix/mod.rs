//! Child processes on Unix.
//!
//! Invariant: the process id is used only until the child is reaped; the system cannot reuse it before.

mod orphans;
#[cfg(target_os = "linux")]
mod pidfd;
mod pipe;

use std::fmt;
use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

pub(super) use self::pipe::{Reader, Writer};
use crate::runtime::Handle;
use crate::signal::{listener::Listener, registry};

pub(super) struct Process {
    /// `None` while this is dropped.
    child: Option<Child>,
    /// The source of exit notifications, once the child is waited for.
    exit_source: Option<ExitSource>,
}

enum ExitSource {
    /// A descriptor that becomes readable when the child exits.
    #[cfg(target_os = "linux")]
    Descriptor(pidfd::Registered),
    /// `SIGCHLD`, which any child raises.
    Signal(Listener),
}

/// Makes the current runtime reap dropped children from now on.
#[track_caller]
pub(super) fn prepare() -> io::Result<()> {
    registry::watch_at(&Handle::current())
}

impl Process {
    pub(super) fn new(child: Child) -> Self {
        Self {
            child: Some(child),
            exit_source: None,
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.as_ref().expect(NOT_DROPPED).id()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.as_mut().expect(NOT_DROPPED).kill()
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.as_mut().expect(NOT_DROPPED).try_wait()
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let child = self.child.as_mut().expect(NOT_DROPPED);
        loop {
            match &mut self.exit_source {
                None => {
                    if let Some(status) = child.try_wait()? {
                        return Poll::Ready(Ok(status));
                    }
                    self.exit_source = Some(ExitSource::new(child)?);
                }
                #[cfg(target_os = "linux")]
                Some(ExitSource::Descriptor(descriptor)) => {
                    let registration = descriptor.registration();
                    match std::task::ready!(registration.poll_read_ready(cx)) {
                        Ok(event) => {
                            if let Some(status) = child.try_wait()? {
                                return Poll::Ready(Ok(status));
                            }
                            // A tracing debugger is notified first. Another event follows.
                            registration.clear_readiness(event);
                        }
                        // The descriptor's runtime has shut down. Register with the current one.
                        Err(_) => self.exit_source = None,
                    }
                }
                Some(ExitSource::Signal(listener)) => {
                    // Polled first, so that a signal after `try_wait` is noticed.
                    let will_be_woken = listener.poll(cx).is_pending();
                    if let Some(status) = child.try_wait()? {
                        return Poll::Ready(Ok(status));
                    }
                    if will_be_woken {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

const NOT_DROPPED: &str = "the child is taken in drop only";

impl ExitSource {
    /// Registers with the current runtime.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    fn new(child: &Child) -> io::Result<Self> {
        // Without pidfds, or if the runtime has shut down; `listen` reports the latter.
        #[cfg(target_os = "linux")]
        if let Ok(descriptor) = pidfd::register(child) {
            return Ok(Self::Descriptor(descriptor));
        }
        registry::listen(libc::SIGCHLD, &Handle::current()).map(Self::Signal)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.take().expect(NOT_DROPPED);
        if let Ok(None) = child.try_wait() {
            orphans::adopt(child);
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
