//! Finds the nodes of a graph that block each other for ever. A node may need several others to block it.

/// Why a node may be blocked: it is if the blocked nodes among `nodes` have a total weight of at least `weight`.
#[derive(Clone, Debug)]
pub(super) struct Reason {
    pub(super) weight: u64,
    pub(super) nodes: Vec<(usize, u64)>,
    /// This node has to be blocked too.
    pub(super) also: Option<usize>,
}

impl Reason {
    fn all(&self) -> impl Iterator<Item = usize> {
        let nodes = self.nodes.iter().map(|(node, _)| *node);
        nodes.chain(self.also)
    }
}

/// Returns the sets of nodes that block each other: each node of a set is blocked because of nodes of the set alone.
///
/// A node that only waits for such a set is not in it. A set that is a single cycle is in the order of the cycle, from
/// its lowest node; other sets are sorted.
pub(super) fn deadlocks(reasons: &[Option<Reason>]) -> Vec<Vec<usize>> {
    let mut graph = Graph {
        reasons,
        set: vec![0; reasons.len()],
    };
    graph.unblock();
    loop {
        let mut sets = graph.split();
        if !graph.unblock() {
            sets.iter_mut().for_each(|set| graph.sort(set));
            sets.sort();
            return sets;
        }
    }
}

/// The set of a node that is not blocked.
const FREE: usize = usize::MAX;

struct Graph<'a> {
    reasons: &'a [Option<Reason>],
    /// The set of each node. Only nodes of the same set block each other.
    set: Vec<usize>,
}

