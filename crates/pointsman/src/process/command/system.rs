//! Settings of a command that one system has.

use super::Command;

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::io;
    use std::os::unix::process::CommandExt;

    use super::Command;

    impl Command {
        /// Sets the child's user, by number. It is not started if it may not be that.
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

        /// Sets the child's group, by number. It is not started if it may not be in that.
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

        /// Sets the child's argument 0, which is the name of the program otherwise.
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

        /// Adds a function that the child runs just before it becomes the program. With several, they run in this order.
        /// An error ends the child, and is that of [`spawn`](Self::spawn).
        ///
        /// # Safety
        /// It runs after a `fork`, where only its thread is left of the process: it may use what is async-signal-safe,
        /// so neither allocate nor lock anything, and it must not close or use up descriptors that others own.
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
            // SAFETY: as the caller promises.
            unsafe { self.std.pre_exec(f) };
            self
        }

        /// Puts the child in a process group, by number; 0 makes a new one, of the child's own number. What a terminal
        /// sends, ctrl-c for one, goes to the group that is in the foreground.
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
        /// Adds text to the command line as it is, without quotes.
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

        /// Sets the flags that `CreateProcess` is given, beside `CREATE_UNICODE_ENVIRONMENT`.
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
