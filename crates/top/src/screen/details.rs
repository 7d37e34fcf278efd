//! Everything that is known of one task.

use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::problems::describe;
use super::tasks::{held_by, resource};
use super::{BAD, heading};
use crate::answer::{Answer, Task, TaskState};
use crate::app::{App, Frame};
use crate::words::{counted, time, title, whole};

/// How many tasks a list names.
const LISTED: usize = 20;

pub(super) fn draw(app: &mut App, shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let Some(details) = &mut app.details else {
        return;
    };
    let answer = &shown.answer;
    let head = Rect { height: 1, ..area };
    let body = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width - 1,
        height: area.height - 1,
    };
    let found = answer.tasks.iter().find(|task| task.id == details.task);
    let (name, lines) = match found {
        Some(task) => (
            task.name.as_deref().unwrap_or_default(),
            lines(task, answer),
        ),
        None => ("", vec!["It has ended.".into()]),
    };
    let last = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_sub(1);
    details.scrolled = details.scrolled.min(last);
    frame.render_widget(heading(format!("TASK {} {name}", details.task)), head);
    frame.buffer_mut().set_style(head, Style::new().reversed());
    let text = Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false });
    frame.render_widget(text.scroll((details.scrolled, 0)), body);
}

fn lines(task: &Task, answer: &Answer) -> Vec<Line<'static>> {
    let by_id = answer.by_id();
    let name = |id: u64| match by_id.get(&id) {
        Some(task) => format!("{id} {}", title(task, 60)),
        None => id.to_string(),
    };
    let mut lines = Vec::new();
    let mut add = |key: &'static str, value: String| {
        lines.push(Line::from_iter([format!("{key:<12}").bold(), value.into()]));
    };
    let kind = if task.blocking {
        ", a blocking function"
    } else {
        ""
    };
    let state = match task.state {
        TaskState::Running => "running",
        TaskState::Queued => "queued",
        TaskState::Waiting => "waiting",
        TaskState::Unknown => "unknown",
    };
    add("state", format!("{state}{kind}"));
    add("age", time(task.age_us));
    if let Some(location) = &task.location {
        add("spawned at", location.clone());
    }
    if let Some(spawner) = task.spawner {
        add("spawned by", name(spawner));
    }
    let longest = match task.longest_poll_us {
        0 => "none was timed".into(),
        longest => format!("the longest {}", time(longest)),
    };
    add("polls", format!("{}, {longest}", whole(task.polls)));
    if let Some(wait) = &task.wait {
        let several = if wait.one_of_several {
            ", or something else"
        } else {
            ""
        };
        add("waits for", format!("{}{several}", resource(wait, &by_id)));
        for holder in &wait.holders {
            let place = holder
                .task
                .and_then(|id| by_id.get(&id)?.location.as_deref());
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            add("", format!("{}{place}", held_by(holder, &by_id)));
        }
    }
    let same = |other: &&Task| match (&task.wait, &other.wait) {
        (Some(one), Some(wait)) => {
            one.identity == wait.identity && one.r#for == wait.r#for && other.id != task.id
        }
        _ => false,
    };
    let has_task = |other: &&Task| {
        other.wait.as_ref().is_some_and(|wait| {
            let holders = wait.holders.iter().filter_map(|holder| holder.task);
            wait.task.into_iter().chain(holders).any(|id| id == task.id)
        })
    };
    for (key, tasks) in [
        (
            "waited for",
            answer.tasks.iter().filter(has_task).collect::<Vec<_>>(),
        ),
        ("with it wait", answer.tasks.iter().filter(same).collect()),
        (
            "it spawned",
            answer
                .tasks
                .iter()
                .filter(|other| other.spawner == Some(task.id))
                .collect(),
        ),
    ] {
        for (at, other) in tasks.iter().take(LISTED).enumerate() {
            add(if at == 0 { key } else { "" }, name(other.id));
        }
        if tasks.len() > LISTED {
            add(
                "",
                format!("and {}", counted((tasks.len() - LISTED) as u64, "other")),
            );
        }
    }
    let problems = answer
        .problems
        .iter()
        .filter(|problem| problem.tasks.contains(&task.id));
    lines.extend(problems.map(|problem| Line::styled(describe(problem, &by_id), BAD)));
    lines
}
