//! Runs Tokio's own benches, unchanged, on Tokio and on pointsman in turn, and compares wall time and processor time.
//!
//! ```text
//! cargo run --release --bin benches -- [--tokio FOLDER] [--rounds N] [--milliseconds N] [FILTER]...
//! ```
//!
//! `FOLDER` is a checkout of Tokio: the package that cargo downloads has no benches. Tokio itself is the version that
//! `Cargo.lock` pins. A `FILTER` is a part of the name of a file or row. In each round both run each row, each in its
//! own process, in alternating order. A ratio is taken within a round, and the median of the rounds is reported.

mod measure;
mod sources;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use conformance::{Result, Workspace, clear, progress};

use measure::Row;
use table::Table;

struct Arguments {
    tokio: Option<PathBuf>,
    rounds: usize,
    time: Duration,
    filters: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self {
            tokio: None,
            rounds: 3,
            time: Duration::from_millis(400),
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
                "--rounds" => read.rounds = number()? as usize,
                "--milliseconds" => read.time = Duration::from_millis(number()?.into()),
                "--tokio" => read.tokio = given.next().map(PathBuf::from),
                option if option.starts_with('-') => {
                    return Err(format!(
                        "there is no option {option}: expected --tokio FOLDER, --rounds N, \
                         --milliseconds N or a part of a name"
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
    println!(
        "Tokio {} and pointsman: building the benches.",
        tokio.version
    );
    let files = sources::compile(home, &workspace.target, &benches)?;
    let rows = measure::rows(&files, &arguments.filters)?;
    if rows.is_empty() {
        return Err(format!("no row has {} in its name", arguments.filters.join(" or ")).into());
    }
    // Half as long again for warm-up and start.
    let each = arguments.time.mul_f64(1.5) * 2 * arguments.rounds as u32;
    println!(
        "{} rows, {} rounds of {} ms: about {} s.\n",
        rows.len(),
        arguments.rounds,
        arguments.time.as_millis(),
        (each * rows.len() as u32).as_secs(),
    );
    let mut table = Table::new(&tokio.version);
    for (number, row) in rows.iter().enumerate() {
        let Row { file, name, .. } = row;
        let measured = row.measure(arguments.rounds, arguments.time, |round| {
            progress(&format!(
                "{}/{} {file} {name}, round {round}",
                number + 1,
                rows.len()
            ));
        });
        clear();
        table.row(file, name, measured?);
    }
    table.finish();
    Ok(())
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
