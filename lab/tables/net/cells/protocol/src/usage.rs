//! The resource usage of a process: processor time, context switches, and the number of blocks of its task.

use std::ops::Sub;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// Of all threads of this process, without its children.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time, in microseconds.
    pub processor: i64,
    /// Voluntary and involuntary.
    pub switches: i64,
    /// The number of blocks of the blocking task.
    pub blocks: u64,
}

impl Usage {
    pub fn so_far(blocks: &Blocks) -> Self {
        let used = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
        Self {
            processor: used.user_time().num_microseconds() + used.system_time().num_microseconds(),
            switches: used.voluntary_context_switches() + used.involuntary_context_switches(),
            blocks: blocks.0.load(Relaxed),
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            processor: self.processor - before.processor,
            switches: self.switches - before.switches,
            blocks: self.blocks - before.blocks,
        }
    }
}

/// Counts the blocks of the blocking task.
#[derive(Clone, Default)]
pub struct Blocks(Arc<AtomicU64>);

impl Blocks {
    /// Blocks this thread.
    pub fn block(&self) {
        std::thread::sleep(super::BLOCK_FOR);
        self.0.fetch_add(1, Relaxed);
    }
}
