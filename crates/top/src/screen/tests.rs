//! Frames from fixed answers. `UPDATE_FRAMES=1 cargo test --package pointsman-top` writes them again.

use std::path::PathBuf;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::to_text;
use crate::answer::Answer;
use crate::app::{App, Status};
use crate::connection::Order;

const ANSWERS: &str = include_str!("frames/answers.jsonl");

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

/// The frame after two answers, one second apart.
fn app() -> App {
    let mut app = App::new(Order::Age);
    for line in ANSWERS.lines() {
        app.receive(Answer::parse(line.as_bytes()).unwrap());
    }
    app
}

fn press(app: &mut App, codes: impl IntoIterator<Item = KeyCode>) {
    for code in codes {
        assert!(app.press(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

fn assert_frame(name: &str, app: &mut App, (width, height): (u16, u16)) {
    let frame = to_text(app, width, height);
    let file = PathBuf::from_iter([env!("CARGO_MANIFEST_DIR"), "src/screen/frames", name]);
    let file = file.with_extension("txt");
    if std::env::var_os("UPDATE_FRAMES").is_some() {
        std::fs::write(&file, &frame).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert!(frame == expected, "{name} is now:\n{frame}");
}

#[test]
fn the_list_of_tasks() {
    assert_frame("list", &mut app(), SMALL);
    assert_frame("list-large", &mut app(), LARGE);
}

#[test]
fn the_list_in_other_orders_and_scrolled() {
    let mut app = app();
    press(&mut app, [KeyCode::Char('s')]);
    assert_frame("polls", &mut app, SMALL);
    press(&mut app, [KeyCode::Char('s')]);
    assert_frame("longest", &mut app, SMALL);
    press(
        &mut app,
        [KeyCode::Char('s'), KeyCode::PageDown, KeyCode::PageDown],
    );
    assert_frame("scrolled", &mut app, SMALL);
    press(&mut app, [KeyCode::End, KeyCode::Up]);
    assert_frame("end", &mut app, SMALL);
}

#[test]
fn the_details_of_a_task() {
    let mut app = app();
    for (id, name) in [
        (258, "details"),
        (9_000, "details-holders"),
        (262, "details-futurelock"),
    ] {
        press(&mut app, [KeyCode::Home]);
        let tasks = &app.frame.as_ref().unwrap().answer.tasks;
        let row = tasks.iter().position(|task| task.id == id).unwrap();
        press(&mut app, (0..row).map(|_| KeyCode::Down));
        press(&mut app, [KeyCode::Enter]);
        assert_eq!(
            app.request().task,
            Some(id),
            "asks for the task while it is shown"
        );
        assert_frame(name, &mut app, SMALL);
        press(&mut app, [KeyCode::Esc]);
        assert_eq!(app.request().task, None);
    }
}

#[test]
fn a_task_that_has_ended() {
    let mut app = app();
    press(&mut app, [KeyCode::Enter]);
    let line = ANSWERS.lines().next().unwrap();
    let mut answer = Answer::parse(line.as_bytes()).unwrap();
    answer.tasks.clear();
    app.receive(answer);
    assert_frame("details-ended", &mut app, SMALL);
}

#[test]
fn the_state_of_the_connection() {
    let mut app = app();
    press(&mut app, [KeyCode::Char('p')]);
    assert!(
        to_text(&mut app, 80, 24)
            .lines()
            .next()
            .unwrap()
            .ends_with("paused")
    );
    app.status = Status::Ended("the process has ended".into());
    let text = to_text(&mut app, 80, 24);
    assert!(
        text.lines()
            .next()
            .unwrap()
            .ends_with("the process has ended")
    );
}

#[test]
fn an_idle_process() {
    let mut answer = Answer::parse(ANSWERS.lines().next().unwrap().as_bytes()).unwrap();
    answer.tasks.clear();
    answer.problems.clear();
    answer.problem_count = 0;
    answer.workers.truncate(1);
    answer.counts.tasks = 0;
    let mut app = App::new(Order::Age);
    app.receive(answer);
    assert_frame("idle", &mut app, SMALL);
    let all = [
        KeyCode::Down,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::Enter,
        KeyCode::Esc,
    ];
    press(&mut app, all);
    assert_frame("idle", &mut app, SMALL);
}

#[test]
fn no_size_is_too_small() {
    for width in [1, 39, 40, 41, 57, 79, 300] {
        for height in [1, 11, 12, 13, 19, 45, 100] {
            let mut app = app();
            to_text(&mut app, width, height);
            press(&mut app, [KeyCode::Enter, KeyCode::Down]);
            to_text(&mut app, width, height);
        }
    }
}

#[test]
fn keys_that_quit() {
    let mut app = app();
    assert!(!app.press(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)));
    assert!(!app.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(app.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)));
    // In details too.
    press(&mut app, [KeyCode::Enter]);
    assert!(!app.press(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)));
}

#[test]
fn an_answer_of_another_version_is_refused() {
    let error = Answer::parse(br#"{"version":2,"workers":"none"}"#).unwrap_err();
    assert!(error.contains("version 2"), "{error}");
    let error = Answer::parse(br#"{"version":1,"error":"no"}"#).unwrap_err();
    assert!(error.ends_with("refuses the request: no"), "{error}");
    for line in ["", "{", "[]", r#"{"version":1}"#, "\0\n"] {
        assert!(Answer::parse(line.as_bytes()).is_err(), "{line}");
    }
}
