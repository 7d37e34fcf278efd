//! The list of tasks.

use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Text;
use ratatui::widgets::{Row, Table};

use std::collections::{HashMap, HashSet};

use super::{BAD, WARNING, right};
use crate::answer::{Holder, Task, TaskState, Wait};
use crate::app::{App, Frame};
use crate::connection::Order;
use crate::words::{counted, short, time, title};

/// Polls that last for longer keep other tasks waiting.
const LONG: u64 = 10_000;

pub(super) fn draw(app: &mut App, shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let tasks = &shown.answer.tasks;
    app.page = usize::from(area.height.saturating_sub(1)).max(1);
    let selected = app
        .rows
        .selected()
        .unwrap_or(0)
        .min(tasks.len().saturating_sub(1));
    app.rows.select(Some(selected));
    let by_id = shown.answer.by_id();
    let problems = shown.answer.problems.iter();
    let stuck: HashSet<_> = problems
        .flat_map(|problem| &problem.tasks)
        .copied()
        .collect();
    let digits = tasks.iter().map(|task| task.id.to_string().len()).max();
    let digits = digits.unwrap_or(0).max(6);
    // A share of the space that the other columns leave.
    let width = usize::from(area.width).saturating_sub(25 + digits) * 2 / 5;
    let rows = tasks.iter().map(|task| {
        let style = match () {
            () if stuck.contains(&task.id) => BAD,
            () if task.longest_poll_us >= LONG => WARNING,
            () => Style::new(),
        };
        row(task, width, &by_id).style(style)
    });
    let mark = |order| if app.order == order { "▾" } else { "" };
    let head = Row::new([
        Text::default(),
        right("TASK"),
        Text::raw("NAME OR ORIGIN"),
        right(format!("AGE{}", mark(Order::Age))),
        right(format!("POLLS{}", mark(Order::Polls))),
        right(format!("LONGEST{}", mark(Order::Longest))),
        Text::raw("WAITS FOR"),
    ]);
    let widths = [
        Constraint::Length(0),
        Constraint::Length(digits as u16),
        Constraint::Length(width as u16),
        Constraint::Length(6),
        Constraint::Length(6),
        Constraint::Length(8),
        Constraint::Fill(1),
    ];
    let table = Table::new(rows, widths)
        .header(head.reversed())
        .row_highlight_style(Style::new().white().on_blue().bold());
    frame.render_stateful_widget(table, area, &mut app.rows);
}

fn row(task: &Task, width: usize, by_id: &HashMap<u64, &Task>) -> Row<'static> {
    Row::new([
        Text::default(),
        right(task.id.to_string()),
        Text::raw(title(task, width)),
        right(time(task.age_us)),
        right(short(task.polls)),
        right(match task.longest_poll_us {
            0 => String::new(),
            longest => time(longest),
        }),
        Text::raw(doing(task, by_id)),
    ])
}

fn doing(task: &Task, by_id: &HashMap<u64, &Task>) -> String {
    match (task.state, &task.wait) {
        (TaskState::Waiting, Some(wait)) => waits_for(wait, by_id),
        (TaskState::Running, _) if task.blocking => "(runs on the blocking pool)".into(),
        (TaskState::Queued, _) if task.blocking => "a thread of the blocking pool".into(),
        (TaskState::Running, _) => "(runs)".into(),
        (TaskState::Queued, _) => "a worker".into(),
        _ => "unknown".into(),
    }
}

fn waits_for(wait: &Wait, by_id: &HashMap<u64, &Task>) -> String {
    let mut text = resource(wait, by_id);
    if let Some(holder) = wait.holders.first() {
        text += &format!(" {}", held_by(holder, by_id));
    }
    if wait.holders.len() > 1 {
        text += &format!(" and {}", counted(wait.holders.len() as u64 - 1, "other"));
    }
    if wait.one_of_several {
        text += ", or other";
    }
    text
}

pub(super) fn resource(wait: &Wait, by_id: &HashMap<u64, &Task>) -> String {
    match (wait.r#for.as_str(), wait.task) {
        ("join", Some(id)) => format!("end of {}", named(id, by_id)),
        ("join", None) => "end of a task".into(),
        ("receive", _) => "value from channel".into(),
        ("send", _) => "room in channel".into(),
        ("rwlock", _) => "read-write lock".into(),
        ("notify", _) => "notification".into(),
        ("io", _) => "I/O".into(),
        ("once_cell", _) => "cell".into(),
        (other, _) => other.to_owned(),
    }
}

pub(super) fn held_by(holder: &Holder, by_id: &HashMap<u64, &Task>) -> String {
    let who = match holder.task {
        Some(id) => named(id, by_id),
        None if holder.thread => "a thread".into(),
        None => "an ended task".into(),
    };
    let since = time(holder.since_us);
    match holder.unclaimed {
        true => format!("granted {since} ago to {who}"),
        false => format!("held {since} by {who}"),
    }
}

fn named(id: u64, by_id: &HashMap<u64, &Task>) -> String {
    match by_id.get(&id).and_then(|task| task.name.as_deref()) {
        Some(name) => format!("{id} {name}"),
        None => id.to_string(),
    }
}
