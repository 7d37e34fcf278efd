//! A process that was forked from one that serves dumps. Alone in its file, so that no other thread holds a lock at the
//! fork.
#![cfg(all(unix, feature = "diagnostics", feature = "net", not(miri)))]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use pointsman::runtime::Builder;

#[test]
fn the_end_of_a_runtime_in_a_forked_process_leaves_the_socket_to_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.sock");
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.handle().serve_dumps(&path).unwrap();
    // SAFETY: the child takes no lock that another thread may have held.
    let child = unsafe { libc::fork() };
    if child == 0 {
        runtime.shutdown_background();
        // SAFETY: the call has no conditions.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    let mut tool = UnixStream::connect(&path).unwrap();
    tool.write_all(b"dump age 1\n").unwrap();
    let mut answer = String::new();
    BufReader::new(tool).read_line(&mut answer).unwrap();
    assert!(answer.starts_with(r#"{"version":1,"#), "{answer:?}");
}
