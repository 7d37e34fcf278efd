//! The loop that draws frames and handles keys. Two threads send it answers and keys, so neither delays the other.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use crate::answer::Answer;
use crate::app::{App, Status};
use crate::connection::{Connection, Order, Request};
use crate::screen;

enum Message {
    Event(std::io::Result<Event>),
    /// A line.
    Answer(Result<Vec<u8>, String>),
}

/// An answer that takes longer is late.
const LATE: Duration = Duration::from_secs(2);

pub(crate) fn run(connection: Connection, order: Order, interval: Duration) -> Result<(), String> {
    let (sender, messages) = mpsc::channel();
    let requests = answer_requests(connection, sender.clone());
    let mut app = App::new(order);
    let mut terminal = ratatui::try_init().map_err(|error| format!("the terminal: {error}"))?;
    thread::spawn(move || while sender.send(Message::Event(event::read())).is_ok() {});
    let result = show(&mut terminal, &mut app, &requests, &messages, interval);
    ratatui::restore();
    result
}

/// Starts the thread that waits for answers.
fn answer_requests(mut connection: Connection, sender: Sender<Message>) -> Sender<Request> {
    let (requests, asked) = mpsc::channel();
    thread::spawn(move || {
        for request in asked {
            if sender
                .send(Message::Answer(connection.ask(request)))
                .is_err()
            {
                return;
            }
        }
    });
    requests
}

fn show(
    terminal: &mut DefaultTerminal,
    app: &mut App,
    requests: &Sender<Request>,
    messages: &Receiver<Message>,
    interval: Duration,
) -> Result<(), String> {
    let mut next = Instant::now();
    // The time of the request without an answer.
    let mut asked = None;
    loop {
        let now = Instant::now();
        let has_ended = matches!(app.status, Status::Ended(_));
        if asked.is_none() && !app.is_paused && !has_ended && now >= next {
            // Fails only if the thread has ended, after a message that says so.
            let _ = requests.send(app.request());
            asked = Some(now);
            next = now + interval;
        }
        let waited = asked.map_or(Duration::ZERO, |asked| now - asked);
        if waited >= LATE && !has_ended {
            app.status = Status::Waiting(waited);
        }
        let drawn = terminal.draw(|frame| screen::draw(app, frame));
        drawn.map_err(|error| format!("the terminal: {error}"))?;
        let message = match has_ended || (app.is_paused && asked.is_none()) {
            true => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => {
                let until = if asked.is_some() {
                    now + LATE / 2
                } else {
                    next
                };
                messages.recv_timeout(until.saturating_duration_since(Instant::now()))
            }
        };
        match message {
            Ok(Message::Event(Ok(Event::Key(key)))) => {
                let order = app.order;
                let task = app.details.as_ref().map(|details| details.task);
                if !app.press(key) {
                    return Ok(());
                }
                let is_other =
                    app.order != order || app.details.as_ref().map(|details| details.task) != task;
                if is_other {
                    next = Instant::now();
                }
            }
            Ok(Message::Event(Ok(_))) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Event(Err(error))) => return Err(format!("the terminal: {error}")),
            Ok(Message::Answer(line)) => {
                asked = None;
                match line.and_then(|line| Answer::parse(&line)) {
                    Ok(answer) => {
                        app.status = Status::Connected;
                        app.receive(answer);
                    }
                    // The last frame stays.
                    Err(reason) if app.frame.is_some() => app.status = Status::Ended(reason),
                    Err(reason) => return Err(reason),
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