impl Graph<'_> {
    fn is_blocked(&self, node: usize) -> bool {
        let Some(reason) = &self.reasons[node] else {
            return false;
        };
        let counts = |other: usize| self.set[other] == self.set[node];
        let blocked = reason.nodes.iter().filter(|(other, _)| counts(*other));
        reason.also.is_none_or(counts)
            && blocked.map(|(_, weight)| weight).sum::<u64>() >= reason.weight
    }

    /// The nodes of the same set that block this one.
    fn blockers(&self, node: usize) -> Vec<usize> {
        let all = self.reasons[node].iter().flat_map(Reason::all);
        let mut blockers: Vec<_> = all
            .filter(|&other| self.set[other] == self.set[node])
            .collect();
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }

    /// Frees the nodes that are not blocked by their set, and then those that are not blocked without the freed ones.
    /// Returns whether there were any.
    fn unblock(&mut self) -> bool {
        let mut dependents = vec![Vec::new(); self.set.len()];
        for (node, reason) in self.reasons.iter().enumerate() {
            for other in reason.iter().flat_map(Reason::all) {
                dependents[other].push(node);
            }
        }
        let mut is_changed = false;
        let mut left: Vec<_> = (0..self.set.len()).collect();
        while let Some(node) = left.pop() {
            if self.set[node] != FREE && !self.is_blocked(node) {
                self.set[node] = FREE;
                is_changed = true;
                left.append(&mut dependents[node]);
            }
        }
        is_changed
    }

    /// Splits the sets into those whose nodes all block each other, directly or through others: the strongly connected
    /// components, by Tarjan's algorithm, without recursion.
    fn split(&mut self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.set.len();
        let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
        let (mut seen, mut stack, mut sets) = (0, Vec::new(), Vec::new());
        let mut is_on_stack = vec![false; count];
        for root in 0..count {
            if self.set[root] == FREE || index[root] != UNSEEN {
                continue;
            }
            let mut path = vec![(root, None::<std::vec::IntoIter<usize>>)];
            while let Some((node, blockers)) = path.last_mut() {
                let node = *node;
                let blockers = blockers.get_or_insert_with(|| {
                    (index[node], low[node]) = (seen, seen);
                    seen += 1;
                    stack.push(node);
                    is_on_stack[node] = true;
                    self.blockers(node).into_iter()
                });
                match blockers.next() {
                    Some(next) if index[next] == UNSEEN => path.push((next, None)),
                    Some(next) if is_on_stack[next] => low[node] = low[node].min(index[next]),
                    Some(_) => {}
                    None => {
                        path.pop();
                        if let Some((parent, _)) = path.last() {
                            low[*parent] = low[*parent].min(low[node]);
                        }
                        if low[node] == index[node] {
                            let at = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                            let set = stack.split_off(at);
                            set.iter().for_each(|&member| is_on_stack[member] = false);
                            sets.push(set);
                        }
                    }
                }
            }
        }
        for (number, set) in sets.iter().enumerate() {
            set.iter().for_each(|&node| self.set[node] = number);
        }
        sets
    }

    /// Puts a set into the order of its cycle if it is a single cycle, and otherwise sorts it by node.
    fn sort(&self, set: &mut Vec<usize>) {
        set.sort_unstable();
        let mut cycle = Vec::with_capacity(set.len());
        let mut at = set[0];
        loop {
            cycle.push(at);
            match self.blockers(at)[..] {
                [next] if next != set[0] => at = next,
                [_] => break,
                _ => return,
            }
        }
        *set = cycle;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn one(to: usize) -> Option<Reason> {
        all_of(1, &[to])
    }

    /// Blocked if this many of these nodes are.
    fn all_of(weight: u64, nodes: &[usize]) -> Option<Reason> {
        Some(Reason {
            weight,
            nodes: nodes.iter().map(|&node| (node, 1)).collect(),
            also: None,
        })
    }

    #[test]
    fn each_cycle_is_found_once_and_begins_with_its_first_node() {
        assert_eq!(deadlocks(&[]), [[0; 0]; 0]);
        assert_eq!(deadlocks(&[None, one(0), one(1)]), [[0; 0]; 0]);
        assert_eq!(deadlocks(&[one(0)]), [[0]]);
        // A tail that leads to a cycle, in either order.
        assert_eq!(deadlocks(&[one(1), one(2), one(1)]), [[1, 2]]);
        assert_eq!(deadlocks(&[one(1), one(0), one(1)]), [[0, 1]]);
        assert_eq!(
            deadlocks(&[one(3), one(2), one(1), one(4), one(0), None]),
            [vec![0, 3, 4], vec![1, 2]]
        );
    }

    #[test]
    fn a_node_that_needs_several_blockers_is_free_if_one_of_them_is() {
        // Node 2 is free, so one of the two that block node 0 is not enough.
        assert_eq!(deadlocks(&[all_of(2, &[1, 2]), one(0), None]), [[0; 0]; 0]);
        assert_eq!(deadlocks(&[all_of(1, &[1, 2]), one(0), None]), [[0, 1]]);
        assert_eq!(
            deadlocks(&[all_of(2, &[1, 2]), one(0), one(0)]),
            [[0, 1, 2]]
        );
    }

    #[test]
    fn a_cycle_that_only_another_deadlock_keeps_blocked_is_no_set() {
        // Nodes 0 and 1 wait for each other, but 0 would go on if 2 did.
        assert_eq!(deadlocks(&[all_of(2, &[1, 2]), one(0), one(2)]), [[2]]);
    }

    #[test]
    fn a_reason_may_need_another_node() {
        let behind = |first, holder| {
            Some(Reason {
                weight: 1,
                nodes: vec![(holder, 1)],
                also: Some(first),
            })
        };
        // Node 1 waits behind node 0 for what it holds itself.
        assert_eq!(deadlocks(&[one(1), behind(0, 1)]), [[0, 1]]);
        assert_eq!(deadlocks(&[None, behind(0, 1)]), [[0; 0]; 0]);
    }

    #[test]
    fn a_long_chain_takes_no_long_time() {
        const COUNT: usize = 100_000;
        let mut chain: Vec<_> = (0..COUNT).map(|node| one((node + 1) % COUNT)).collect();
        assert_eq!(deadlocks(&chain)[0].len(), COUNT);
        chain[COUNT / 2] = None;
        assert_eq!(deadlocks(&chain), [[0; 0]; 0]);
    }
}
