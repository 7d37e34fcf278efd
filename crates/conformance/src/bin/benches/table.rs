//! Prints the results: a line for each row, and the mean of each file and of all.

use crate::measure::{Round, Times};

/// The least number of rounds that has an interval.
pub(crate) const MIN_ROUNDS: usize = 6;

/// How far the ends of an interval may be from its middle.
const WIDEST: f64 = 1.1;

/// A row of the table.
struct Line {
    file: String,
    title: String,
    ratios: Ratios,
}

pub(crate) struct Table {
    peer: String,
    lines: Vec<Line>,
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

/// The medians of one time over the rounds: the peer's, ours and the ratio, with the interval of the ratio. The ratio is
/// the peer's time divided by ours, above 1 if we are faster.
struct Compared {
    theirs: f64,
    ours: f64,
    ratio: f64,
    interval: (f64, f64),
}

pub(crate) struct Ratios {
    wall: Compared,
    processor: Compared,
}

impl Ratios {
    /// `None` if the rounds are too few.
    pub(crate) fn of(rounds: &[Round]) -> Option<Self> {
        (rounds.len() >= MIN_ROUNDS).then(|| Self {
            wall: compare(rounds, |times| times.wall),
            processor: compare(rounds, |times| times.processor),
        })
    }

    pub(crate) fn are_certain(&self) -> bool {
        self.wall.is_certain() && self.processor.is_certain()
    }

    fn clocks(&self) -> [(&'static str, &Compared); 2] {
        [
            ("wall time", &self.wall),
            ("processor time", &self.processor),
        ]
    }
}

/// The number of values on each side that are outside of an interval of at least 95 % for the median of `count` values, by
/// the sign test.
fn outside(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(count as i32);
    let mut sum = 0.0;
    for below in 0..count {
        sum += probability;
        if sum > 0.025 {
            return below.saturating_sub(1);
        }
        probability *= (count - below) as f64 / (below + 1) as f64;
    }
    0
}

fn compare(rounds: &[Round], which: impl Fn(&Times) -> f64) -> Compared {
    let ratios = rounds.iter().map(|it| which(&it.theirs) / which(&it.ours));
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let outside = outside(ratios.len());
    Compared {
        theirs: median(rounds.iter().map(|it| which(&it.theirs)).collect()),
        ours: median(rounds.iter().map(|it| which(&it.ours)).collect()),
        interval: (ratios[outside], ratios[ratios.len() - 1 - outside]),
        ratio: median(ratios),
    }
}

impl Compared {
    fn is_certain(&self) -> bool {
        self.interval.1 <= self.interval.0 * WIDEST * WIDEST
    }

    fn is_behind(&self) -> bool {
        self.interval.1 < 1.0
    }

    fn verdict(&self) -> &'static str {
        match self {
            it if it.is_behind() => "BEHIND",
            it if it.ratio < 1.0 => "behind, perhaps",
            _ => "",
        }
    }
}

impl Table {
    pub(crate) fn new(peer: String, [theirs, ours]: [&str; 2]) -> Self {
        println!(
            "Ratios: the time of {peer} over that of pointsman, above 1 where pointsman is faster.\n"
        );
        println!(
            "{:<52}{:>45}{:>45}",
            "", "wall time of an iteration", "processor time"
        );
        println!(
            "{:<52}{:>10}{:>10}{:>25}{:>10}{:>10}{:>25}",
            "", theirs, ours, "ratio", theirs, ours, "ratio"
        );
        Self {
            peer,
            lines: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, file: &str, name: &str, rounds: &[Round]) {
        let ratios = Ratios::of(rounds).expect("each row has enough rounds");
        let title = format!("{file} {name}");
        let mut notes: Vec<String> = ratios
            .clocks()
            .iter()
            .filter(|(_, compared)| !compared.verdict().is_empty())
            .map(|(clock, compared)| format!("{clock} {}", compared.verdict()))
            .collect();
        if !ratios.are_certain() {
            notes.push("not within 10 %".to_owned());
        }
        let columns = ratios.clocks().map(|(_, compared)| {
            let (low, high) = compared.interval;
            format!(
                "{:>10}{:>10}{:>8.2} {:>16}",
                time(compared.theirs),
                time(compared.ours),
                compared.ratio,
                format!("({low:.2}-{high:.2})"),
            )
        });
        let line = format!("{title:<52}{}  {}", columns.join(""), notes.join(", "));
        println!("{}", line.trim_end());
        self.lines.push(Line {
            file: file.to_owned(),
            title,
            ratios,
        });
    }

    pub(crate) fn finish(self) {
        let mean = |lines: &[Line], which: fn(&Ratios) -> f64| {
            geometric_mean(lines.iter().map(|line| which(&line.ratios)))
        };
        let (wall, processor) = (
            |ratios: &Ratios| ratios.wall.ratio,
            |ratios: &Ratios| ratios.processor.ratio,
        );
        println!(
            "\n{:<30}{:>6}{:>8}{:>12}",
            "Geometric means", "rows", "wall", "processor"
        );
        for lines in self.lines.chunk_by(|one, other| one.file == other.file) {
            println!(
                "{:<30}{:>6}{:>8.2}{:>12.2}",
                lines[0].file,
                lines.len(),
                mean(lines, wall),
                mean(lines, processor),
            );
        }
        let is_behind = |line: &&Line| line.ratios.clocks().iter().any(|(_, it)| it.is_behind());
        let behind: Vec<&Line> = self.lines.iter().filter(is_behind).collect();
        if !behind.is_empty() {
            println!("\nBehind, with the whole interval:");
            for line in &behind {
                for (clock, compared) in line.ratios.clocks() {
                    if compared.is_behind() {
                        println!("  {}: {clock} {:.2}", line.title, compared.ratio);
                    }
                }
            }
        }
        let uncertain = self.lines.iter().filter(|it| !it.ratios.are_certain());
        match uncertain.count() {
            0 => println!("\nEach row is known within 10 %."),
            count => println!(
                "\nThe time was up before {count} rows were known within 10 %: give it more MINUTES, or a \
                 machine with less other load."
            ),
        }
        println!(
            "{} rows: pointsman is {:.2} times as fast as {} in wall time, {:.2} times in \
             processor time (geometric means); {} behind",
            self.lines.len(),
            mean(&self.lines, wall),
            self.peer,
            mean(&self.lines, processor),
            match behind.len() {
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
        assert_eq!((compared.ratio, compared.interval), (2.0, (1.5, 2.0)));
    }

    #[test]
    fn behind_is_a_row_whose_whole_interval_is_below_1() {
        let of = |slowest| {
            let mut pairs = [(1.0, 1.1); MIN_ROUNDS];
            pairs[2] = (1.0, slowest);
            Ratios::of(&rounds(&pairs)).expect("enough rounds")
        };
        assert_eq!(of(1.2).processor.verdict(), "BEHIND");
        assert_eq!(of(0.9).processor.verdict(), "behind, perhaps");
        assert!(of(1.2).are_certain());
        assert!(!of(0.8).are_certain());
        assert!(Ratios::of(&rounds(&[(1.0, 1.1); MIN_ROUNDS - 1])).is_none());
    }

    #[test]
    fn an_interval_leaves_out_what_the_sign_test_allows() {
        // From tables of the binomial distribution.
        for (count, expected) in [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (50, 17)] {
            assert_eq!(outside(count), expected, "{count}");
        }
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
