//! The first lines: the process, the tasks, and the queues that no worker owns.

use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};

use super::{BAD, WARNING};
use crate::app::{App, Frame, Status};
use crate::words::{counted, whole};

pub(super) fn draw(app: &App, shown: &Frame, frame: &mut ratatui::Frame<'_>, area: Rect) {
    let answer = &shown.answer;
    let program = answer.process.name.as_deref().unwrap_or("process");
    let runtime = match &answer.runtime.name {
        Some(name) => format!("runtime {name:?}"),
        None => format!("runtime {}", answer.runtime.id),
    };
    let workers = counted(shown.loads.len() as u64, "worker");
    let load = 100.0 * shown.loads.iter().sum::<f64>() / shown.loads.len().max(1) as f64;
    let process = Line::from_iter([
        " ".into(),
        program.bold(),
        format!(
            " {}, {runtime}, {workers}, load {load:.0} %",
            answer.process.id
        )
        .into(),
    ]);
    let counts = &answer.counts;
    let tasks = format!(
        " {}: {} running, {} queued, {} waiting; {} spawned/s",
        counted(counts.tasks, "task"),
        whole(counts.running),
        whole(counts.queued),
        whole(counts.waiting),
        whole(shown.spawned.round() as u64),
    );
    let blocking = &answer.blocking;
    let pool = format!(
        " blocking pool: {} of {} threads busy, {} idle, {} queued; global queue: {}",
        whole(blocking.threads.saturating_sub(blocking.idle)),
        whole(blocking.max),
        whole(blocking.idle),
        whole(blocking.queue),
        whole(answer.global_queue),
    );
    let is_full = blocking.queue > 0 && blocking.threads >= blocking.max && blocking.idle == 0;
    let pool = Line::styled(pool, if is_full { BAD } else { Default::default() });
    frame.render_widget(Text::from_iter([process, tasks.into(), pool]), area);
    let status = match &app.status {
        Status::Ended(reason) => Line::styled(format!(" {reason} "), BAD).reversed(),
        Status::Waiting(waited) => {
            let text = format!(" no answer for {} s ", waited.as_secs());
            Line::styled(text, WARNING).reversed()
        }
        Status::Connected if app.is_paused => Line::styled(" paused ", WARNING).reversed(),
        Status::Connected => return,
    };
    let width = u16::try_from(status.width())
        .unwrap_or(u16::MAX)
        .min(area.width);
    let place = Rect {
        x: area.right() - width,
        width,
        height: 1,
        ..area
    };
    frame.render_widget(status, place);
}
