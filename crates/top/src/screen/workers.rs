//! The workers and their load.

use std::cmp::Reverse;
use std::collections::HashMap;

use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Row, Table};

use super::{BAD, QUIET, right};
use crate::answer::{Task, Worker, WorkerState};
use crate::app::Frame;
use crate::words::{short, short_time, time, title};

/// A poll that lasts for longer is red, as it would be reported as a stall.
const STALL: u64 = 1_000_000;

/// The lines below the heading.
pub(super) fn lines(shown: &Frame, height: u16) -> u16 {
    let workers = u16::try_from(shown.answer.workers.len()).unwrap_or(u16::MAX);
    workers.min((height / 4).max(1))
}

pub(super) fn draw(shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let lines = usize::from(area.height - 1);
    let mut places: Vec<_> = (0..shown.answer.workers.len()).collect();
    let left = places.len().saturating_sub(lines);
    if left > 0 {
        // Those that matter: the longest polls, and then the highest loads.
        places.sort_by(|&one, &other| {
            let poll = |at: usize| Reverse(shown.answer.workers[at].poll_us);
            poll(one)
                .cmp(&poll(other))
                .then(shown.loads[other].total_cmp(&shown.loads[one]))
        });
        places.truncate(lines);
    }
    let by_id = shown.answer.by_id();
    let rows = places.into_iter().map(|at| row(shown, at, &by_id));
    let doing = match left {
        0 => "DOING".into(),
        _ => format!("DOING ({left} more workers)"),
    };
    let head = Row::new([
        Text::default(),
        right("WORKER"),
        Text::raw("LOAD"),
        Text::default(),
        right("QUEUE"),
        right("POLLS/s"),
        right("MEAN POLL"),
        Text::raw(doing),
    ]);
    let widths = [0, 6, 10, 5, 5, 7, 9].map(Constraint::Length);
    let widths = widths.into_iter().chain([Constraint::Fill(1)]);
    frame.render_widget(Table::new(rows, widths).header(head.reversed()), area);
}

fn row(shown: &Frame, at: usize, by_id: &HashMap<u64, &Task>) -> Row<'static> {
    let worker = &shown.answer.workers[at];
    let load = shown.loads[at];
    let cells = [
        Text::default(),
        right(at.to_string()),
        Text::raw(bar(load)),
        right(format!("{:.0} %", load * 100.0)),
        right(short(worker.queue)),
        right(short(shown.polls[at].round() as u64)),
        right(short_time(worker.mean_poll_ns)),
        Text::from(doing(worker, by_id)),
    ];
    let style = match worker.poll_us {
        Some(lasted) if lasted >= STALL => BAD,
        _ if worker.state == WorkerState::Idle => QUIET,
        _ => Style::new(),
    };
    Row::new(cells).style(style)
}

/// A bar of 10 columns.
fn bar(load: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (load * 80.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

fn doing(worker: &Worker, by_id: &HashMap<u64, &Task>) -> Line<'static> {
    let doing = match (worker.state, worker.task) {
        (WorkerState::Idle, _) => return "idle".into(),
        (WorkerState::Task, Some(id)) => {
            let name = by_id
                .get(&id)
                .map(|task| title(task, 30))
                .unwrap_or_default();
            format!("task {id} {name}")
        }
        (WorkerState::BlockOn, _) => "block_on".into(),
        _ => "busy".into(),
    };
    // The first number is the one that is not cut off.
    match worker.poll_us {
        Some(lasted) => format!("{} in {doing}", time(lasted)).into(),
        None => doing.into(),
    }
}
