//! Settings of a command that every system has.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use super::Command;

impl Command {
    /// Adds an argument. No shell takes it apart.
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

    /// Sets a variable of the child's environment.
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

    /// Sets variables of the child's environment.
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

    /// Takes a variable out of the child's environment.
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

    /// Gives the child an empty environment: nothing of this process's, and nothing that was set before.
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

    /// Sets the directory that the child starts in. Whether the path of the program is looked up there or here depends
    /// on the system, if it is not absolute.
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

    /// Sets what the child reads as its standard input: by default, what this process does.
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

    /// Sets where the child's standard output goes: by default, where this process's does. [`output`](Self::output)
    /// makes it a pipe.
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

    /// Sets where the child's standard error goes: by default, where this process's does. [`output`](Self::output)
    /// makes it a pipe.
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
