//! Buffers that the system writes into, without their being initialized before.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::io::ReadBuf;

/// Lets `receive` fill what is free, and counts it as filled.
///
/// # Safety
/// `receive` does not read what is in the slice, and has written as much as it says.
pub(super) unsafe fn fill<R>(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: the caller has promised that it is not read.
    let free = unsafe { buf.unfilled_mut() };
    // SAFETY: as above.
    let (count, rest) = receive(unsafe { as_bytes(free) })?;
    // SAFETY: so many were written, the caller has promised.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok((count, rest))
}

/// As [`fill`], for buffers of the crate bytes.
///
/// # Safety
/// As for [`fill`].
#[cfg(feature = "io-util")]
pub(super) unsafe fn fill_buf<R>(
    buf: &mut impl bytes::BufMut,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: the caller has promised that it is not read.
    let free = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    // SAFETY: as above.
    let (count, rest) = receive(unsafe { as_bytes(free) })?;
    // SAFETY: so many were written, the caller has promised.
    unsafe { buf.advance_mut(count) };
    Ok((count, rest))
}

/// # Safety
/// Nobody reads what is not initialized.
unsafe fn as_bytes(free: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the layout is the same, and the caller has promised the rest.
    unsafe { &mut *(ptr::from_mut(free) as *mut [u8]) }
}
