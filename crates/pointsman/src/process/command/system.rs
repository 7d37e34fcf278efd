//! Settings of a command on one platform.

use super::Command;

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::io;
    use std::os::unix::process::CommandExt;

    use super::Command;

    impl Command {
        /// Sets the child's user id. Without permission for it, the start fails.
        ///
        /// ```
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// // SAFETY: it only asks the system.
        /// let me = unsafe { libc::getuid() };
        /// assert!(Command::new("true").uid(me).status().await?.success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn uid(&mut self, id: u32) -> &mut Self {
            #[cfg(target_os = "nto")]
            let id = id as i32;
            self.std.uid(id);
            self
        }

        /// Sets the child's group id. Without permission for it, the start fails.
        ///
        /// ```
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// // SAFETY: it only asks the system.
        /// let mine = unsafe { libc::getgid() };
        /// assert!(Command::new("true").gid(mine).status().await?.success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn gid(&mut self, id: u32) -> &mut Self {
            #[cfg(target_os = "nto")]
            let id = id as i32;
            self.std.gid(id);
            self
        }

        /// Sets the child's argument 0. Default: the program.
        ///
        /// ```
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// let output = Command::new("sh").arg0("me").args(["-c", "echo $0"]).output().await?;
        /// assert_eq!(output.stdout, b"me\n");
        /// # Ok(())
        /// # }
        /// ```
        pub fn arg0<S>(&mut self, arg: S) -> &mut Self
        where
            S: AsRef<OsStr>,
        {
            self.std.arg0(arg);
            self
        }

        /// Adds a function that the child runs just before it executes the program; several run in the order added. An
        /// error ends the child and is returned by [`spawn`](Self::spawn).
        ///
        /// # Safety
        /// The function runs after `fork`, with only one thread: it must only use async-signal-safe functions, so
        /// neither allocate nor lock, and must not close descriptors that others own.
        ///
        /// ```
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// let mut command = Command::new("true");
        /// // SAFETY: it does nothing that a child may not do after a fork.
        /// unsafe { command.pre_exec(|| Err(std::io::Error::from_raw_os_error(libc::EPERM))) };
        /// let error = command.spawn().unwrap_err();
        /// assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        /// # Ok(())
        /// # }
        /// ```
        pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Self
        where
            F: FnMut() -> io::Result<()> + Send + Sync + 'static,
        {
            // SAFETY: the caller guarantees what the standard library's `pre_exec` asks, which is the same.
            unsafe { self.std.pre_exec(f) };
            self
        }

        /// Sets the child's process group id; 0 creates a group with the child's own id. A terminal sends signals such
        /// as ctrl-c to the foreground group.
        ///
        /// ```
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// let mut child = Command::new("sleep").arg("1000").process_group(0).spawn()?;
        /// let number = child.id().unwrap() as libc::pid_t;
        /// // SAFETY: it sends a signal to the group of the child.
        /// unsafe { libc::kill(-number, libc::SIGTERM) };
        /// assert!(!child.wait().await?.success());
        /// # Ok(())
        /// # }
        /// ```
        pub fn process_group(&mut self, pgroup: i32) -> &mut Self {
            self.std.process_group(pgroup);
            self
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::ffi::OsStr;
    use std::os::windows::process::CommandExt;

    use super::Command;

    impl Command {
        /// Adds text to the command line without quoting.
        ///
        /// ```no_run
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// Command::new("cmd").raw_arg("/c echo a&echo b").status().await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text_to_append_as_is: S) -> &mut Self {
            self.std.raw_arg(text_to_append_as_is);
            self
        }

        /// Sets the creation flags passed to `CreateProcess`, in addition to `CREATE_UNICODE_ENVIRONMENT`.
        ///
        /// ```no_run
        /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
        /// # use pointsman::process::Command;
        /// const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        /// Command::new("cmd").creation_flags(CREATE_NO_WINDOW).status().await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn creation_flags(&mut self, flags: u32) -> &mut Self {
            self.std.creation_flags(flags);
            self
        }
    }
}
