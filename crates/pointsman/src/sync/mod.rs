//! Synchronization between tasks.

/// A constant function, except where models are checked: what they are made of is not constant.
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
mod held;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod rwlock;
mod semaphore;
mod set_once;
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

/// Futures with a name.
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
