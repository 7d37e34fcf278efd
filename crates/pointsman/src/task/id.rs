//! The number of a task.

use std::fmt;
use std::num::NonZeroU64;

use super::current;

/// The number of a task, which no other task of the process has while it lives, or had before. Numbers can be
/// compared, so that they can be keys; their order is not that of spawning.
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
    pub(super) fn from_number(number: u64) -> Self {
        Self(NonZeroU64::new(number).expect("numbers begin with 1"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of the task that runs.
///
/// # Panics
/// Outside of a task; the future of `block_on` is none.
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

/// The number of the task that runs; `None` outside of a task. The future of `block_on` is none.
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
