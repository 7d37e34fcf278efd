//! The text of a dump: problems first, and then the tasks, each below the task that spawned it.

use std::collections::HashMap;
use std::fmt::{self, Formatter};
use std::time::Duration;

use super::{Dump, Holder, Problem, Resource, State, Task, Trace, Wait};
use crate::task::id::Id;

pub(super) fn write_dump(dump: &Dump, f: &mut Formatter<'_>) -> fmt::Result {
    let count = |state| {
        dump.tasks
            .iter()
            .filter(|task| task.state() == state)
            .count()
    };
    writeln!(
        f,
        "{}: {} running, {} queued, {} waiting",
        counted(dump.tasks.len() as u64, "task"),
        count(State::Running),
        count(State::Queued),
        count(State::Waiting)
    )?;
    for problem in &dump.problems {
        writeln!(f)?;
        write_problem(dump, problem, f)?;
    }
    let mut children = HashMap::<_, Vec<_>>::new();
    for task in dump.tasks.iter() {
        children.entry(task.spawner()).or_default().push(task);
    }
    let mut is_first = true;
    // Not recursive, since a chain of spawners may be long.
    let mut left: Vec<_> = roots(&children).map(|task| (task, 0)).collect();
    while let Some((task, depth)) = left.pop() {
        if std::mem::take(&mut is_first) {
            writeln!(f)?;
        }
        write_task(&task.trace, f, &"  ".repeat(depth.min(MAX_DEPTH)))?;
        left.extend(of(&children, Some(task.id())).map(|child| (child, depth + 1)));
    }
    Ok(())
}

const MAX_DEPTH: usize = 10;

fn roots<'a>(
    children: &'a HashMap<Option<Id>, Vec<&'a Task>>,
) -> impl Iterator<Item = &'a Task> + use<'a> {
    of(children, None)
}

/// The tasks that this one has spawned, the newest first.
fn of<'a>(
    children: &'a HashMap<Option<Id>, Vec<&'a Task>>,
    spawner: Option<Id>,
) -> impl Iterator<Item = &'a Task> + use<'a> {
    children.get(&spawner).into_iter().flatten().rev().copied()
}

fn write_problem(dump: &Dump, problem: &Problem, f: &mut Formatter<'_>) -> fmt::Result {
    match problem {
        Problem::Deadlock(ids) => {
            match ids.len() {
                1 => writeln!(f, "deadlock: a task waits for itself")?,
                count => writeln!(f, "deadlock: {count} tasks wait for each other")?,
            }
            for (place, id) in ids.iter().enumerate() {
                write!(f, "{}. ", place + 1)?;
                write_member(dump, *id, f)?;
            }
            Ok(())
        }
        Problem::Futurelock(id) => {
            writeln!(
                f,
                "futurelock: a lock was granted to a future that its task does not poll"
            )?;
            f.write_str("1. ")?;
            write_member(dump, *id, f)?;
            let blocked = dump.tasks.iter().filter(|task| {
                let holders = task.waits_for().map_or(&[][..], Wait::holders);
                let is_granted = |holder: &Holder| holder.task == Some(*id) && holder.is_unclaimed;
                task.id() != *id && holders.iter().any(is_granted)
            });
            for (place, task) in blocked.enumerate() {
                write!(f, "{}. ", place + 2)?;
                write_member(dump, task.id(), f)?;
            }
            Ok(())
        }
        Problem::NoWaker(id) => {
            writeln!(
                f,
                "lost: a task waits, and nothing can wake it but an abort"
            )?;
            f.write_str("1. ")?;
            write_member(dump, *id, f)
        }
    }
}

fn write_member(dump: &Dump, id: Id, f: &mut Formatter<'_>) -> fmt::Result {
    match dump.task(id) {
        Some(task) => {
            write_title(&task.trace, f)?;
            writeln!(f)?;
            write_wait(&task.trace, f, "   ")
        }
        None => writeln!(f, "task {id}"),
    }
}

pub(super) fn write_task(task: &Trace, f: &mut Formatter<'_>, indent: &str) -> fmt::Result {
    f.write_str(indent)?;
    write_title(task, f)?;
    f.write_str(match task.state {
        State::Running => ", running",
        State::Queued => ", queued",
        State::Waiting => ", waiting",
    })?;
    if task.location.is_some() {
        write!(
            f,
            ", age {}, {}",
            Length(task.age),
            counted(u64::from(task.polls), "poll")
        )?;
    }
    if !task.longest_poll.is_zero() {
        write!(f, ", longest {}", Length(task.longest_poll))?;
    }
    writeln!(f)?;
    write_wait(task, f, indent)
}

/// Writes the id, the name and the location.
pub(super) fn write_title(task: &Trace, f: &mut Formatter<'_>) -> fmt::Result {
    let kind = if task.is_blocking { "blocking " } else { "" };
    write!(f, "{kind}task {}", task.id)?;
    if let Some(name) = &task.name {
        write!(f, " {name:?}")?;
    }
    match task.location {
        Some(location) => write!(f, " ({location})"),
        None => Ok(()),
    }
}

fn write_wait(task: &Trace, f: &mut Formatter<'_>, indent: &str) -> fmt::Result {
    let Some(wait) = &task.wait else {
        return Ok(());
    };
    let resource = match wait.resource() {
        Resource::Semaphore => "a semaphore",
        Resource::Mutex => "a mutex",
        Resource::RwLock => "a read-write lock",
        Resource::Receive => "a value from a channel",
        Resource::Send => "room in a channel",
        Resource::Notify => "a notification",
        Resource::Timer => "a timer",
        Resource::Io => "I/O",
        Resource::Join => "the end of a task",
        Resource::Barrier => "a barrier",
        Resource::OnceCell => "the initialization of a cell",
    };
    write!(f, "{indent}  waits for {resource}")?;
    if let Some(id) = wait.task {
        write!(f, ", task {id}")?;
    }
    for holder in &wait.holders {
        f.write_str(", ")?;
        if wait.resource() == Resource::Semaphore {
            write!(f, "{} ", counted(u64::from(holder.permits), "permit"))?;
        }
        write_holder(holder, f)?;
    }
    let others = u64::from(wait.other_permits);
    match wait.resource() {
        _ if others == 0 => {}
        Resource::RwLock => write!(f, ", held by {}", counted(others, "other reader"))?,
        _ => write!(f, ", {} held by others", counted(others, "permit"))?,
    }
    if wait.is_one_of_several {
        f.write_str(", among others")?;
    }
    writeln!(f)
}

fn write_holder(holder: &Holder, f: &mut Formatter<'_>) -> fmt::Result {
    let verb = match holder.is_unclaimed {
        true => "granted to",
        false => "held by",
    };
    let age = Length(holder.since);
    match (holder.task, holder.number) {
        (Some(id), _) => write!(f, "{verb} task {id} {age} ago"),
        (None, 0) => write!(f, "{verb} a thread outside of tasks {age} ago"),
        (None, _) => write!(f, "{verb} a task that has ended {age} ago"),
    }
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Formats a duration with one unit: milliseconds below ten seconds, as in the reports of the npm package, else
/// seconds.
pub(in crate::runtime) struct Length(pub(in crate::runtime) Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0..10 => write!(f, "{} ms", self.0.as_millis()),
            seconds => write!(f, "{seconds} s"),
        }
    }
}
