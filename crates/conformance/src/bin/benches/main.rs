//! Runs Tokio's own benches, unchanged, on Tokio and on pointsman in turn, and compares wall time and processor time.
//!
//! ```text
//! cargo run --release --bin benches -- [--tokio FOLDER] [--diagnostics] [--minutes N] [--milliseconds N] [FILTER]...
//! ```
//!
//! `FOLDER` is a checkout of Tokio: the package that cargo downloads has no benches. Tokio itself is the version that
//! `Cargo.lock` pins. With `--diagnostics`, pointsman without its diagnostics takes the place of Tokio. A `FILTER` is a
//! part of the name of a file or row. In each round both run a row for one turn, each in its own process, and a ratio is
//! taken within a round. The rounds go over all rows, again and again, so that a disturbance of the machine meets few
//! rounds of a row. They leave out rows whose intervals are narrow enough, and end when all are or the time is up.

mod measure;
mod sources;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use conformance::{Result, Workspace, clear, progress};

use measure::{Round, Row};
use sources::Peer;
use table::{MIN_ROUNDS, Ratios, Table};

struct Arguments {
    tokio: Option<PathBuf>,
    peer: Peer,
    limit: Duration,
    turn: Duration,
    filters: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self {
            tokio: None,
            peer: Peer::Tokio,
            limit: Duration::from_secs(600),
            turn: Duration::from_millis(100),
            filters: Vec::new(),
        };
        let mut given = std::env::args().skip(1);
        while let Some(argument) = given.next() {
            let mut number = || -> Result<u32> {
                let text = given.next().unwrap_or_default();
                let number = text.parse().ok().filter(|&number| number > 0);
                number.ok_or_else(|| {
                    format!("{argument} cannot be {text:?}: expected a number, from 1 on").into()
                })
            };
            match argument.as_str() {
                "--minutes" => read.limit = Duration::from_secs(60 * u64::from(number()?)),
                "--milliseconds" => read.turn = Duration::from_millis(number()?.into()),
                "--diagnostics" => read.peer = Peer::WithoutDiagnostics,
                "--tokio" => read.tokio = given.next().map(PathBuf::from),
                option if option.starts_with('-') => {
                    return Err(format!(
                        "there is no option {option}: expected --tokio FOLDER, --diagnostics, \
                         --minutes N, --milliseconds N or a part of a name"
                    )
                    .into());
                }
                filter => read.filters.push(filter.to_owned()),
            }
        }
        Ok(read)
    }
}

fn compare() -> Result<()> {
    let arguments = Arguments::read()?;
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = Workspace::read(home)?;
    let tokio = workspace.package("tokio")?;
    let benches = sources::find(&tokio, arguments.tokio.as_deref())?;
    let peer = match arguments.peer {
        Peer::Tokio => format!("Tokio {}", tokio.version),
        Peer::WithoutDiagnostics => "pointsman without diagnostics".to_owned(),
    };
    println!("{peer} and pointsman: building the benches.");
    let files = sources::compile(home, &workspace.target, &benches, arguments.peer)?;
    let rows = measure::rows(&files, &arguments.filters)?;
    if rows.is_empty() {
        return Err(format!("no row has {} in its name", arguments.filters.join(" or ")).into());
    }
    println!(
        "{} rows in turns of {} ms, until each is known within 10 %, for at most {} min.\n",
        rows.len(),
        arguments.turn.as_millis(),
        arguments.limit.as_secs() / 60,
    );
    let measured = measure_all(&rows, &arguments)?;
    let mut table = match arguments.peer {
        Peer::Tokio => Table::new(peer, ["Tokio", "pointsman"]),
        Peer::WithoutDiagnostics => Table::new(peer, ["without", "with"]),
    };
    for (row, rounds) in rows.iter().zip(&measured) {
        table.row(row.file, &row.name, rounds);
    }
    table.finish();
    Ok(())
}

/// Returns the rounds of each row. Each row has at least the rounds that an interval needs, also when the time is up.
fn measure_all(rows: &[Row], arguments: &Arguments) -> Result<Vec<Vec<Round>>> {
    let started = Instant::now();
    let mut measured: Vec<Vec<Round>> = rows.iter().map(|_| Vec::new()).collect();
    for number in 1.. {
        let is_certain =
            |rounds: &Vec<Round>| Ratios::of(rounds).is_some_and(|it| it.are_certain());
        let open: Vec<usize> = (0..rows.len())
            .filter(|&index| !is_certain(&measured[index]))
            .collect();
        let is_late = || number > MIN_ROUNDS && started.elapsed() > arguments.limit;
        if open.is_empty() || is_late() {
            break;
        }
        println!(
            "Round {number}, after {} s: {} of {} rows.",
            started.elapsed().as_secs(),
            open.len(),
            rows.len()
        );
        for (done, &index) in open.iter().enumerate() {
            if is_late() {
                break;
            }
            let Row { file, name, .. } = &rows[index];
            progress(&format!("{}/{} {file} {name}", done + 1, open.len()));
            let round = rows[index].round(number, arguments.turn);
            clear();
            measured[index].push(round?);
        }
    }
    println!();
    Ok(measured)
}

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            clear();
            eprintln!("benches: {error}");
            ExitCode::from(2)
        }
    }
}
