//! What to wait for on an I/O source.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use super::ready::{Ready, write_names};

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: u8 = 1 << 2;
const ERROR: u8 = 1 << 3;

/// The readiness that an operation waits for: readable, writable, or both.
///
/// ```
/// use pointsman::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both.remove(Interest::READABLE), Some(Interest::WRITABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest(u8);

impl Interest {
    /// Interest in readable events, including read-closed.
    pub const READABLE: Self = Self(READABLE);

    /// Interest in writable events, including write-closed.
    pub const WRITABLE: Self = Self(WRITABLE);

    /// Interest in error events. The system always reports errors; this interest only waits for them.
    pub const ERROR: Self = Self(ERROR);

    /// Interest in priority events, such as out-of-band data or a change of a file in `/proc`.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(PRIORITY);

    /// Returns true if it contains [`READABLE`](Self::READABLE).
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// assert!(Interest::READABLE.is_readable());
    /// assert!(!Interest::WRITABLE.is_readable());
    /// ```
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Returns true if it contains [`WRITABLE`](Self::WRITABLE).
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// assert!(Interest::WRITABLE.is_writable());
    /// assert!(!Interest::READABLE.is_writable());
    /// ```
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Returns true if it contains [`ERROR`](Self::ERROR).
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// assert!(Interest::ERROR.is_error());
    /// assert!(!Interest::READABLE.is_error());
    /// ```
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Returns true if it contains [`PRIORITY`](Self::PRIORITY).
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// assert!(Interest::PRIORITY.is_priority());
    /// assert!(!Interest::READABLE.is_priority());
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Returns the union of both, as `|` does, in a `const` context too.
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);
    /// assert!(BOTH.is_readable() && BOTH.is_writable());
    /// ```
    pub const fn add(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Removes the interests in `other`. Returns `None` if none is left.
    ///
    /// ```
    /// # use pointsman::io::Interest;
    /// let both = Interest::READABLE | Interest::WRITABLE;
    /// assert_eq!(both.remove(Interest::WRITABLE), Some(Interest::READABLE));
    /// assert_eq!(Interest::WRITABLE.remove(both), None);
    /// ```
    pub fn remove(self, other: Self) -> Option<Self> {
        match self.0 & !other.0 {
            0 => None,
            left => Some(Self(left)),
        }
    }

    /// The interest to register with the system.
    pub(crate) fn to_mio(self) -> mio::Interest {
        let parts = [
            (READABLE, mio::Interest::READABLE),
            (WRITABLE, mio::Interest::WRITABLE),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, mio::Interest::PRIORITY),
        ];
        parts
            .into_iter()
            .filter(|(part, _)| self.0 & part != 0)
            .map(|(_, interest)| interest)
            .reduce(|all, each| all | each)
            // The system reports errors with any interest.
            .unwrap_or(mio::Interest::READABLE)
    }

    /// The readiness that ends a wait for this interest.
    pub(crate) fn mask(self) -> Ready {
        let parts = [
            (READABLE, Ready::READABLE | Ready::READ_CLOSED),
            (WRITABLE, Ready::WRITABLE | Ready::WRITE_CLOSED),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, Ready::PRIORITY | Ready::READ_CLOSED),
            (ERROR, Ready::ERROR),
        ];
        parts
            .into_iter()
            .filter(|(part, _)| self.0 & part != 0)
            .fold(Ready::EMPTY, |all, (_, ready)| all | ready)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["READABLE", "WRITABLE", "PRIORITY", "ERROR"];
        write_names(f, self.0, &names)
    }
}
