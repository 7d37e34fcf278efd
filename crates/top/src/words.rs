//! Numbers, times and names as the screen shows them.

use crate::answer::Task;

/// A time with one unit and at most 6 columns.
pub(crate) fn time(micros: u64) -> String {
    const SECOND: u64 = 1_000_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..SECOND => format!("{} ms", micros / 1_000),
        SECOND..10_000_000 => format!("{}.{} s", micros / SECOND, micros / 100_000 % 10),
        10_000_000..MINUTE => format!("{} s", micros / SECOND),
        MINUTE..HOUR => format!("{} min", micros / MINUTE),
        HOUR..DAY => format!("{} h", micros / HOUR),
        DAY.. => format!("{} d", micros / DAY),
    }
}

/// The same for a time in nanoseconds.
pub(crate) fn short_time(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..10_000 => format!("{}.{} µs", nanos / 1_000, nanos / 100 % 10),
        _ => time(nanos / 1_000),
    }
}

/// A number in at most 5 columns.
pub(crate) fn short(number: u64) -> String {
    let units = [
        (1_000, 'k'),
        (1_000_000, 'M'),
        (1_000_000_000, 'G'),
        (1_000_000_000_000, 'T'),
    ];
    let Some((unit, letter)) = units.into_iter().rev().find(|(unit, _)| number >= *unit) else {
        return number.to_string();
    };
    match number / unit {
        whole @ 0..10 => format!("{whole}.{}{letter}", number * 10 / unit % 10),
        whole => format!("{whole}{letter}"),
    }
}

/// A number with a comma after each three digits.
pub(crate) fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", whole(count)),
    }
}

/// The name of a task, or else the location of its spawn, in at most `width` characters.
pub(crate) fn title(task: &Task, width: usize) -> String {
    match (&task.name, &task.location) {
        (Some(name), _) => cut_end(name, width),
        // The column of the location says little, and the end of the path most.
        (None, Some(location)) => cut_start(without_column(location), width),
        (None, None) => "-".into(),
    }
}

fn without_column(location: &str) -> &str {
    match location.rsplit_once(':') {
        Some((place, _)) if place.contains(':') => place,
        _ => location,
    }
}

fn cut_end(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

fn cut_start(text: &str, width: usize) -> String {
    let count = text.chars().count();
    match count > width {
        true => ['…']
            .into_iter()
            .chain(text.chars().skip(count + 1 - width))
            .collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_fit_their_columns() {
        for (micros, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_000, "1 ms"),
            (999_999, "999 ms"),
            (3_250_000, "3.2 s"),
            (59_999_999, "59 s"),
            (60_000_000, "1 min"),
            (3_600_000_000, "1 h"),
            (90_000_000_000, "1 d"),
        ] {
            assert_eq!(time(micros), text);
        }
        for (nanos, text) in [(5, "5 ns"), (1_250, "1.2 µs"), (12_999, "12 µs")] {
            assert_eq!(short_time(nanos), text);
        }
        for (number, text) in [
            (999, "999"),
            (1_000, "1.0k"),
            (9_999, "9.9k"),
            (10_000, "10k"),
            (999_999, "999k"),
            (4_294_967_295, "4.2G"),
        ] {
            assert_eq!(short(number), text);
        }
        assert_eq!(whole(1_234_567), "1,234,567");
        assert_eq!(whole(123), "123");
    }

    #[test]
    fn a_location_is_cut_at_its_start() {
        assert_eq!(
            cut_start(without_column("crates/a/src/main.rs:31:9"), 12),
            "…/main.rs:31"
        );
        assert_eq!(cut_start(without_column("main.rs:31:9"), 10), "main.rs:31");
        assert_eq!(cut_end("a long name", 6), "a lon…");
    }
}
