//! The command line.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::answer::Answer;
use crate::app::App;
use crate::connection::{Connection, Order, Request};
use crate::{screen, terminal};

/// Shows the tasks of a running program, and what is stuck.
///
/// The program opts in with `Handle::serve_dumps(path)` of pointsman's runtime, with the features `diagnostics` and
/// `net`.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The socket of the program.
    path: PathBuf,
    /// The order of the tasks.
    #[arg(long, value_enum, default_value = "age")]
    sort: Order,
    /// The seconds between two frames.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// Print one frame as text.
    #[arg(long, conflicts_with = "json")]
    once: bool,
    /// Print the answer of the program as JSON.
    #[arg(long)]
    json: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let range = Duration::from_millis(100)..=Duration::from_secs(3600);
    seconds
        .filter(|seconds| range.contains(seconds))
        .ok_or_else(|| "must be a number from 0.1 to 3600".into())
}

pub(crate) fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pointsman-top: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let connection = Connection::open(&arguments.path)?;
    let request = Request {
        order: arguments.sort,
        task: None,
    };
    if arguments.json {
        let line = connection.with_patience()?.ask(request)?;
        Answer::parse(&line)?;
        return print(&line);
    }
    if arguments.once {
        return print(once(connection.with_patience()?, request)?.as_bytes());
    }
    if !std::io::stdout().is_terminal() {
        return Err("the output is not a terminal: use --once or --json".into());
    }
    terminal::run(connection, arguments.sort, arguments.interval)
}

/// The time between the two answers of `--once`, from which the loads are computed.
const SAMPLE: Duration = Duration::from_millis(250);

fn once(mut connection: Connection, request: Request) -> Result<String, String> {
    let mut app = App::new(request.order);
    app.receive(Answer::parse(&connection.ask(request)?)?);
    std::thread::sleep(SAMPLE);
    app.receive(Answer::parse(&connection.ask(request)?)?);
    let (width, height) = match std::io::stdout().is_terminal() {
        true => ratatui::crossterm::terminal::size().map_err(|error| error.to_string())?,
        false => (80, app.full_height()),
    };
    Ok(screen::to_text(&mut app, width, height))
}

fn print(text: &[u8]) -> Result<(), String> {
    let printed = std::io::stdout().lock().write_all(text);
    printed.map_err(|error| format!("standard output: {error}"))
}
