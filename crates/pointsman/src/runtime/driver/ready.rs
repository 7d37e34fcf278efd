//! The readiness of an I/O source.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const READ_CLOSED: u8 = 1 << 2;
const WRITE_CLOSED: u8 = 1 << 3;
const PRIORITY: u8 = 1 << 4;
const ERROR: u8 = 1 << 5;

/// The readiness of an I/O source.
///
/// ```
/// use pointsman::io::Ready;
///
/// let ready = Ready::READABLE | Ready::READ_CLOSED;
/// assert!(ready.is_readable() && !ready.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, PartialOrd, Eq, Ord)]
pub struct Ready(u8);

impl Ready {
    /// Not ready.
    pub const EMPTY: Self = Self(0);

    /// Ready for reading.
    pub const READABLE: Self = Self(READABLE);

    /// Ready for writing.
    pub const WRITABLE: Self = Self(WRITABLE);

    /// The read half is closed: a read returns the remaining data and then the end.
    pub const READ_CLOSED: Self = Self(READ_CLOSED);

    /// The write half is closed: a write fails.
    pub const WRITE_CLOSED: Self = Self(WRITE_CLOSED);

    /// Priority data are ready.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(PRIORITY);

    /// The source has an error.
    pub const ERROR: Self = Self(ERROR);

    /// All readiness that this system reports.
    pub const ALL: Self = {
        let all = READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | ERROR;
        match cfg!(any(target_os = "linux", target_os = "android")) {
            true => Self(all | PRIORITY),
            false => Self(all),
        }
    };

    /// Returns true if no readiness is set.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::EMPTY.is_empty());
    /// assert!(!Ready::READABLE.is_empty());
    /// ```
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns true if a read would not block: there are data, or the read half is closed.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::READABLE.is_readable());
    /// assert!(Ready::READ_CLOSED.is_readable());
    /// assert!(!Ready::WRITABLE.is_readable());
    /// ```
    pub fn is_readable(self) -> bool {
        self.0 & (READABLE | READ_CLOSED) != 0
    }

    /// Returns true if a write would not block: there is space, or the write half is closed.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::WRITABLE.is_writable());
    /// assert!(Ready::WRITE_CLOSED.is_writable());
    /// assert!(!Ready::READABLE.is_writable());
    /// ```
    pub fn is_writable(self) -> bool {
        self.0 & (WRITABLE | WRITE_CLOSED) != 0
    }

    /// Returns true if the read half is closed.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::READ_CLOSED.is_read_closed());
    /// assert!(!Ready::READABLE.is_read_closed());
    /// ```
    pub fn is_read_closed(self) -> bool {
        self.0 & READ_CLOSED != 0
    }

    /// Returns true if the write half is closed.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::WRITE_CLOSED.is_write_closed());
    /// assert!(!Ready::WRITABLE.is_write_closed());
    /// ```
    pub fn is_write_closed(self) -> bool {
        self.0 & WRITE_CLOSED != 0
    }

    /// Returns true if priority data are ready.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::PRIORITY.is_priority());
    /// assert!(!Ready::READABLE.is_priority());
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Returns true if the source has an error.
    ///
    /// ```
    /// # use pointsman::io::Ready;
    /// assert!(Ready::ERROR.is_error());
    /// assert!(!Ready::READABLE.is_error());
    /// ```
    pub fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// The readiness that `WouldBlock` does not clear: a closed half stays closed.
    pub(crate) const LASTING: Self = Self(READ_CLOSED | WRITE_CLOSED);

    pub(crate) fn from_mio(event: &mio::event::Event) -> Self {
        let parts = [
            (event.is_readable(), READABLE),
            (event.is_writable(), WRITABLE),
            (event.is_read_closed(), READ_CLOSED),
            (event.is_write_closed(), WRITE_CLOSED),
            (event.is_error(), ERROR),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (event.is_priority(), PRIORITY),
        ];
        let ready = parts.into_iter().filter(|(is_set, _)| *is_set);
        Self(ready.fold(0, |all, (_, part)| all | part))
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Ready {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            "READABLE",
            "WRITABLE",
            "READ_CLOSED",
            "WRITE_CLOSED",
            "PRIORITY",
            "ERROR",
        ];
        match self.is_empty() {
            true => f.write_str("EMPTY"),
            false => write_names(f, self.0, &names),
        }
    }
}

/// Writes the names of the bits that are set, separated by `|`.
pub(super) fn write_names(f: &mut fmt::Formatter<'_>, bits: u8, names: &[&str]) -> fmt::Result {
    let set = names
        .iter()
        .enumerate()
        .filter(|(index, _)| bits & (1 << index) != 0);
    for (count, (_, name)) in set.enumerate() {
        if count > 0 {
            f.write_str(" | ")?;
        }
        f.write_str(name)?;
    }
    Ok(())
}
