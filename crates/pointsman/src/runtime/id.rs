//! The number of a runtime.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that identifies a runtime, unique within the process. See [`Handle::id`](super::Handle::id).
///
/// ```
/// # use pointsman::runtime::Handle;
/// # #[pointsman::main] async fn main() {
/// let id = Handle::current().id();
/// let task = pointsman::spawn(async { Handle::current().id() });
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(pub(super) u64);

impl Id {
    /// Returns an id that no other runtime or local set has.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
