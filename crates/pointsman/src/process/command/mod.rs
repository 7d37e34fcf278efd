//! Starting child processes.

mod settings;
mod system;

use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::process::{self, ExitStatus, Output, Stdio};

use super::child::Child;

/// A builder for child processes, like [`std::process::Command`], with asynchronous waiting.
///
/// A command can be started any number of times.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::process::Command;
///
/// let mut command = Command::new("sh");
/// command.arg("-c").arg("exit 3");
/// assert_eq!(command.status().await?.code(), Some(3));
/// assert_eq!(command.status().await?.code(), Some(3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command for this program: without arguments, with the environment and the working directory of this
    /// process.
    ///
    /// A program name without a slash is searched for in `PATH`. The standard streams are inherited;
    /// [`output`](Self::output) pipes standard output and error.
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let command = Command::new("ls");
    /// assert_eq!(command.as_std().get_program(), "ls");
    /// ```
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        Self::from(process::Command::new(program))
    }

    /// Returns the underlying command of the standard library, to inspect its settings.
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let mut command = Command::new("ls");
    /// command.args(["-l", "/"]);
    /// assert!(command.as_std().get_args().eq(["-l", "/"]));
    /// ```
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// Returns the underlying command of the standard library, for settings that this type lacks.
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let mut command = Command::new("ls");
    /// command.as_std_mut().arg("-l");
    /// assert!(command.as_std().get_args().eq(["-l"]));
    /// ```
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// Converts to the standard library's command. Loses the setting of [`kill_on_drop`](Self::kill_on_drop).
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let status = Command::new("true").into_std().status()?;
    /// assert!(status.success());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Sets whether the child is killed when its [`Child`], or the future of [`status`](Self::status) or
    /// [`output`](Self::output), is dropped before the exit. Default false.
    ///
    /// The child is killed at once and reaped soon after; see [the module](super).
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use pointsman::time::{Duration, timeout};
    ///
    /// let mut command = Command::new("sleep");
    /// let slow = command.arg("1000").kill_on_drop(true).status();
    /// assert!(timeout(Duration::from_millis(1), slow).await.is_err());
    /// // It does not sleep any more.
    /// # Ok(())
    /// # }
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Self {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns the setting of [`kill_on_drop`](Self::kill_on_drop).
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let mut command = Command::new("ls");
    /// assert!(!command.get_kill_on_drop());
    /// assert!(command.kill_on_drop(true).get_kill_on_drop());
    /// ```
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Starts the child. Blocks the thread until the system has loaded the program or failed to.
    ///
    /// # Errors
    /// The system's, for example `NotFound` if there is no such program, or `WouldBlock` if there are too many
    /// processes. If the child or a pipe cannot be registered, because too many descriptors are open or the runtime is
    /// shutting down, the child is dropped.
    ///
    /// # Panics
    /// On Unix, if called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::io::ErrorKind;
    ///
    /// let mut child = Command::new("true").spawn()?;
    /// assert!(child.wait().await?.success());
    ///
    /// let error = Command::new("/no/such/program").spawn().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with(process::Command::spawn)
    }

    /// Like [`spawn`](Self::spawn), but `with` starts the child from the standard library's command.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut child = Command::new("true").spawn_with(|command| {
    ///     println!("{command:?}");
    ///     command.spawn()
    /// })?;
    /// assert!(child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut process::Command) -> io::Result<process::Child>,
    ) -> io::Result<Child> {
        // Before the child exists: without a runtime it could not be waited for.
        super::system::prepare()?;
        Child::new(with(&mut self.std)?, self.kill_on_drop)
    }

    /// Starts the child at once, and waits for its exit. Closes those of its standard streams that are piped.
    ///
    /// # Errors
    /// Those of [`spawn`](Self::spawn) and [`Child::wait`], given by the future.
    ///
    /// # Panics
    /// Those of [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    /// Not cancel safe: dropping the future drops the child; see [`kill_on_drop`](Self::kill_on_drop).
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let status = Command::new("false").status().await?;
    /// assert!(!status.success());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // A child that reads or writes a pipe must not block forever.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the child at once, waits for its exit, and collects its output. Pipes its standard output and error, also
    /// for later starts of this command.
    ///
    /// # Errors
    /// Those of [`spawn`](Self::spawn) and [`Child::wait_with_output`], given by the future.
    ///
    /// # Panics
    /// Those of [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    /// Not cancel safe: dropping the future drops the child and its output; see [`kill_on_drop`](Self::kill_on_drop).
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo out; echo err >&2"]).output().await?;
    /// assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<process::Command> for Command {
    fn from(std: process::Command) -> Self {
        Self {
            std,
            kill_on_drop: false,
        }
    }
}
