//! Finds deadlocks and tasks that nothing can wake, in one reading of all tasks.
//!
//! A task may be blocked if it waits only for a lock that other tasks hold, or only for the end of another task. It is
//! blocked if enough of those tasks are; see [`blocked`]. Tasks that block each other are a deadlock, or a futurelock
//! if one of the locks was granted to a future that its task does not poll. A task that may also be waiting for
//! something else of this crate, such as a timeout, is not blocked. Futures of other crates note no waits.
//!
//! Holders that are not known, are not tasks of this runtime, or may have sent their guard to another task, count as
//! not blocked.

use super::blocked::{self, Reason};
use super::take::Reading;
use crate::sync::holders;
use crate::task::activity::WaitKind;
use crate::task::id::Id;
use crate::task::inspect::{Progress, TaskFacts};

/// A problem with tasks of a [`Dump`](super::Dump).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// These tasks wait for each other, so none of them can continue. If each waits for exactly one other, the list is
    /// a cycle: each waits for the next one, and the last for the first. Otherwise they are in the order of their ids.
    ///
    /// Locks that were acquired by methods such as `lock_owned` are not part of a deadlock, since the guard may have
    /// been sent to another task. Nor are semaphores whose number of permits has changed, and those that were created
    /// by [`const_new`](crate::sync::Semaphore::const_new), whose permits are often sent too. A guard that borrows a
    /// lock in a `static` can be sent as well, and so can a future that holds a guard, between two polls. The guard
    /// counts as held by the task that acquired it. If another task releases such a guard of a read-write lock or
    /// semaphore, the holders of that lock are unknown from then on.
    ///
    /// Futures of other crates note no waits, so a task that one of them will wake may be part of a deadlock. So may a
    /// task that waits for a semaphore which will be closed or given permits for the first time.
    Deadlock(Vec<Id>),
    /// A lock was granted to a future of this task. The task does not poll that future, and waits, directly or through
    /// other tasks, for the same lock.
    ///
    /// The usual cause is a future that is polled by reference in `select!`, or in a stream of futures, and is still
    /// pending at the next `.await`.
    Futurelock(Id),
    /// This task waits and has no wakers left, so only an abort can wake it.
    NoWaker(Id),
}

/// A problem, and the number of polls of each task in it: a poll between two readings makes it a different suspect.
pub(super) type Suspect = (Problem, Vec<u32>);

/// What may block a task.
#[derive(Default)]
struct Block {
    reason: Option<Reason>,
    /// The holders that have not claimed what they were granted.
    unclaimed: Vec<usize>,
}

pub(super) fn find(reading: &Reading) -> Vec<Suspect> {
    let facts = &reading.facts;
    let mut found = Vec::new();
    let blocks = (0..facts.len()).map(|at| block(at, reading).unwrap_or_default());
    let (reasons, unclaimed): (Vec<_>, Vec<_>) =
        blocks.map(|block| (block.reason, block.unclaimed)).unzip();
    for set in blocked::deadlocks(&reasons) {
        let mut unclaimed = set.iter().flat_map(|&at| &unclaimed[at]);
        let members = || set.iter().map(|&at| &facts[at]);
        let ids = members().map(|task| task.id).collect();
        let polls = members().map(|task| task.activity.polls).collect();
        let problem = match unclaimed.find(|holder| set.contains(holder)) {
            Some(&holder) => Problem::Futurelock(facts[holder].id),
            None => Problem::Deadlock(ids),
        };
        found.push((problem, polls));
    }
    let lost = facts
        .iter()
        .filter(|task| task.progress == Progress::Waiting && task.wakers == 0 && !task.is_job);
    found.extend(lost.map(|task| (Problem::NoWaker(task.id), vec![task.activity.polls])));
    found
}

/// Returns what may block the task at this position.
fn block(at: usize, reading: &Reading) -> Option<Block> {
    let task: &TaskFacts = &reading.facts[at];
    let wait = task.activity.wait?;
    if wait.is_one_of_several || task.progress != Progress::Waiting {
        return None;
    }
    // A combinator such as `FuturesUnordered` has a waker of the task, and the lock has another one.
    if task.activity.has_had_combinator && task.wakers > 1 {
        return None;
    }
    let one_of = |nodes| Reason {
        weight: 1,
        nodes,
        also: None,
    };
    if wait.kind == WaitKind::Join {
        let joined = reading.position(wait.identity)?;
        return Some(Block {
            reason: Some(one_of(vec![(joined, 1)])),
            unclaimed: Vec::new(),
        });
    }
    let lock = holders::of(wait.kind, wait.identity);
    let (mut nodes, mut unclaimed) = (Vec::new(), Vec::new());
    for holder in &lock.holders {
        let Some(position) = reading.position(holder.number) else {
            continue;
        };
        // The grant wakes the task, so its future may still claim the permits.
        let polls = reading.facts[position].activity.polls;
        let is_on_its_way = holder
            .granted
            .is_some_and(|grant| grant.is_on_its_way(polls));
        if is_on_its_way && position == at {
            return None;
        }
        if is_on_its_way || holder.may_have_moved {
            continue;
        }
        if holder.granted.is_some() {
            unclaimed.push(position);
        }
        nodes.push((position, u64::from(holder.permits)));
    }
    let reason = match lock.first {
        None if lock.has_one_permit => one_of(nodes),
        None => return None,
        Some(first) => {
            let position = reading.position(first.number)?;
            Reason {
                weight: u64::from(first.spare) + 1,
                nodes,
                also: (position != at).then_some(position),
            }
        }
    };
    Some(Block {
        reason: Some(reason),
        unclaimed,
    })
}
