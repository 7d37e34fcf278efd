//! Child processes on Windows.
//!
//! A thread of the system waits for the exit of a child that is waited for, and wakes the task. Pipes are blocking:
//! threads for blocking work read and write them.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::windows::io::{AsRawHandle, OwnedHandle, RawHandle};
use std::process::{Child, ExitStatus};
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD,
    WT_EXECUTEONLYONCE,
};

use crate::atomic_waker::AtomicWaker;
use crate::io::ReadBuf;
use crate::io::blocking::{MAX_BUF_SIZE, Pump, Source};

pub(super) struct Process {
    /// Dropped before the child, whose handle the system waits on until then.
    wait: Option<Wait>,
    child: Child,
}

/// A registered wait of the system for the exit of a child, which wakes the task.
struct Wait {
    handle: HANDLE,
    waker: *mut AtomicWaker,
}

// SAFETY: the system's wait handle may be used by any thread, and `waker` points to an `AtomicWaker`, which is Send.
unsafe impl Send for Wait {}
// SAFETY: shared references only reach the waker, which is Sync; the handle is used in `drop` alone.
unsafe impl Sync for Wait {}

pub(super) fn prepare() -> io::Result<()> {
    Ok(())
}

impl Process {
    pub(super) fn new(child: Child) -> Self {
        Self { wait: None, child }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn raw_handle(&self) -> RawHandle {
        self.child.as_raw_handle()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            none => none.insert(Wait::new(&self.child)?),
        };
        // Registered first, so that an exit after `try_wait` wakes the task.
        wait.waker().register(cx.waker());
        match self.child.try_wait()? {
            Some(status) => Poll::Ready(Ok(status)),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

impl Wait {
    fn new(child: &Child) -> io::Result<Self> {
        let waker = Box::into_raw(Box::new(AtomicWaker::new()));
        let mut handle = ptr::null_mut();
        // SAFETY: the child's handle and the waker outlive the wait: `Process` drops this wait before the child, and
        // `drop` frees the waker after `UnregisterWaitEx` has ended the wait.
        let is_waiting = unsafe {
            RegisterWaitForSingleObject(
                &mut handle,
                child.as_raw_handle(),
                Some(has_ended),
                waker.cast_const().cast(),
                INFINITE,
                WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE,
            )
        };
        if is_waiting == 0 {
            let error = io::Error::last_os_error();
            // SAFETY: `waker` is from `Box::into_raw` above, and the failed call has not kept it.
            drop(unsafe { Box::from_raw(waker) });
            return Err(error);
        }
        Ok(Self { handle, waker })
    }

    fn waker(&self) -> &AtomicWaker {
        // SAFETY: `waker` is freed only in `drop`, and only shared references to it are created before.
        unsafe { &*self.waker }
    }
}

/// Called once, by a thread of the system.
unsafe extern "system" fn has_ended(waker: *mut std::ffi::c_void, _: bool) {
    // SAFETY: the context is the `AtomicWaker` given to `RegisterWaitForSingleObject`; `drop` frees it only after the
    // wait has ended.
    let waker = unsafe { &*waker.cast_const().cast::<AtomicWaker>() };
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        // SAFETY: `handle` is a registered wait, unregistered only here. With INVALID_HANDLE_VALUE the call returns
        // after a running `has_ended`.
        let has_ended = unsafe { UnregisterWaitEx(self.handle, INVALID_HANDLE_VALUE) };
        if has_ended == 0 {
            // The waker is leaked: the system may still use it.
            return;
        }
        // SAFETY: `waker` is from `Box::into_raw` in `new`, and the wait that used it has ended.
        drop(unsafe { Box::from_raw(self.waker) });
    }
}

#[derive(Debug)]
pub(super) struct Pipe {
    file: Arc<File>,
    pump: Pump,
}

pub(super) type Reader = Pipe;
pub(super) type Writer = Pipe;

struct SharedFile(Arc<File>);

impl Read for SharedFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buf)
    }
}

// SAFETY: `File::read` writes to the buffer by one system call, without reading it, and returns how much it wrote.
unsafe impl Source for SharedFile {}

impl Pipe {
    pub(super) fn new(pipe: impl Into<OwnedHandle>) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(File::from(pipe.into())),
            pump: Pump::new(),
        })
    }

    pub(super) fn into_owned(self) -> io::Result<OwnedHandle> {
        // A job may still hold the other reference.
        match Arc::try_unwrap(self.file) {
            Ok(file) => Ok(file.into()),
            Err(file) => file.try_clone().map(OwnedHandle::from),
        }
    }

    pub(super) fn as_raw(&self) -> RawHandle {
        self.file.as_raw_handle()
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let file = &self.file;
        let source = || SharedFile(Arc::clone(file));
        self.pump.poll_read(cx, buf, MAX_BUF_SIZE, source)
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    pub(super) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let file = Arc::clone(&self.file);
        let write = move |bytes: &[u8], _| (&*file).write_all(bytes);
        self.pump.poll_write(cx, bufs, MAX_BUF_SIZE, write)
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pump.poll_written(cx)
    }
}
