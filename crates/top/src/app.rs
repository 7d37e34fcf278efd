//! The state of the screen, and the keys that change it.

use std::cmp::Reverse;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::TableState;

use crate::answer::{Answer, Task, Worker, WorkerState};
use crate::connection::{Order, Request};

pub(crate) struct App {
    pub(crate) frame: Option<Frame>,
    pub(crate) order: Order,
    pub(crate) is_paused: bool,
    /// The selected row of the tasks, and how far they are scrolled.
    pub(crate) rows: TableState,
    /// The number of rows that the screen has for tasks.
    pub(crate) page: usize,
    pub(crate) details: Option<Details>,
    pub(crate) status: Status,
}

/// The task whose details are shown, and how far they are scrolled.
pub(crate) struct Details {
    pub(crate) task: u64,
    pub(crate) scrolled: u16,
}

/// An answer, and the rates since the answer before it.
pub(crate) struct Frame {
    pub(crate) answer: Answer,
    /// From 0 to 1, for each worker.
    pub(crate) loads: Vec<f64>,
    /// Polls per second, for each worker.
    pub(crate) polls: Vec<f64>,
    /// Spawned tasks per second.
    pub(crate) spawned: f64,
}

pub(crate) enum Status {
    Connected,
    /// An answer is late.
    Waiting(Duration),
    /// No answer will arrive any more.
    Ended(String),
}

impl App {
    pub(crate) fn new(order: Order) -> Self {
        Self {
            frame: None,
            order,
            is_paused: false,
            rows: TableState::new().with_selected(0),
            page: 1,
            details: None,
            status: Status::Connected,
        }
    }

    pub(crate) fn request(&self) -> Request {
        Request {
            order: self.order,
            task: self.details.as_ref().map(|details| details.task),
        }
    }

    pub(crate) fn receive(&mut self, answer: Answer) {
        let last = self.frame.take();
        self.frame = Some(Frame::new(answer, last.map(|frame| frame.answer)));
        self.sort();
    }

    /// A height with which the frame shows up to 100 tasks.
    pub(crate) fn full_height(&self) -> u16 {
        let Some(Frame { answer, .. }) = &self.frame else {
            return 24;
        };
        let tasks = answer.tasks.len().min(100);
        // Workers and problems get a part of the height each.
        let lines = tasks + 4 * (answer.workers.len() + answer.problems.len()) + 12;
        u16::try_from(lines).unwrap_or(1_000).max(24)
    }

    fn sort(&mut self) {
        let order = self.order;
        if let Some(frame) = &mut self.frame {
            frame
                .answer
                .tasks
                .sort_by_key(|task| (Reverse(rank(task, order)), task.id));
        }
    }

    /// Returns false to quit.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
        if is_interrupt || key.code == KeyCode::Char('q') {
            return false;
        }
        match key.code {
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => {
                self.order = match self.order {
                    Order::Age => Order::Polls,
                    Order::Polls => Order::Longest,
                    Order::Longest => Order::Age,
                };
                self.rows.select_first();
                self.sort();
            }
            _ if self.details.is_some() => self.press_in_details(key.code),
            KeyCode::Enter => {
                let selected = self.rows.selected().unwrap_or(0);
                let task = self
                    .frame
                    .as_ref()
                    .and_then(|frame| frame.answer.tasks.get(selected));
                self.details = task.map(|task| Details {
                    task: task.id,
                    scrolled: 0,
                });
            }
            code => self.scroll(code),
        }
        true
    }

    fn press_in_details(&mut self, code: KeyCode) {
        let Some(details) = &mut self.details else {
            return;
        };
        match code {
            KeyCode::Enter | KeyCode::Esc => self.details = None,
            KeyCode::Up => details.scrolled = details.scrolled.saturating_sub(1),
            KeyCode::Down => details.scrolled = details.scrolled.saturating_add(1),
            _ => {}
        }
    }

    fn scroll(&mut self, code: KeyCode) {
        let last = self
            .frame
            .as_ref()
            .map_or(0, |frame| frame.answer.tasks.len().saturating_sub(1));
        let selected = self.rows.selected().unwrap_or(0);
        let row = match code {
            KeyCode::Up => selected.saturating_sub(1),
            KeyCode::Down => selected + 1,
            KeyCode::PageUp => selected.saturating_sub(self.page),
            KeyCode::PageDown => selected + self.page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => return,
        };
        self.rows.select(Some(row.min(last)));
    }
}

fn rank(task: &Task, order: Order) -> u64 {
    match order {
        Order::Age => task.age_us,
        Order::Polls => task.polls,
        Order::Longest => task.longest_poll_us,
    }
}

impl Frame {
    fn new(answer: Answer, last: Option<Answer>) -> Self {
        let elapsed = match &last {
            Some(last) => answer.now_us.saturating_sub(last.now_us),
            None => 0,
        };
        let rate =
            |now: u64, then: u64| now.saturating_sub(then) as f64 * 1e6 / elapsed.max(1) as f64;
        let before = |at: usize| last.as_ref().and_then(|last| last.workers.get(at));
        let workers = || answer.workers.iter().enumerate();
        let load =
            |(at, now): (usize, &Worker)| before(at).map_or(0.0, |then| load(now, then, elapsed));
        let polls = |(at, now): (usize, &Worker)| {
            before(at).map_or(0.0, |then| rate(now.polls, then.polls))
        };
        Self {
            loads: workers().map(load).collect(),
            polls: workers().map(polls).collect(),
            spawned: last
                .as_ref()
                .map_or(0.0, |last| rate(answer.counts.spawned, last.counts.spawned)),
            answer,
        }
    }
}

/// The share of the time that a worker was busy.
fn load(now: &Worker, then: &Worker, elapsed: u64) -> f64 {
    // The runtime adds to the busy time when the worker sleeps, and after many polls.
    if now.state != WorkerState::Idle && then.state != WorkerState::Idle && now.parks == then.parks
    {
        return 1.0;
    }
    let busy = now
        .busy_us
        .saturating_sub(then.busy_us)
        .max(now.poll_us.unwrap_or(0));
    (busy as f64 / elapsed.max(1) as f64).min(1.0)
}
