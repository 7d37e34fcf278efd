//! An ideal scheduler: each task starts on a free core in the order in which the tasks became ready, and only the tasks
//! take time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::Measured;
use super::workload::Workload;

pub(super) fn run(workload: &Workload, cores: usize) -> Measured {
    let tasks = &workload.tasks;
    let mut needs: Vec<usize> = tasks.iter().map(|task| task.needs).collect();
    // The times at which tasks are injected or end.
    let mut arrivals = workload.arrivals.iter().peekable();
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut sleeping: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut ready = VecDeque::new();
    let mut free = cores;
    let mut waits = Vec::new();
    let mut now = 0;
    loop {
        let next_arrival = arrivals.peek().map(|&&(time, _)| time);
        let next_end = ends.peek().map(|&Reverse((time, _))| time);
        let next_timer = sleeping.peek().map(|&Reverse((time, _))| time);
        let times = [next_arrival, next_end, next_timer];
        let Some(next) = times.into_iter().flatten().min() else {
            break;
        };
        now = next;
        if next_end == Some(now) {
            let Reverse((_, index)) = ends.pop().expect("the loop has peeked at it");
            free += 1;
            if let Some(then) = tasks[index].then {
                needs[then] -= 1;
                if tasks[index].sleeps > 0 {
                    sleeping.push(Reverse((now + tasks[index].sleeps, then)));
                } else if needs[then] == 0 {
                    ready.push_back((now, then));
                }
            }
        } else if next_timer == Some(now) {
            let Reverse((_, index)) = sleeping.pop().expect("the loop has peeked at it");
            ready.push_back((now, index));
        } else if let Some(&(_, index)) = arrivals.next() {
            ready.push_back((now, index));
        }
        while free > 0 {
            let Some((since, index)) = ready.pop_front() else {
                break;
            };
            free -= 1;
            let task = &tasks[index];
            waits.push(now - since);
            ready.extend(task.forks.clone().map(|fork| (now, fork)));
            ends.push(Reverse((now + task.computes + task.blocks, index)));
        }
    }
    Measured::new(now, workload.work(), waits, 0, 0)
}
