//! Task ids.

use std::fmt;
use std::num::NonZeroU64;

use super::current;

/// Identifies a task. Ids are unique in the process and not reused. Their order is not that of spawning.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let handle = pointsman::spawn(async { pointsman::task::id() });
/// let id = handle.id();
/// assert_eq!(handle.await.unwrap(), id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

impl Id {
    #[inline]
    pub(crate) fn from_number(number: u64) -> Self {
        Self(NonZeroU64::new(number).expect("task ids begin at 1"))
    }

    #[inline]
    pub(crate) fn as_number(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the id of the current task.
///
/// # Panics
/// Outside of a task. The future of `block_on` is not a task.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let task = pointsman::spawn(async { pointsman::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect("Can't get a task id when not inside a task")
}

/// Returns the id of the current task, or `None` outside of a task. The future of `block_on` is not a task.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::task::try_id;
///
/// assert_eq!(try_id(), None);
/// assert!(pointsman::spawn(async { try_id() }).await.unwrap().is_some());
/// # }
/// ```
#[track_caller]
pub fn try_id() -> Option<Id> {
    current::running_id()
}
