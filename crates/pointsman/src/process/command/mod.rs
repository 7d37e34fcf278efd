//! How a child process is started.

mod settings;
mod system;

use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::process::{self, ExitStatus, Output, Stdio};

use super::child::Child;

/// What program to start, and how. As the standard library's, whose settings it has; what waits is asynchronous.
///
/// It can be used any number of times.
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
    /// A command that starts this program, without arguments, in the environment and directory of this process.
    ///
    /// A name without a slash is looked for in `PATH`. Standard input, output and error are this process's, but
    /// [`output`](Self::output) makes pipes of the last two.
    ///
    /// ```
    /// # use pointsman::process::Command;
    /// let command = Command::new("ls");
    /// assert_eq!(command.as_std().get_program(), "ls");
    /// ```
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        Self::from(process::Command::new(program))
    }

    /// The standard library's command that this is made of, to look at its settings.
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

    /// The standard library's command that this is made of, for settings that this has no method for.
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

    /// The standard library's command. Whether children are killed when they are dropped is lost.
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

    // --- a child that is dropped ---

    /// Whether a child is killed when its [`Child`], or the future of [`status`](Self::status) or
    /// [`output`](Self::output), is dropped before it has ended. By default it is not.
    ///
    /// It is killed at once, and its number is given back soon; see [the module](super).
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

    /// What [`kill_on_drop`](Self::kill_on_drop) was set to.
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

    // --- starting ---

    /// Starts the child. This thread waits until the system has loaded its program, or could not.
    ///
    /// # Errors
    /// What the system says: `NotFound` if there is no such program, `WouldBlock` if there are too many processes. If a
    /// pipe or the child can't be registered at the runtime, for want of descriptors or because the runtime is ending,
    /// the child is dropped.
    ///
    /// # Panics
    /// On Unix, if there is no current runtime, or it has no I/O.
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

    /// As [`spawn`](Self::spawn), by a function that starts the child from the standard library's command.
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
        // Before there is a child that nobody could wait for.
        super::system::prepare()?;
        Child::new(with(&mut self.std)?, self.kill_on_drop)
    }

    /// Starts the child at once, and waits until it has ended. Of its standard streams, those that are pipes are closed.
    ///
    /// # Errors
    /// Those of [`spawn`](Self::spawn) and [`Child::wait`], given by the future.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    /// A future that is dropped drops the child; see [`kill_on_drop`](Self::kill_on_drop).
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
            // A child that waits to write or read must not wait for ever.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the child at once, and collects what it writes until it has ended. Its standard output and error are made
    /// pipes, whatever they were set to, and stay so.
    ///
    /// # Errors
    /// Those of [`spawn`](Self::spawn) and [`Child::wait_with_output`], given by the future.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    /// A future that is dropped drops the child, and what it had written; see [`kill_on_drop`](Self::kill_on_drop).
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
