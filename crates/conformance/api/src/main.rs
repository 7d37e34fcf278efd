//! Compares the public items of pointsman with those of a Tokio release, by rustdoc's JSON.
//!
//! ```text
//! cargo run --package api -- [--list] VERSION
//! ```
//!
//! Tokio is documented with `--cfg tokio_unstable` and all of its features; here its unstable names need neither. A
//! difference is an item or impl that is missing here, or one that accepts less. Each has to be in `api.toml` with a
//! reason. `--list` also prints those. The exit code is 1 if there is another one, or if no difference
//! matches a line of `api.toml`.

mod expectations;
mod items;
mod rustdoc;
mod text;

use std::path::Path;
use std::process::ExitCode;

use conformance::Result;
use expectations::Expectations;
use items::Items;

enum Kind {
    Missing,
    Different,
}

struct Difference {
    kind: Kind,
    item: String,
    /// Both signatures.
    more: String,
}

fn differences(theirs: &Items, ours: &Items) -> Vec<Difference> {
    let mut found = Vec::new();
    for (key, their) in &theirs.items {
        let Some(our) = ours.items.get(key) else {
            found.push(Difference {
                kind: Kind::Missing,
                item: key.clone(),
                more: String::new(),
            });
            continue;
        };
        // A function that is `const` here can be called wherever Tokio's can.
        let plain = our.signature.replacen("const fn", "fn", 1);
        let is_same = our.signature == their.signature || plain == their.signature;
        if !is_same || !our.bounds.accept(&their.bounds) {
            let show = |item: &items::Item| {
                let bounds = &item.bounds;
                format!(
                    "{} {:?} ?Sized {:?}",
                    item.signature, bounds.required, bounds.unsized_
                )
            };
            found.push(Difference {
                kind: Kind::Different,
                item: key.clone(),
                more: format!("\n    Tokio: {}\n    here:  {}", show(their), show(our)),
            });
        }
    }
    for (key, their) in theirs
        .impls
        .iter()
        .filter(|(key, _)| !key.starts_with("impl !"))
    {
        let of_type = key.split(" for ").nth(1).unwrap_or_default();
        let of_type = of_type.split('<').next().unwrap_or_default();
        // The missing type is reported.
        if of_type.starts_with("tokio::") && !ours.has_type(of_type) {
            continue;
        }
        let our = ours.impls.get(key);
        let accepts =
            |bounds: &text::Bounds| our.is_some_and(|our| our.iter().any(|our| our.accept(bounds)));
        if their.iter().all(accepts) {
            continue;
        }
        found.push(match our {
            None => Difference {
                kind: Kind::Missing,
                item: key.clone(),
                more: String::new(),
            },
            Some(our) => Difference {
                kind: Kind::Different,
                item: key.clone(),
                more: format!("\n    Tokio: {their:?}\n    here:  {our:?}"),
            },
        });
    }
    found
}

fn compare() -> Result<bool> {
    let (options, versions): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|it| it.starts_with('-'));
    let [version] = versions.as_slice() else {
        return Err("expected one version of Tokio, such as 1.54.1".into());
    };
    let list = match options.as_slice() {
        [] => false,
        [option] if option == "--list" => true,
        _ => return Err(format!("expected no option or --list: {options:?}").into()),
    };
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let conformance = home.parent().ok_or("the package is not in a folder")?;
    let mut expectations = Expectations::read(&conformance.join("api.toml"), version)?;
    let theirs = items::read(&rustdoc::tokio(conformance, version)?, "tokio", None)?;
    let ours = items::read(
        &rustdoc::pointsman(conformance)?,
        "pointsman",
        Some(&theirs),
    )?;
    let counts = |items: &Items| (items.items.len(), items.impls.len());
    let (their_counts, our_counts) = (counts(&theirs), counts(&ours));
    let (mut new, mut missing, mut different, mut expected) = (0, 0, 0, 0);
    for Difference { kind, item, more } in differences(&theirs, &ours) {
        let name = match kind {
            Kind::Missing => {
                missing += 1;
                "missing"
            }
            Kind::Different => {
                different += 1;
                "different"
            }
        };
        match expectations.reason(&item) {
            Some(reason) => {
                expected += 1;
                if list {
                    println!("expected, {name}: {item}: {reason}");
                }
            }
            None => {
                new += 1;
                println!("{name}: {item}{more}");
            }
        }
    }
    let unused = expectations.unused();
    for line in &unused {
        println!("api.toml: no difference is like {line:?}");
    }
    println!(
        "Tokio {version}: {} items and {} impls of traits; here {} and {}. {missing} are missing, {different} are \
         different; {expected} of these are expected, {new} are not.",
        their_counts.0, their_counts.1, our_counts.0, our_counts.1
    );
    Ok(new == 0 && unused.is_empty())
}

fn main() -> ExitCode {
    match compare() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("api: {error}");
            ExitCode::from(2)
        }
    }
}
