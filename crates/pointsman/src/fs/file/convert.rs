//! Conversions between files, descriptors and handles.

use std::fs::File as StdFile;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::{
    AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle,
};

use super::File;

impl From<StdFile> for File {
    fn from(std: StdFile) -> Self {
        Self::from_std(std)
    }
}

macro_rules! system_handle {
    (
        $system:meta, $owned:ty, $borrowed:ident, $raw:ty,
        $as:ident $as_fn:ident, $as_raw:ident $as_raw_fn:ident, $from_raw:ident $from_raw_fn:ident
    ) => {
        #[cfg($system)]
        impl From<$owned> for File {
            fn from(owned: $owned) -> Self {
                Self::from_std(StdFile::from(owned))
            }
        }

        #[cfg($system)]
        impl $as for File {
            fn $as_fn(&self) -> $borrowed<'_> {
                self.std.$as_fn()
            }
        }

        #[cfg($system)]
        impl $as_raw for File {
            fn $as_raw_fn(&self) -> $raw {
                self.std.$as_raw_fn()
            }
        }

        #[cfg($system)]
        impl $from_raw for File {
            unsafe fn $from_raw_fn(raw: $raw) -> Self {
                // SAFETY: the caller guarantees what this function asks, which is the same.
                Self::from_std(unsafe { StdFile::$from_raw_fn(raw) })
            }
        }
    };
}

system_handle!(
    unix, OwnedFd, BorrowedFd, RawFd,
    AsFd as_fd, AsRawFd as_raw_fd, FromRawFd from_raw_fd
);
system_handle!(
    windows, OwnedHandle, BorrowedHandle, RawHandle,
    AsHandle as_handle, AsRawHandle as_raw_handle, FromRawHandle from_raw_handle
);
