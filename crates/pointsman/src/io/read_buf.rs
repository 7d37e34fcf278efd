//! [`ReadBuf`]: memory that is read into before it was ever written.
//!
//! Invariant: `filled <= initialized <= buf.len()`, and the first `initialized` bytes of `buf` are
//! initialized. No byte ever becomes uninitialized again.

use std::fmt;
use std::mem::MaybeUninit;

/// A buffer to read into, of which a first part is filled and a first part is initialized.
///
/// What is filled is initialized; between the end of the one and the end of the other are bytes that were
/// written once, zeros perhaps, but not read; what follows may never have been written:
///
/// ```text
/// [              capacity               ]
/// [ filled |          unfilled          ]
/// [     initialized     | uninitialized ]
/// ```
///
/// So nothing has to be zeroed only to be read into. What is written once must stay initialized, also what
/// the buffer does not know of.
///
/// ```
/// use std::mem::MaybeUninit;
/// use pointsman::io::ReadBuf;
///
/// let mut memory = [MaybeUninit::uninit(); 8];
/// let mut buf = ReadBuf::uninit(&mut memory);
/// buf.put_slice(b"hello");
/// assert_eq!(buf.filled(), b"hello");
/// assert_eq!(buf.remaining(), 3);
/// ```
pub struct ReadBuf<'a> {
    buf: &'a mut [MaybeUninit<u8>],
    filled: usize,
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// An empty buffer over memory that is initialized.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let buf = ReadBuf::new(&mut memory);
    /// assert_eq!((buf.filled().len(), buf.initialized().len()), (0, 8));
    /// ```
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        // SAFETY: a byte that may be uninitialized is laid out as a byte, and no method here makes one
        // uninitialized; those that lend the memory ask the caller for the same.
        let buf = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
        ReadBuf {
            buf,
            filled: 0,
            initialized,
        }
    }

    /// An empty buffer over memory that may never have been written. If part of it was,
    /// [`assume_init`](Self::assume_init) says so.
    ///
    /// ```
    /// # use std::mem::MaybeUninit;
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [MaybeUninit::uninit(); 8];
    /// let buf = ReadBuf::uninit(&mut memory);
    /// assert_eq!((buf.capacity(), buf.initialized().len()), (8, 0));
    /// ```
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf {
            buf,
            filled: 0,
            initialized: 0,
        }
    }

    /// The length of the whole buffer, in bytes.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert_eq!(ReadBuf::new(&mut [0; 8]).capacity(), 8);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// What was read.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert!(ReadBuf::new(&mut [0; 8]).filled().is_empty());
    /// ```
    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.initialized()[..self.filled]
    }

    /// What was read, to be changed in place.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.put_slice(b"ab");
    /// buf.filled_mut().make_ascii_uppercase();
    /// assert_eq!(buf.filled(), b"AB");
    /// ```
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        let filled = self.filled;
        &mut self.initialized_mut()[..filled]
    }

    /// An empty buffer over the first `n` unfilled bytes, or over all if there are fewer.
    ///
    /// It does not know which of them are initialized, and what is read into it must be told to this one,
    /// by [`assume_init`](Self::assume_init) and [`advance`](Self::advance).
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// let mut part = buf.take(2);
    /// part.put_slice(b"ab");
    /// assert_eq!(part.remaining(), 0);
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"ab");
    /// ```
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let len = self.remaining().min(n);
        ReadBuf::uninit(&mut self.buf[self.filled..][..len])
    }

    /// What is initialized, with what is filled.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [7; 2];
    /// assert_eq!(ReadBuf::new(&mut memory).initialized(), [7, 7]);
    /// ```
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        let initialized = &self.buf[..self.initialized];
        // SAFETY: the invariant.
        unsafe { &*(std::ptr::from_ref(initialized) as *const [u8]) }
    }

    /// What is initialized, with what is filled, to be changed in place.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [7; 2];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.initialized_mut()[0] = 1;
    /// assert_eq!(buf.initialized(), [1, 7]);
    /// ```
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        let initialized = &mut self.buf[..self.initialized];
        // SAFETY: the invariant; what is written through the reference is initialized.
        unsafe { &mut *(std::ptr::from_mut(initialized) as *mut [u8]) }
    }

    /// The whole buffer, as it is.
    ///
    /// Who initializes more of it says so by [`assume_init`](Self::assume_init).
    ///
    /// # Safety
    /// The caller must not make a byte uninitialized, also not one that the buffer takes for such.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// // SAFETY: a byte is written.
    /// unsafe { buf.inner_mut()[0].write(7) };
    /// buf.advance(1);
    /// assert_eq!(buf.filled(), [7]);
    /// ```
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// The unfilled part, as it is.
    ///
    /// # Safety
    /// As for [`inner_mut`](Self::inner_mut).
    ///
    /// ```
    /// # use std::mem::MaybeUninit;
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut memory);
    /// // SAFETY: a byte is written, and one byte is then initialized.
    /// unsafe {
    ///     buf.unfilled_mut()[0].write(7);
    ///     buf.assume_init(1);
    /// }
    /// buf.advance(1);
    /// assert_eq!(buf.filled(), [7]);
    /// ```
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// The unfilled part, with zeros where it was not initialized. That is done once.
    ///
    /// ```
    /// # use std::mem::MaybeUninit;
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [MaybeUninit::uninit(); 3];
    /// assert_eq!(ReadBuf::uninit(&mut memory).initialize_unfilled(), [0, 0, 0]);
    /// ```
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// The first `n` bytes of the unfilled part, with zeros where they were not initialized.
    ///
    /// # Panics
    /// If the unfilled part is shorter.
    ///
    /// ```
    /// # use std::mem::MaybeUninit;
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut memory);
    /// assert_eq!(buf.initialize_unfilled_to(2), [0, 0]);
    /// assert_eq!(buf.initialized().len(), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(self.remaining() >= n, "n overflows remaining");
        let (start, end) = (self.filled, self.filled + n);
        if let Some(rest) = self.buf.get_mut(self.initialized..end) {
            rest.fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        &mut self.initialized_mut()[start..end]
    }

    /// How many bytes are unfilled.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert_eq!(ReadBuf::new(&mut [0; 8]).remaining(), 8);
    /// ```
    #[inline]
    pub fn remaining(&self) -> usize {
        self.capacity() - self.filled
    }

    /// Begins anew with nothing filled. What is initialized stays so.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.put_slice(b"ab");
    /// buf.clear();
    /// assert_eq!(buf.remaining(), 8);
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// The next `n` bytes, which are initialized, are filled.
    ///
    /// # Panics
    /// If fewer are initialized.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.initialize_unfilled()[..2].copy_from_slice(b"ab");
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"ab");
    /// ```
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// The first `n` bytes, which are initialized, are filled, and no more: this may also be fewer than were.
    ///
    /// # Panics
    /// If fewer are initialized.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.put_slice(b"hello");
    /// buf.set_filled(4);
    /// assert_eq!(buf.filled(), b"hell");
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "filled must not become larger than initialized"
        );
        self.filled = n;
    }

    /// The first `n` unfilled bytes are initialized, if the buffer did not know.
    ///
    /// # Safety
    /// They must be.
    ///
    /// ```
    /// # use std::mem::MaybeUninit;
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [MaybeUninit::new(7); 8];
    /// let mut buf = ReadBuf::uninit(&mut memory);
    /// // SAFETY: all eight are.
    /// unsafe { buf.assume_init(3) };
    /// assert_eq!(buf.initialized(), [7, 7, 7]);
    /// ```
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Appends `buf`.
    ///
    /// # Panics
    /// If it is longer than [`remaining`](Self::remaining).
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// buf.put_slice(b"hel");
    /// buf.put_slice(b"lo");
    /// assert_eq!(buf.filled(), b"hello");
    /// ```
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, buf: &[u8]) {
        let (len, remaining) = (buf.len(), self.remaining());
        let Some(room) = self.buf[self.filled..].get_mut(..len) else {
            panic!(
                "buf.len() must fit in remaining(); buf.len() = {len}, remaining() = {remaining}"
            );
        };
        // SAFETY: a byte is also one that may be uninitialized.
        room.copy_from_slice(unsafe { &*(std::ptr::from_ref(buf) as *const [MaybeUninit<u8>]) });
        let end = self.filled + len;
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

#[cfg(feature = "io-util")]
// SAFETY: `chunk_mut` is all of what `remaining_mut` counts, and stays so unless the buffer is advanced.
unsafe impl bytes::BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, cnt: usize) {
        // SAFETY: the caller has initialized them.
        unsafe { self.assume_init(cnt) };
        self.advance(cnt);
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut bytes::buf::UninitSlice {
        bytes::buf::UninitSlice::uninit(&mut self.buf[self.filled..])
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}
