//! Replaces what differs from run to run in reports.

/// Replaces times by `T`.
pub(crate) fn without_times(text: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<_> = line.split(' ').collect();
        for at in 1..words.len() {
            if matches!(words[at].trim_end_matches(','), "ms" | "s") {
                words[at - 1] = "T";
            }
        }
        words.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces places in the file by `here`.
#[allow(dead_code)] // Not all tests compare reports of their own file.
pub(crate) fn without_places(text: &str, file: &str) -> String {
    let place = format!("({file}:");
    let mut parts = text.split(&place);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "(here" + &part[part.find(')').unwrap()..]
    })
}
