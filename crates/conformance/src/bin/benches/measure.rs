//! Runs the rows, each in its own process with a time limit.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conformance::Result;

use crate::sources::File;

/// How long a process may take: benches do much outside of their measurements.
const LIMIT: Duration = Duration::from_secs(60);

/// Nanoseconds per iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) wall: f64,
    pub(crate) processor: f64,
}

/// The measurements of a round.
pub(crate) struct Round {
    pub(crate) theirs: Times,
    pub(crate) ours: Times,
}

/// One bench of a file.
pub(crate) struct Row<'a> {
    pub(crate) file: &'a str,
    pub(crate) name: String,
    number: usize,
    theirs: &'a Path,
    ours: &'a Path,
}

/// The rows of all files that match one of the filters, or all if there is none.
pub(crate) fn rows<'a>(files: &'a [File], filters: &[String]) -> Result<Vec<Row<'a>>> {
    let mut rows = Vec::new();
    for file in files {
        let output = Command::new(&file.ours).arg("--list").output()?;
        if !output.status.success() {
            return Err(format!("{} does not list its rows", file.name).into());
        }
        let names = String::from_utf8(output.stdout)?;
        let names: Vec<&str> = names.lines().collect();
        rows.extend(names.iter().enumerate().map(|(number, name)| {
            // Some rows contain the name of another.
            let before = names[..number].iter().filter(|it| *it == name).count();
            Row {
                file: &file.name,
                name: match before {
                    0 => (*name).to_owned(),
                    count => format!("{name} #{}", count + 1),
                },
                number,
                theirs: &file.theirs,
                ours: &file.ours,
            }
        }));
    }
    rows.retain(|row| {
        let name = format!("{} {}", row.file, row.name);
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter))
    });
    Ok(rows)
}

impl Row<'_> {
    /// Measures both in a turn of this length. Their order alternates with the rounds, so that neither always finds a
    /// warmer machine.
    pub(crate) fn round(&self, number: usize, turn: Duration) -> Result<Round> {
        let run = |program| {
            once(program, self.number, turn)
                .map_err(|error| format!("{} {}: {error}", self.file, self.name))
        };
        if number.is_multiple_of(2) {
            let ours = run(self.ours)?;
            let theirs = run(self.theirs)?;
            return Ok(Round { theirs, ours });
        }
        let theirs = run(self.theirs)?;
        let ours = run(self.ours)?;
        Ok(Round { theirs, ours })
    }
}

fn once(program: &Path, row: usize, time: Duration) -> Result<Times> {
    let mut process = Command::new(program)
        .args(["--row", &row.to_string()])
        .args(["--milliseconds", &time.as_millis().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if started.elapsed() > LIMIT {
            process.kill()?;
            process.wait()?;
            return Err(format!("{} hangs", program.display()).into());
        }
        // Polls rarely, as it competes with the measured process.
        thread::sleep(time / 10);
    };
    let mut output = String::new();
    if let Some(mut pipe) = process.stdout.take() {
        pipe.read_to_string(&mut output)?;
    }
    let times: Vec<f64> = output.split_whitespace().flat_map(str::parse).collect();
    match times[..] {
        [wall, processor] if status.success() => Ok(Times { wall, processor }),
        _ => Err(format!("{} has failed: {status}", program.display()).into()),
    }
}
