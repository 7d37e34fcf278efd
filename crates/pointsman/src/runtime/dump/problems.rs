//! Finds deadlocks and tasks that nothing can wake, in one reading of all tasks.
//!
//! A task that waits only for a lock of another task, or only for the end of another task, has an edge to that task. A
//! cycle of these edges is a deadlock, or a futurelock if one of the locks was granted to a future that its task does
//! not poll. A task that may also be waiting for something else of this crate, such as a timeout, has no edge. Futures of other crates note no waits.

use super::take::Reading;
use crate::sync::holders;
use crate::task::activity::WaitKind;
use crate::task::id::Id;
use crate::task::inspect::{Progress, TaskFacts};

/// A problem with tasks of a [`Dump`](super::Dump).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Each of these tasks waits for the next, and the last for the first.
    ///
    /// Locks that were acquired by methods such as `lock_owned` are not part of a deadlock, since the guard may have
    /// been sent to another task. A guard that borrows a lock in a `static` counts as held by the task that acquired
    /// it.
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

struct Edge {
    to: usize,
    is_unclaimed: bool,
}

pub(super) fn find(reading: &Reading) -> Vec<Suspect> {
    let facts = &reading.facts;
    let mut found = Vec::new();
    let edges: Vec<_> = facts.iter().map(|task| edge(task, reading)).collect();
    for cycle in cycles(&edges) {
        let unclaimed = cycle.iter().find_map(|&at| {
            let edge = edges[at].as_ref()?;
            edge.is_unclaimed.then_some(&facts[edge.to])
        });
        let members = || cycle.iter().map(|&at| &facts[at]);
        let ids = members().map(|task| task.id).collect();
        let polls = members().map(|task| task.activity.polls).collect();
        let problem = match unclaimed {
            Some(task) => Problem::Futurelock(task.id),
            None => Problem::Deadlock(ids),
        };
        found.push((problem, polls));
    }
    let lost = facts
        .iter()
        .filter(|task| task.progress == Progress::Waiting && !task.has_waker && !task.is_job);
    found.extend(lost.map(|task| (Problem::NoWaker(task.id), vec![task.activity.polls])));
    found
}

/// The task that this one waits for.
fn edge(task: &TaskFacts, reading: &Reading) -> Option<Edge> {
    let wait = task.activity.wait?;
    if wait.is_one_of_several || task.progress != Progress::Waiting {
        return None;
    }
    let (number, granted_at) = match wait.kind {
        WaitKind::Join => (wait.identity, None),
        kind => {
            let holder = holders::of(kind, wait.identity);
            let holder = holder.filter(|holder| !holder.may_have_moved)?;
            (holder.number, holder.granted_at)
        }
    };
    let to = reading.position(number)?;
    // The task has not been polled since the grant woke it, so the future may still claim the lock.
    let polls = reading.facts[to].activity.polls;
    if granted_at.is_some_and(|granted_at| (granted_at ^ polls) << 2 == 0) {
        return None;
    }
    let is_unclaimed = granted_at.is_some();
    Some(Edge { to, is_unclaimed })
}

/// The cycles of a graph in which each node has at most one edge. Each begins with its first node.
fn cycles(edges: &[Option<Edge>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    // The walk that reached the node first, counted from 1.
    let mut walks = vec![0; edges.len()];
    for start in 0..edges.len() {
        let mut at = start;
        while walks[at] == 0 {
            walks[at] = start + 1;
            match &edges[at] {
                Some(edge) => at = edge.to,
                None => break,
            }
        }
        // The walk has returned to one of its own nodes, which is on a cycle.
        if walks[at] != start + 1 || edges[at].is_none() {
            continue;
        }
        let next = |at: usize| edges[at].as_ref().map_or(at, |edge| edge.to);
        let mut cycle = vec![at];
        let mut each = next(at);
        while each != at {
            cycle.push(each);
            each = next(each);
        }
        let first = (0..cycle.len()).min_by_key(|&place| cycle[place]);
        cycle.rotate_left(first.unwrap_or(0));
        found.push(cycle);
    }
    found
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn graph(to: &[Option<usize>]) -> Vec<Vec<usize>> {
        let edge = |to: &Option<usize>| {
            to.map(|to| Edge {
                to,
                is_unclaimed: false,
            })
        };
        cycles(&to.iter().map(edge).collect::<Vec<_>>())
    }

    #[test]
    fn each_cycle_is_found_once_and_begins_with_its_first_node() {
        assert_eq!(graph(&[]), [[0; 0]; 0]);
        assert_eq!(graph(&[None, Some(0), Some(1)]), [[0; 0]; 0]);
        assert_eq!(graph(&[Some(0)]), [[0]]);
        // A tail that leads to a cycle, in either order.
        assert_eq!(graph(&[Some(1), Some(2), Some(1)]), [[1, 2]]);
        assert_eq!(graph(&[Some(1), Some(0), Some(1)]), [[0, 1]]);
        assert_eq!(
            graph(&[Some(3), Some(2), Some(1), Some(4), Some(0), None]),
            [vec![0, 3, 4], vec![1, 2]]
        );
    }
}
