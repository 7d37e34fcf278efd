//! Reads whole files from the system's cache, each task its own.

use std::sync::Arc;

use tempfile::TempDir;
use tokio::fs;

use crate::closed_loop::Asked;

/// The number of concurrent readers.
pub(crate) const READERS: &str = "16";

#[derive(Clone)]
pub(crate) struct Files {
    folder: Arc<TempDir>,
    bytes: usize,
}

impl Files {
    pub(crate) fn new(bytes: &str) -> Self {
        let files = Self {
            folder: Arc::new(tempfile::tempdir().expect("a folder of its own")),
            bytes: bytes.parse().expect("a number of bytes"),
        };
        for task in 0..READERS.parse().expect("a number") {
            let mut content = vec![0x5a; files.bytes];
            let mark = usize::to_le_bytes(task);
            content[files.bytes - mark.len()..].copy_from_slice(&mark);
            std::fs::write(files.path(task), content).expect("room for the files");
        }
        files
    }

    fn path(&self, task: usize) -> std::path::PathBuf {
        self.folder.path().join(task.to_string())
    }
}

impl Asked for Files {
    async fn ask(&self, task: usize, _: u64) {
        let content = fs::read(self.path(task)).await.expect("the file is there");
        assert_eq!(content.len(), self.bytes, "a file of another length");
        assert!(content.ends_with(&task.to_le_bytes()), "another file");
    }
}
