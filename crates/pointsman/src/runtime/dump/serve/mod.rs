//! A socket on which a process answers with dumps of its runtime, for `pointsman-top` and other tools.
//!
//! A thread per socket waits for requests and takes the dumps, so it answers while all workers are stuck. The protocol
//! is described in `docs/dump-protocol.md`.

mod client;
mod file;
mod json;
mod report;
mod request;
mod thread;

use std::io;
use std::mem;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mio::Waker;

use self::file::SocketFile;
use super::super::error::shutdown_error;
use super::super::handle::Handle;
use super::super::id::Id;

/// The sockets of all runtimes. They are not fields of the runtime, so that builds without the feature do not pay for
/// them.
static SOCKETS: Mutex<Vec<Socket>> = Mutex::new(Vec::new());

struct Socket {
    /// The id of the process that serves it. One that was forked inherits this entry and not the thread.
    process: u32,
    runtime: Id,
    file: SocketFile,
    waker: Arc<Waker>,
}

fn sockets() -> MutexGuard<'static, Vec<Socket>> {
    SOCKETS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    /// Creates a Unix socket on which other processes of this user can look at the runtime, for example with
    /// `pointsman-top`. It exists until the runtime has shut down.
    ///
    /// A separate thread answers, also while all workers are stuck. It sleeps while there are no requests. One
    /// [`dump`](Self::dump) answers all requests that wait; the thread answers each tool at most 20 times a second, and
    /// spends at most a fifth of a core on dumps.
    ///
    /// The folder, such as `/run/user/1000`, must belong to the user, and others must not be able to write to it. The
    /// socket replaces one that an ended process left behind. Only processes of this user can connect, at most 16 at
    /// once: a further connection replaces the one that has been silent for the longest time.
    ///
    /// A process that was forked and has not called `exec` keeps the socket open and does not answer. While it lives, no
    /// other process can serve the path.
    ///
    /// # Errors
    /// `AddrInUse` if a process serves this path, `AlreadyExists` if the path is a file that is not a socket, and
    /// `PermissionDenied` if the folder belongs to another user or others can write to it. Fails also if the runtime
    /// has shut down, or the system refuses.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.sock");
    /// use pointsman::runtime::Runtime;
    /// use std::io::{BufRead, BufReader, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let runtime = Runtime::new()?;
    /// runtime.handle().serve_dumps(&path)?;
    ///
    /// let mut tool = UnixStream::connect(&path)?;
    /// tool.write_all(b"dump age 100\n")?;
    /// let mut answer = String::new();
    /// BufReader::new(tool).read_line(&mut answer)?;
    /// assert!(answer.starts_with(r#"{"version":1,"#));
    ///
    /// drop(runtime);
    /// assert!(!path.exists());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[cfg_attr(docsrs, doc(cfg(all(unix, feature = "diagnostics", feature = "net"))))]
    pub fn serve_dumps(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let (file, listener) = SocketFile::bind(path.as_ref())?;
        let mut sockets = sockets();
        // Checked under the lock: if the runtime has not begun to shut down, `end` runs later and removes the socket.
        if self.shared.is_shut_down() {
            return Err(shutdown_error());
        }
        let waker = thread::start(Arc::downgrade(&self.shared), listener)?;
        sockets.push(Socket {
            process: process::id(),
            runtime: self.id(),
            file,
            waker,
        });
        Ok(())
    }
}

/// Removes the sockets of a runtime. Called when it has shut down.
pub(in crate::runtime) fn end(runtime: Id) {
    let mut sockets = sockets();
    let (ended, others): (Vec<_>, _) = mem::take(&mut *sockets)
        .into_iter()
        .partition(|socket| socket.runtime == runtime);
    *sockets = others;
    drop(sockets);
    for socket in ended {
        if socket.process != process::id() {
            // The file and the thread that the waker would end are those of the parent.
            mem::forget(socket);
            continue;
        }
        // Removes the file before the thread closes the socket: a new process may replace a closed one.
        drop(socket.file);
        let _ = socket.waker.wake();
    }
}
