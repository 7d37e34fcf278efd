//! The README's manifest example.

#![cfg(not(loom))]

use std::collections::BTreeMap;

use toml::{Table, Value};

/// The dependencies that a feature enables, without the `dep:` prefix.
fn enabled(by: &Value) -> Vec<&str> {
    let all = by.as_array().expect("a feature is a list");
    let names = all.iter().map(|name| name.as_str().expect("of strings"));
    names
        .map(|name| name.strip_prefix("dep:").unwrap_or(name))
        .collect()
}

#[test]
fn the_table_of_features_is_that_of_the_manifest() {
    let manifest: Table = include_str!("../Cargo.toml").parse().expect("TOML");
    let features = manifest["features"].as_table().expect("a table");
    let expected: BTreeMap<&str, Vec<&str>> = features
        .iter()
        .map(|(name, value)| (name.as_str(), enabled(value)))
        .collect();

    let readme = include_str!("../README.md");
    let (_, section) = readme.split_once("\n## Features\n").expect("a section");
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2);
    let in_code = |cell: &'static str| cell.split('`').skip(1).step_by(2);
    let told: BTreeMap<&str, Vec<&str>> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            let name = in_code(cells[0]).next().expect("a name");
            (name, in_code(cells[2]).collect())
        })
        .collect();

    assert_eq!(told, expected);
}

#[test]
fn the_oldest_rust_is_that_of_the_manifest() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let readme = include_str!("../README.md");
    assert!(
        readme.contains(&format!("It needs Rust {version},")),
        "README.md does not say that it needs Rust {version}"
    );
}
