//! Child processes of Windows.
//!
//! A thread of the system waits for the end of a child that somebody waits for, and wakes the task. Pipes block: the
//! runtime's threads for that read and write them.

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
    /// Comes before the child, whose handle the system waits for until this is dropped.
    wait: Option<Wait>,
    child: Child,
}

/// The system waits for the end of a child, and wakes who does.
struct Wait {
    handle: HANDLE,
    waker: *mut AtomicWaker,
}

// SAFETY: a handle of the system can be used by any thread, and so can what the waker is.
unsafe impl Send for Wait {}
// SAFETY: as above.
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
        // First, so that the task is woken if the child ends after it was asked.
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
        // SAFETY: the child's handle and the waker are there until this is dropped, and the wait has ended then.
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
            // SAFETY: it was made above, and the system does not use it.
            drop(unsafe { Box::from_raw(waker) });
            return Err(error);
        }
        Ok(Self { handle, waker })
    }

    fn waker(&self) -> &AtomicWaker {
        // SAFETY: it is there until this is dropped, and used by shared references alone.
        unsafe { &*self.waker }
    }
}

/// Called by a thread of the system, once.
unsafe extern "system" fn has_ended(waker: *mut std::ffi::c_void, _: bool) {
    // SAFETY: it is the waker that the wait was begun with.
    let waker = unsafe { &*waker.cast_const().cast::<AtomicWaker>() };
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        // SAFETY: the wait was begun, and has not been ended. With this argument the call returns after `has_ended`.
        let has_ended = unsafe { UnregisterWaitEx(self.handle, INVALID_HANDLE_VALUE) };
        if has_ended == 0 {
            // The waker stays: the system may use it.
            return;
        }
        // SAFETY: the system does not use it any more.
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

// SAFETY: the system only writes to the buffer, and says how much.
unsafe impl Source for SharedFile {}

impl Pipe {
    pub(super) fn new(pipe: impl Into<OwnedHandle>) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(File::from(pipe.into())),
            pump: Pump::new(),
        })
    }

    pub(super) fn into_owned(self) -> io::Result<OwnedHandle> {
        // A job may have it still.
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
