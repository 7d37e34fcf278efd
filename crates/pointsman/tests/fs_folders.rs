//! Directories with many entries, and with entries that are created and removed meanwhile.

#![cfg(feature = "fs")]

use std::collections::HashSet;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Waker};

use pointsman::fs;

#[pointsman::test]
async fn each_of_many_entries_is_returned_once_despite_cancellation() {
    let folder = tempfile::tempdir().unwrap();
    let names: HashSet<_> = (0..10_000).map(|n| format!("{n}")).collect();
    for name in &names {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let mut entries = fs::read_dir(folder.path()).await.unwrap();
    let mut found = HashSet::new();
    loop {
        let entry = {
            let mut next = pin!(entries.next_entry());
            match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                std::task::Poll::Ready(entry) => Some(entry),
                std::task::Poll::Pending => None,
            }
        };
        let entry = match entry {
            Some(entry) => entry.unwrap(),
            None => entries.next_entry().await.unwrap(),
        };
        let Some(entry) = entry else { break };
        assert!(entry.file_type().await.unwrap().is_file());
        assert!(found.insert(entry.file_name().into_string().unwrap()));
    }
    assert!(entries.next_entry().await.unwrap().is_none());
    assert_eq!(found, names);
    fs::remove_dir_all(folder.path()).await.unwrap();
    assert!(!fs::try_exists(folder.path()).await.unwrap());
}

#[pointsman::test]
async fn errors_are_those_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(fs::remove_file(&file).await), ErrorKind::NotFound);
    fs::write(&file, "hello").await.unwrap();
    assert_eq!(kind(fs::create_dir(&file).await), ErrorKind::AlreadyExists);
    let not_empty = fs::remove_dir(folder.path()).await;
    assert_eq!(kind(not_empty), ErrorKind::DirectoryNotEmpty);
    let entries = fs::read_dir(&file).await;
    assert_eq!(entries.unwrap_err().kind(), ErrorKind::NotADirectory);
    std::fs::write(&file, [0xff]).unwrap();
    let text = fs::read_to_string(&file).await;
    assert_eq!(text.unwrap_err().kind(), ErrorKind::InvalidData);
}
