//! Synchronization primitives for tasks: locks, a semaphore, notifications, cells that are set once, a
//! barrier, and channels.
//!
//! They work in any runtime. In one of this crate they use the task budget; `send_timeout` needs its timers.

/// Declares a `const fn`, or in models a plain `fn`, as loom's types have no constant constructors.
macro_rules! const_unless_loom {
    ($(#[$attribute:meta])* $visibility:vis const fn $($rest:tt)*) => {
        #[cfg(not(all(test, loom)))]
        $(#[$attribute])*
        $visibility const fn $($rest)*

        #[cfg(all(test, loom))]
        $(#[$attribute])*
        $visibility fn $($rest)*
    };
}

mod barrier;
pub mod broadcast;
mod guard;
pub(crate) mod holders;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod rwlock;
mod semaphore;
mod set_once;
mod spans;
mod wait_set;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use set_once::{SetOnce, SetOnceError};

/// Named future types.
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
