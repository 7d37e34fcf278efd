//! Settings of a command on all platforms.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use super::Command;

impl Command {
    /// Adds an argument. It is passed as it is, without a shell.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("echo").arg("two words").arg("$HOME").output().await?;
    /// assert_eq!(output.stdout, b"two words $HOME\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Self {
        self.std.arg(arg);
        self
    }

    /// Adds arguments.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("echo").args(["a", "b"]).output().await?;
    /// assert_eq!(output.stdout, b"a b\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn args<I, S>(&mut self, args: I) -> &mut Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Sets an environment variable of the child.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $NAME"]).env("NAME", "it").output().await?;
    /// assert_eq!(output.stdout, b"it\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Self
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets environment variables of the child.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("sh")
    ///     .args(["-c", "echo $A$B"])
    ///     .envs([("A", "1"), ("B", "2")])
    ///     .output()
    ///     .await?;
    /// assert_eq!(output.stdout, b"12\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes an environment variable of the child.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let mut command = Command::new("sh");
    /// command.args(["-c", "echo ${HOME:-none}"]).env_remove("HOME");
    /// assert_eq!(command.output().await?.stdout, b"none\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Self {
        self.std.env_remove(key);
        self
    }

    /// Clears the child's environment: inherited variables and those set before.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("/usr/bin/env").env_clear().env("A", "1").output().await?;
    /// assert_eq!(output.stdout, b"A=1\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env_clear(&mut self) -> &mut Self {
        self.std.env_clear();
        self
    }

    /// Sets the child's working directory. Whether a relative program path is resolved there or in the current
    /// directory depends on the platform.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// let output = Command::new("pwd").current_dir("/").output().await?;
    /// assert_eq!(output.stdout, b"/\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Self {
        self.std.current_dir(dir);
        self
    }

    /// Sets the child's standard input. Inherited by default.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let output = Command::new("cat").stdin(Stdio::null()).output().await?;
    /// assert_eq!(output.stdout, b"");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stdin(cfg);
        self
    }

    /// Sets the child's standard output. Inherited by default; [`output`](Self::output) pipes it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output().await?.stdout, b"hello\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stdout(cfg);
        self
    }

    /// Sets the child's standard error. Inherited by default; [`output`](Self::output) pipes it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let status = Command::new("ls").arg("/none").stderr(Stdio::null()).status().await?;
    /// assert!(!status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stderr(cfg);
        self
    }
}
