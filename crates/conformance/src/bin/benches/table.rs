//! Prints the results: a line for each row, and the mean of each file and of all.

use crate::measure::{Round, Times};

/// Ratios of one row: Tokio's time divided by pointsman's, above 1 if pointsman is faster.
struct Ratios {
    file: String,
    wall: f64,
    processor: f64,
}

pub(crate) struct Table {
    version: String,
    rows: Vec<Ratios>,
    /// The rows in which pointsman was slower in each round, and which time.
    behind: Vec<String>,
    rows_behind: usize,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

/// A time with three digits and its unit.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        it if it < 1e3 => (it, "ns"),
        it if it < 1e6 => (it / 1e3, "µs"),
        it => (it / 1e6, "ms"),
    };
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

/// The medians of one time over the rounds: Tokio's, ours and the ratio, with the ratio's minimum and maximum.
struct Compared {
    theirs: f64,
    ours: f64,
    ratio: f64,
    range: (f64, f64),
    rounds: usize,
}

/// Fewer rounds than this prove nothing.
const ENOUGH: usize = 3;

fn compare(rounds: &[Round], which: impl Fn(&Times) -> f64) -> Compared {
    let ratios = || rounds.iter().map(|it| which(&it.theirs) / which(&it.ours));
    Compared {
        theirs: median(rounds.iter().map(|it| which(&it.theirs)).collect()),
        ours: median(rounds.iter().map(|it| which(&it.ours)).collect()),
        ratio: median(ratios().collect()),
        range: (
            ratios().fold(f64::INFINITY, f64::min),
            ratios().fold(0.0, f64::max),
        ),
        rounds: rounds.len(),
    }
}

/// Says that a row is slower: in each of enough rounds, or in most.
fn verdict(compared: &Compared) -> &'static str {
    match compared {
        it if it.range.1 < 1.0 && it.rounds >= ENOUGH => "BEHIND",
        it if it.ratio < 1.0 => "behind, perhaps",
        _ => "",
    }
}

impl Table {
    pub(crate) fn new(version: &str) -> Self {
        println!(
            "Ratios: Tokio's time over that of pointsman, above 1 where pointsman is faster.\n"
        );
        println!(
            "{:<52}{:>45}  {:>30}",
            "", "wall time of an iteration", "processor time"
        );
        println!(
            "{:<52}{:>10}{:>10}{:>25}  {:>10}{:>10}{:>10}",
            "", "Tokio", "pointsman", "ratio", "Tokio", "pointsman", "ratio"
        );
        Self {
            version: version.to_owned(),
            rows: Vec::new(),
            behind: Vec::new(),
            rows_behind: 0,
        }
    }

    pub(crate) fn row(&mut self, file: &str, name: &str, rounds: Vec<Round>) {
        let wall = compare(&rounds, |times| times.wall);
        let processor = compare(&rounds, |times| times.processor);
        let title = format!("{file} {name}");
        let range = format!("({:.2}-{:.2})", wall.range.0, wall.range.1);
        let (mut notes, listed) = (Vec::new(), self.behind.len());
        for (clock, compared) in [("wall time", &wall), ("processor time", &processor)] {
            let verdict = verdict(compared);
            if !verdict.is_empty() {
                notes.push(format!("{clock} {verdict}"));
            }
            if verdict == "BEHIND" {
                self.behind
                    .push(format!("{title}: {clock} {:.2}", compared.ratio));
            }
        }
        self.rows_behind += usize::from(self.behind.len() > listed);
        let line = format!(
            "{title:<52}{:>10}{:>10}{:>8.2} {range:>16}  {:>10}{:>10}{:>10.2}  {}",
            time(wall.theirs),
            time(wall.ours),
            wall.ratio,
            time(processor.theirs),
            time(processor.ours),
            processor.ratio,
            notes.join(", "),
        );
        println!("{}", line.trim_end());
        self.rows.push(Ratios {
            file: file.to_owned(),
            wall: wall.ratio,
            processor: processor.ratio,
        });
    }

    pub(crate) fn finish(self) {
        println!(
            "\n{:<30}{:>6}{:>8}{:>12}",
            "Geometric means", "rows", "wall", "processor"
        );
        for rows in self.rows.chunk_by(|one, other| one.file == other.file) {
            println!(
                "{:<30}{:>6}{:>8.2}{:>12.2}",
                rows[0].file,
                rows.len(),
                geometric_mean(rows.iter().map(|row| row.wall)),
                geometric_mean(rows.iter().map(|row| row.processor)),
            );
        }
        if !self.behind.is_empty() {
            println!("\nBehind in each round:");
            for row in &self.behind {
                println!("  {row}");
            }
        }
        println!(
            "\n{} rows: pointsman is {:.2} times as fast as Tokio {} in wall time, {:.2} times in \
             processor time (geometric means); {} behind",
            self.rows.len(),
            geometric_mean(self.rows.iter().map(|row| row.wall)),
            self.version,
            geometric_mean(self.rows.iter().map(|row| row.processor)),
            match self.rows_behind {
                0 => "no row is".to_owned(),
                1 => "1 row is".to_owned(),
                count => format!("{count} rows are"),
            }
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(pairs: &[(f64, f64)]) -> Vec<Round> {
        let times = |wall| Times {
            wall,
            processor: 2.0 * wall,
        };
        pairs
            .iter()
            .map(|&(theirs, ours)| Round {
                theirs: times(theirs),
                ours: times(ours),
            })
            .collect()
    }

    #[test]
    fn a_ratio_is_taken_inside_of_a_round() {
        // The machine is slow in the second round, for both.
        let compared = compare(&rounds(&[(2.0, 1.0), (40.0, 20.0), (3.0, 2.0)]), |times| {
            times.wall
        });
        assert_eq!((compared.theirs, compared.ours), (3.0, 2.0));
        assert_eq!((compared.ratio, compared.range), (2.0, (1.5, 2.0)));
    }

    #[test]
    fn behind_is_what_was_slower_in_each_round() {
        let of = |pairs| verdict(&compare(&rounds(pairs), |times| times.processor));
        assert_eq!(of(&[(1.0, 2.0), (1.0, 3.0), (1.0, 1.1)]), "BEHIND");
        assert_eq!(of(&[(1.0, 2.0), (1.0, 3.0), (1.0, 0.9)]), "behind, perhaps");
        assert_eq!(of(&[(1.0, 2.0), (1.0, 0.5), (1.0, 0.9)]), "");
    }

    #[test]
    fn means_and_times() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!((geometric_mean([0.5, 2.0, 8.0].into_iter()) - 2.0).abs() < 1e-9);
        assert_eq!(
            [time(2.345), time(45_678.9), time(999.9e6)],
            ["2.35 ns", "45.7 µs", "1000 ms"]
        );
    }
}
