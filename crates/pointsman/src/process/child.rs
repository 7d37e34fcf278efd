//! A child process that runs, or has ended.
//!
//! Invariant: how a child ended is asked of the system once, and kept; its number is not used after that.

use std::future::poll_fn;
use std::io;
use std::process::{self, ExitStatus, Output};

use super::stdio::{ChildStderr, ChildStdin, ChildStdout};
use super::system::Process;
use crate::io::{AsyncRead, util};

/// A child process. Made by [`Command::spawn`](super::Command::spawn).
///
/// When it is dropped the process goes on, unless [`kill_on_drop`](super::Command::kill_on_drop) was set; see
/// [the module](super).
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
    state: State,

    /// The writing end of its standard input, if that is a pipe. Take it out to use it while something else is done with
    /// the child: `child.stdin.take()`.
    pub stdin: Option<ChildStdin>,

    /// The reading end of its standard output, if that is a pipe. Take it out to use it while something else is done
    /// with the child: `child.stdout.take()`.
    pub stdout: Option<ChildStdout>,

    /// The reading end of its standard error, if that is a pipe. Take it out to use it while something else is done with
    /// the child: `child.stderr.take()`.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    Runs(Running),
    HasEnded(ExitStatus),
}

#[derive(Debug)]
struct Running {
    process: Process,
    kill_on_drop: bool,
}

impl Drop for Running {
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
        // First, so that it is looked after if there is an error.
        let state = State::Runs(Running {
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

    /// Its number, until it was found to have ended: then the number may be another's.
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
            State::Runs(running) => Some(running.process.id()),
            State::HasEnded(_) => None,
        }
    }

    /// The handle of the process, until it was found to have ended.
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
            State::Runs(running) => Some(running.process.raw_handle()),
            State::HasEnded(_) => None,
        }
    }

    // --- ending it ---

    /// Kills the process, on Unix by `SIGKILL`, and does not wait for its end. Nothing if it has ended.
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
        if let State::Runs(running) = &mut self.state {
            running.process.kill()?;
            running.kill_on_drop = false;
        }
        Ok(())
    }

    /// Kills the process, on Unix by `SIGKILL`, and waits for its end.
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

    // --- waiting for its end ---

    /// Waits until the process has ended, and says how. Again the same, each time it is called.
    ///
    /// Its standard input is closed first if it is still here, so that the child does not wait for more.
    ///
    /// # Errors
    /// If something else of this program has asked how the process ended, or the runtime is ending.
    ///
    /// # Panics
    /// If the runtime that it was started at has ended, and there is no other current runtime with I/O.
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
            State::HasEnded(status) => return Ok(*status),
            State::Runs(running) => poll_fn(|cx| running.process.poll_wait(cx)).await?,
        };
        self.has_ended(status);
        Ok(status)
    }

    /// Says how the process ended if it has. Its standard input stays open.
    ///
    /// # Errors
    /// If something else of this program has asked how the process ended.
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
            State::HasEnded(status) => return Ok(Some(*status)),
            State::Runs(running) => running.process.try_wait()?,
        };
        if let Some(status) = status {
            self.has_ended(status);
        }
        Ok(status)
    }

    fn has_ended(&mut self, status: ExitStatus) {
        if let State::Runs(running) = &mut self.state {
            running.kill_on_drop = false;
        }
        self.state = State::HasEnded(status);
    }

    /// Waits until the process has ended, and collects what it writes to those of its standard output and error that are
    /// pipes and were not taken out.
    ///
    /// Its standard input is closed first, as by [`wait`](Self::wait).
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait) and of reading.
    ///
    /// # Cancel safety
    /// A future that is dropped drops the child, and what it had written.
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
        // None of them is dropped before the others are done: a child whose pipe is closed may fail.
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
