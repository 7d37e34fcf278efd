//! Receives into buffers that are not initialized.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::io::ReadBuf;

/// Passes the unfilled part of `buf` to `receive`, and marks the bytes that it received as filled.
///
/// # Safety
/// `receive` writes to the slice without reading it, and returns the number of bytes written.
pub(super) unsafe fn fill<R>(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: `receive` only writes initialized bytes; the caller guarantees it.
    let free = unsafe { buf.unfilled_mut() };
    // SAFETY: `receive` reads no byte of the slice; the caller guarantees it.
    let (count, rest) = receive(unsafe { as_bytes(free) })?;
    // SAFETY: `receive` has written the first `count` bytes; the caller guarantees it.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok((count, rest))
}

/// Like [`fill`], for buffers of the crate bytes.
///
/// # Safety
/// That of [`fill`].
#[cfg(feature = "io-util")]
pub(super) unsafe fn fill_buf<R>(
    buf: &mut impl bytes::BufMut,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: `receive` only writes initialized bytes; the caller guarantees it.
    let free = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    // SAFETY: `receive` reads no byte of the slice; the caller guarantees it.
    let (count, rest) = receive(unsafe { as_bytes(free) })?;
    // SAFETY: `receive` has written the first `count` bytes of the chunk; the caller guarantees it.
    unsafe { buf.advance_mut(count) };
    Ok((count, rest))
}

/// # Safety
/// The slice is not read before it is written, and only initialized bytes are written to it.
unsafe fn as_bytes(free: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`; the caller guarantees that no uninitialized byte is read.
    unsafe { &mut *(ptr::from_mut(free) as *mut [u8]) }
}
