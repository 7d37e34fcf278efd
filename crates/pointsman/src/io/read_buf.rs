//! [`ReadBuf`]: a buffer of possibly uninitialized memory.
//!
//! Invariant: `filled <= initialized <= buf.len()`, and the first `initialized` bytes of `buf` are initialized. A byte
//! that is initialized stays so.

use std::fmt;
use std::mem::MaybeUninit;

/// A buffer for reading, which tracks how many bytes are filled and how many are initialized.
///
/// The filled part is initialized. It is followed by bytes that are initialized but not filled, and by bytes that may
/// be uninitialized:
///
/// ```text
/// [              capacity               ]
/// [ filled |          unfilled          ]
/// [     initialized     | uninitialized ]
/// ```
///
/// So memory need not be zeroed before a read. A byte that was initialized once must stay initialized, even if the
/// buffer does not know that it is.
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
    /// Creates an empty buffer over initialized memory.
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
        // SAFETY: `MaybeUninit<u8>` has the layout of `u8`. The methods of `ReadBuf` write only initialized bytes, and
        // the unsafe ones that lend the memory require the same of the caller.
        let buf = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
        ReadBuf {
            buf,
            filled: 0,
            initialized,
        }
    }

    /// Creates an empty buffer over memory that may be uninitialized. If a part is initialized,
    /// [`assume_init`](Self::assume_init) declares it.
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

    /// Returns the capacity of the buffer, in bytes.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert_eq!(ReadBuf::new(&mut [0; 8]).capacity(), 8);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Returns the filled part.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert!(ReadBuf::new(&mut [0; 8]).filled().is_empty());
    /// ```
    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.initialized()[..self.filled]
    }

    /// Returns the filled part, mutably.
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

    /// Returns an empty buffer over the first `n` unfilled bytes, or over all of them if there are fewer.
    ///
    /// The new buffer treats them as uninitialized. Bytes that are read into it must be declared to this buffer with
    /// [`assume_init`](Self::assume_init) and [`advance`](Self::advance).
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

    /// Returns the initialized part, which includes the filled part.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// let mut memory = [7; 2];
    /// assert_eq!(ReadBuf::new(&mut memory).initialized(), [7, 7]);
    /// ```
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        let initialized = &self.buf[..self.initialized];
        // SAFETY: by the invariant of `ReadBuf`, the first `initialized` bytes are initialized.
        unsafe { &*(std::ptr::from_ref(initialized) as *const [u8]) }
    }

    /// Returns the initialized part, which includes the filled part, mutably.
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
        // SAFETY: by the invariant of `ReadBuf`, the first `initialized` bytes are initialized, and a `&mut [u8]` can
        // only write initialized bytes.
        unsafe { &mut *(std::ptr::from_mut(initialized) as *mut [u8]) }
    }

    /// Returns the whole buffer without initializing it.
    ///
    /// Bytes that the caller initializes are declared with [`assume_init`](Self::assume_init).
    ///
    /// # Safety
    /// The caller must not uninitialize a byte, even one outside of the part that the buffer knows as initialized.
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

    /// Returns the unfilled part without initializing it.
    ///
    /// # Safety
    /// The caller must not uninitialize a byte; see [`inner_mut`](Self::inner_mut).
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

    /// Returns the unfilled part after zeroing what is not initialized. Each byte is zeroed only once.
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

    /// Returns the first `n` bytes of the unfilled part after zeroing what is not initialized.
    ///
    /// # Panics
    /// If fewer than `n` bytes are unfilled.
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

    /// Returns the number of unfilled bytes.
    ///
    /// ```
    /// # use pointsman::io::ReadBuf;
    /// assert_eq!(ReadBuf::new(&mut [0; 8]).remaining(), 8);
    /// ```
    #[inline]
    pub fn remaining(&self) -> usize {
        self.capacity() - self.filled
    }

    /// Marks all bytes as unfilled. Initialized bytes stay initialized.
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

    /// Marks the next `n` bytes as filled.
    ///
    /// # Panics
    /// If the buffer would then be filled beyond its initialized part.
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

    /// Sets the filled part to the first `n` bytes, which may be fewer than before.
    ///
    /// # Panics
    /// If the buffer would then be filled beyond its initialized part.
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

    /// Declares the first `n` unfilled bytes as initialized.
    ///
    /// # Safety
    /// The first `n` unfilled bytes must be initialized.
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

    /// Appends `buf` to the filled part.
    ///
    /// # Panics
    /// If `buf` is longer than [`remaining`](Self::remaining).
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
        // SAFETY: `u8` and `MaybeUninit<u8>` have the same layout, and the slice is only read.
        room.copy_from_slice(unsafe { &*(std::ptr::from_ref(buf) as *const [MaybeUninit<u8>]) });
        let end = self.filled + len;
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

#[cfg(feature = "io-util")]
// SAFETY: `chunk_mut` returns all of the bytes that `remaining_mut` counts, and both change only by `advance_mut`.
unsafe impl bytes::BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, cnt: usize) {
        // SAFETY: the contract of `advance_mut` requires that the caller has initialized the bytes.
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
