//! Child processes of Unix.
//!
//! Invariant: the number of a child is used only until it was found to have ended; it can't be another's before.

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
    /// What tells of its end, once somebody waits for that.
    end: Option<End>,
}

enum End {
    /// A descriptor that can be read once the child has ended.
    #[cfg(target_os = "linux")]
    Descriptor(pidfd::Registered),
    /// `SIGCHLD`, which is that of any child.
    Signal(Listener),
}

/// The current runtime looks after children that are dropped, from now on.
#[track_caller]
pub(super) fn prepare() -> io::Result<()> {
    registry::watch_at(&Handle::current())
}

impl Process {
    pub(super) fn new(child: Child) -> Self {
        Self {
            child: Some(child),
            end: None,
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.as_ref().expect(HERE).id()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.as_mut().expect(HERE).kill()
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.as_mut().expect(HERE).try_wait()
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let child = self.child.as_mut().expect(HERE);
        loop {
            match &mut self.end {
                None => {
                    if let Some(status) = child.try_wait()? {
                        return Poll::Ready(Ok(status));
                    }
                    self.end = Some(End::of(child)?);
                }
                #[cfg(target_os = "linux")]
                Some(End::Descriptor(descriptor)) => {
                    let registration = descriptor.registration();
                    match std::task::ready!(registration.poll_read_ready(cx)) {
                        Ok(event) => {
                            if let Some(status) = child.try_wait()? {
                                return Poll::Ready(Ok(status));
                            }
                            // A debugger is told first. There will be another event.
                            registration.clear_readiness(event);
                        }
                        // That runtime has ended. It may be waited for at another.
                        Err(_) => self.end = None,
                    }
                }
                Some(End::Signal(listener)) => {
                    // First, so that a signal that comes after the child was asked is heard of.
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

const HERE: &str = "it is here until this is dropped";

impl End {
    /// At the current runtime.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    fn of(child: &Child) -> io::Result<Self> {
        // An error tells that the runtime has ended, or that a signal is all that there is.
        #[cfg(target_os = "linux")]
        if let Ok(descriptor) = pidfd::register(child) {
            return Ok(Self::Descriptor(descriptor));
        }
        registry::listen(libc::SIGCHLD, &Handle::current()).map(Self::Signal)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.take().expect(HERE);
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
