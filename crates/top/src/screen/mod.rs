//! Draws a frame.

mod details;
mod head;
mod problems;
mod tasks;
#[cfg(test)]
mod tests;
mod workers;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Text};

use crate::app::{App, Frame};
use crate::words::whole;

/// The least size in which each part has a line.
const MIN_WIDTH: u16 = 40;
const MIN_HEIGHT: u16 = 12;

const BAD: Style = Style::new().fg(Color::Red);
const WARNING: Style = Style::new().fg(Color::Yellow);
const QUIET: Style = Style::new().fg(Color::DarkGray);

pub(crate) fn draw(app: &mut App, frame: &mut ratatui::Frame<'_>) {
    let area = frame.area();
    let (width, height) = (area.width, area.height);
    if width < MIN_WIDTH || height < MIN_HEIGHT {
        let text = format!("{width}x{height} is too small: at least {MIN_WIDTH}x{MIN_HEIGHT}");
        return frame.render_widget(Line::raw(text), area);
    }
    let Some(shown) = app.frame.take() else {
        return frame.render_widget(Line::raw(" Waiting for the process…"), area);
    };
    draw_parts(app, &shown, frame, area);
    app.frame = Some(shown);
}

fn draw_parts(app: &mut App, shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let workers = workers::lines(shown, area.height);
    let problems = problems::lines(shown, area.height);
    let heights = [3, workers + 1, problems + 1].map(Constraint::Length);
    let [head, workers, problems, tasks, keys] = Layout::vertical([
        heights[0],
        heights[1],
        heights[2],
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    head::draw(app, shown, frame, head);
    workers::draw(shown, frame, workers);
    match app.details.is_some() {
        true => {
            let area = problems.union(tasks);
            details::draw(app, shown, frame, area);
            draw_keys(&[("enter", "back"), ("↑↓", "scroll")], frame, keys);
        }
        false => {
            problems::draw(shown, frame, problems);
            tasks::draw(app, shown, frame, tasks);
            let keys_of_list = [("s", "sort"), ("↑↓", "scroll"), ("enter", "details")];
            draw_keys(&keys_of_list, frame, keys);
            frame.render_widget(position(app, shown).right_aligned(), keys);
        }
    }
}

fn draw_keys(keys: &[(&str, &str)], frame: &mut ratatui::Frame<'_>, area: Rect) {
    let mut line = Line::default();
    for (key, action) in [("q", "quit"), ("p", "pause")].iter().chain(keys) {
        line.extend([" ".into(), (*key).bold(), format!(" {action} ").into()]);
    }
    frame.render_widget(line, area);
}

fn position(app: &App, shown: &Frame) -> Line<'static> {
    let listed = shown.answer.tasks.len();
    let row = app.rows.selected().map_or(0, |row| row + 1).min(listed);
    let first = if (listed as u64) < shown.answer.counts.tasks {
        "the first "
    } else {
        ""
    };
    format!("{row} of {first}{} ", whole(listed as u64)).into()
}

/// A heading over the whole width.
fn heading(text: String) -> Line<'static> {
    Line::styled(format!(" {text}"), Style::new().reversed())
}

fn right(text: impl Into<Text<'static>>) -> Text<'static> {
    text.into().right_aligned()
}

/// Draws a frame as text of this size, without blanks at the ends.
pub(crate) fn to_text(app: &mut App, width: u16, height: u16) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw(app, frame));
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content.chunks(usize::from(width)) {
        let mut line = String::new();
        let mut cells = row.iter();
        while let Some(cell) = cells.next() {
            line.push_str(cell.symbol());
            // A wide character has the next cell too.
            if Line::raw(cell.symbol()).width() > 1 {
                cells.next();
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
