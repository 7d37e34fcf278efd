//! Deadlocks, futurelocks and tasks that nothing will wake.

use std::collections::HashMap;

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Text};

use super::{BAD, heading};
use crate::answer::{Problem, Task};
use crate::app::Frame;
use crate::words::{counted, title};

/// The lines below the heading.
pub(super) fn lines(shown: &Frame, height: u16) -> u16 {
    let problems = u16::try_from(shown.answer.problem_count).unwrap_or(u16::MAX);
    problems.min((height / 6).max(1))
}

pub(super) fn draw(shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let answer = &shown.answer;
    let lines = usize::from(area.height - 1);
    let by_id = answer.by_id();
    let head = match (answer.problem_count, lines as u64) {
        (0, _) => "PROBLEMS none".into(),
        (count, lines) if count > lines => format!("PROBLEMS {lines} of {count}"),
        (count, _) => format!("PROBLEMS {count}"),
    };
    let problems = answer.problems.iter().take(lines);
    let problems =
        problems.map(|problem| Line::styled(format!(" {}", describe(problem, &by_id)), BAD));
    let text: Text<'_> = [heading(head)].into_iter().chain(problems).collect();
    let head = Rect { height: 1, ..area };
    frame.render_widget(text, area);
    frame.buffer_mut().set_style(head, Style::new().reversed());
}

pub(super) fn describe(problem: &Problem, by_id: &HashMap<u64, &Task>) -> String {
    let name = |id: &u64| match by_id.get(id) {
        Some(task) => format!("{id} {}", title(task, 20)),
        None => id.to_string(),
    };
    let names: Vec<_> = problem.tasks.iter().map(name).collect();
    match (problem.kind.as_str(), names.as_slice()) {
        ("deadlock", [alone]) => format!("deadlock: {alone} waits for itself"),
        // The first twice, to close the circle.
        ("deadlock", [first, ..]) if problem.task_count == names.len() as u64 => {
            format!("deadlock: {} → {first}", names.join(" → "))
        }
        ("futurelock", [task]) => {
            format!("futurelock: {task} does not poll a future that got a lock")
        }
        ("lost", [task]) => format!("lost: {task} waits, and nothing can wake it"),
        (kind, _) => format!(
            "{kind}: {}: {}",
            counted(problem.task_count, "task"),
            names.join(" → ")
        ),
    }
}
