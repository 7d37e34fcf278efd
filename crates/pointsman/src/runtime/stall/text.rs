//! The text of a report: a line, and the lines of the stack.

use std::fmt::{self, Formatter};

use super::{Stall, StallKind};
use crate::runtime::dump::Length;

pub(super) fn write(stall: &Stall, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", Line(stall))?;
    for frame in stall.stack() {
        write!(f, "\n    at {frame}")?;
    }
    Ok(())
}

/// The first line of a report.
pub(super) struct Line<'a>(pub(super) &'a Stall);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_line(self.0, f)
    }
}

fn write_line(stall: &Stall, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("stall: ")?;
    match (stall.kind, &stall.task) {
        (StallKind::Task, Some(task)) => {
            task.write_title(f)?;
            f.write_str(" has not returned from a poll")?;
        }
        (StallKind::Task, None) => f.write_str("a task has not returned from a poll")?,
        (StallKind::BlockOn, _) => {
            f.write_str("the future of block_on has not returned from a poll")?
        }
        (StallKind::Worker, _) => {
            f.write_str("a worker has not returned from a hook, a waker or the system")?
        }
        (StallKind::BlockingPool, _) => {
            f.write_str("no thread of the blocking pool has become free")?
        }
        (StallKind::Timer, _) => f.write_str("a timer is due and no thread has fired it")?,
        (StallKind::Io, _) => {
            f.write_str("I/O events wait and no thread has polled for them")?;
        }
        (StallKind::Unattended, _) => {
            f.write_str(
                "a current-thread runtime has a new task and no thread has been in its block_on",
            )?;
        }
    }
    write!(f, " for {}", Length(stall.duration))?;
    if let Some(worker) = stall.worker {
        write!(f, ", worker {worker}")?;
    }
    if let Some(runtime) = &stall.runtime {
        write!(f, ", runtime {runtime:?}")?;
    }
    let noun = match stall.kind {
        StallKind::BlockingPool => "function",
        _ => "task",
    };
    match stall.waiting {
        0 => Ok(()),
        1 => write!(f, ", 1 {noun} waits"),
        count => write!(f, ", {count} {noun}s wait"),
    }
}
