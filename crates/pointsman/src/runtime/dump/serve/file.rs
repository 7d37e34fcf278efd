//! The file of a socket: created in a folder of the user, replacing a stale one, and removed at the end.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use crate::peer::effective_user;

/// Removes the file when it is dropped, unless another process has replaced it.
pub(super) struct SocketFile {
    path: PathBuf,
    /// The device and the inode.
    identity: (u64, u64),
}

impl SocketFile {
    pub(super) fn bind(path: &Path) -> io::Result<(Self, UnixListener)> {
        // The program may change its working directory.
        let absolute = std::path::absolute(path)?;
        check_folder(absolute.parent().unwrap_or(&absolute))?;
        remove_stale(path)?;
        let listener = UnixListener::bind(path)?;
        let made = fs::symlink_metadata(path)?;
        let file = Self {
            path: absolute,
            identity: (made.dev(), made.ino()),
        };
        // Another user could connect before this; the thread refuses such a connection.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok((file, listener))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Checks that no other user can write to the folder and so replace the socket.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder).map_err(|error| {
        let text = format!("the folder of the socket, {}: {error}", folder.display());
        io::Error::new(error.kind(), text)
    })?;
    let problem = if found.uid() != effective_user() {
        "belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "can be written to by other users"
    } else {
        return Ok(());
    };
    let text = format!("the folder of the socket, {}, {problem}", folder.display());
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

/// Removes the socket of a process that has ended.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        let text = format!("{} exists and is not a socket", path.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, text));
    }
    // Connecting a datagram socket fails with `ConnectionRefused` if no process has the socket open. If one has, it
    // fails with another error, because that socket is a stream. Unlike a stream, this never waits for the other
    // process.
    match UnixDatagram::unbound()?.connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => {
            let text = format!("a process serves {}", path.display());
            Err(io::Error::new(ErrorKind::AddrInUse, text))
        }
    }
}
