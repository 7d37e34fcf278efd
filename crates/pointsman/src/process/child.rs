//! A child process.
//!
//! Invariant: the exit status is read from the system once and kept; the process id is not used afterwards.

use std::future::poll_fn;
use std::io;
use std::process::{self, ExitStatus, Output};

use super::stdio::{ChildStderr, ChildStdin, ChildStdout};
use super::system::Process;
use crate::io::{AsyncRead, util};

/// A child process, from [`Command::spawn`](super::Command::spawn).
///
/// Dropping it does not end the process, unless [`kill_on_drop`](super::Command::kill_on_drop) was set; see [the
/// module](super).
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::process::Command;
///
/// let mut child = Command::new("sleep").arg("1000").spawn()?;
/// assert!(child.try_wait()?.is_none());
/// child.kill().await?;
/// assert!(!child.wait().await?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    state: ChildState,

    /// The writing end of the child's standard input, if piped. To use it while the child is borrowed, take it:
    /// `child.stdin.take()`.
    pub stdin: Option<ChildStdin>,

    /// The reading end of the child's standard output, if piped. To use it while the child is borrowed, take it:
    /// `child.stdout.take()`.
    pub stdout: Option<ChildStdout>,

    /// The reading end of the child's standard error, if piped. To use it while the child is borrowed, take it:
    /// `child.stderr.take()`.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum ChildState {
    Running(RunningChild),
    Exited(ExitStatus),
}

#[derive(Debug)]
struct RunningChild {
    process: Process,
    kill_on_drop: bool,
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        if self.kill_on_drop {
            let _ = self.process.kill();
        }
    }
}

impl Child {
    pub(super) fn new(mut child: process::Child, kill_on_drop: bool) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Created first, so that an error below drops it and the child is reaped.
        let state = ChildState::Running(RunningChild {
            process: Process::new(child),
            kill_on_drop,
        });
        Ok(Self {
            state,
            stdin: stdin.map(ChildStdin::from_std).transpose()?,
            stdout: stdout.map(ChildStdout::from_std).transpose()?,
            stderr: stderr.map(ChildStderr::from_std).transpose()?,
        })
    }

    /// Returns the process id, or `None` once the exit status was read: the system may then reuse the id.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut child = Command::new("true").spawn()?;
    /// assert!(child.id().is_some());
    /// child.wait().await?;
    /// assert_eq!(child.id(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            ChildState::Running(running) => Some(running.process.id()),
            ChildState::Exited(_) => None,
        }
    }

    /// Returns the process handle, or `None` once the exit status was read.
    ///
    /// ```no_run
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let child = Command::new("cmd").spawn()?;
    /// assert!(child.raw_handle().is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(windows)]
    pub fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        match &self.state {
            ChildState::Running(running) => Some(running.process.raw_handle()),
            ChildState::Exited(_) => None,
        }
    }

    /// Kills the child, on Unix by `SIGKILL`, without waiting for its exit. Does nothing if its exit status was already
    /// read.
    ///
    /// # Errors
    /// If the process may not be killed.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// child.start_kill()?;
    /// assert!(!child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn start_kill(&mut self) -> io::Result<()> {
        if let ChildState::Running(running) = &mut self.state {
            running.process.kill()?;
            running.kill_on_drop = false;
        }
        Ok(())
    }

    /// Kills the child, on Unix by `SIGKILL`, and waits for its exit.
    ///
    /// # Errors
    /// Those of [`start_kill`](Self::start_kill) and [`wait`](Self::wait).
    ///
    /// # Cancel safety
    /// Cancel safe: once polled, the process is killed.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// child.kill().await?;
    /// assert_eq!(child.id(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await?;
        Ok(())
    }

    /// Waits for the child to exit and returns its exit status; later calls return it again.
    ///
    /// Closes the child's standard input first, if it was not taken, so that the child does not wait for more input.
    ///
    /// # Errors
    /// If other code in this process has reaped the child, or the runtime is shutting down.
    ///
    /// # Panics
    /// If the runtime in which the child was started has shut down, and no runtime with I/O is current.
    ///
    /// # Cancel safety
    /// Cancel safe.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// // It reads until its input is closed.
    /// let mut child = Command::new("cat").stdin(Stdio::piped()).spawn()?;
    /// assert!(child.wait().await?.success());
    /// assert!(child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let status = match &mut self.state {
            ChildState::Exited(status) => return Ok(*status),
            ChildState::Running(running) => poll_fn(|cx| running.process.poll_wait(cx)).await?,
        };
        self.set_exited(status);
        Ok(status)
    }

    /// Returns the exit status if the child has exited. Does not close its standard input.
    ///
    /// # Errors
    /// If other code in this process has reaped the child.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// assert!(child.try_wait()?.is_none());
    /// child.kill().await?;
    /// assert!(child.try_wait()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.state {
            ChildState::Exited(status) => return Ok(Some(*status)),
            ChildState::Running(running) => running.process.try_wait()?,
        };
        if let Some(status) = status {
            self.set_exited(status);
        }
        Ok(status)
    }

    fn set_exited(&mut self, status: ExitStatus) {
        if let ChildState::Running(running) = &mut self.state {
            running.kill_on_drop = false;
        }
        self.state = ChildState::Exited(status);
    }

    /// Waits for the child to exit, and collects its standard output and error, if piped and not taken.
    ///
    /// Closes the child's standard input first, as [`wait`](Self::wait) does.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait) and of reading.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropping the future drops the child and the collected output.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// let output = child.wait_with_output().await?;
    /// assert!(output.status.success());
    /// assert_eq!(output.stdout, b"hello\n");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        // Both pipes are kept until all three futures are done: a child whose pipe is closed may fail.
        let (status, stdout, stderr) = crate::try_join!(
            self.wait(),
            read_to_end(&mut stdout),
            read_to_end(&mut stderr)
        )?;
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }
}

async fn read_to_end(pipe: &mut Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        util::read_to_end::read_to_end(pipe, &mut bytes).await?;
    }
    Ok(bytes)
}
