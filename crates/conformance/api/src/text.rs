//! The text of an item as `public-api` renders it, in parts that can be compared: two crates spell the same
//! signature in several ways.

use std::collections::BTreeSet;

/// What an item or an impl asks of its generic parameters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bounds such as `#0: Send`, without `Sized`.
    pub(crate) required: BTreeSet<String>,
    /// The parameters that may be unsized.
    pub(crate) unsized_: BTreeSet<String>,
}

impl Bounds {
    /// Whether each type that fulfils `other` fulfils these bounds.
    pub(crate) fn accept(&self, other: &Self) -> bool {
        self.required.is_subset(&other.required) && other.unsized_.is_subset(&self.unsized_)
    }

    /// Adds the predicate `subject: bounds`.
    fn add(&mut self, predicate: &str) {
        let Some((subject, bounds)) = predicate.split_once(": ") else {
            return;
        };
        // The names of lifetimes are gone, and what remains of a bound on one says nothing.
        if subject.starts_with('\'') {
            return;
        }
        let bounds = split(bounds, '+');
        let is_sized = bounds.contains(&"core::marker::Sized");
        for bound in bounds {
            match bound {
                "core::marker::Sized" | "'_" => {}
                "?core::marker::Sized" => {
                    self.unsized_.insert(subject.to_owned());
                }
                bound => {
                    self.required.insert(format!("{subject}: {bound}"));
                }
            }
        }
        if is_sized {
            self.unsized_.remove(subject);
        }
    }

    /// Adds those of a list of generic parameters, `T: Bound, 'a, const N: usize`, and returns the names of types.
    pub(crate) fn add_parameters(&mut self, list: &str) -> Vec<String> {
        let mut names = Vec::new();
        for parameter in split(list, ',') {
            // The default of a parameter.
            let parameter = split(parameter, '=')[0];
            self.add(parameter);
            let name = parameter.split(':').next().unwrap_or_default();
            if !name.starts_with(['\'', '{']) && !name.starts_with("const ") && !name.is_empty() {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Adds those of a `where` clause.
    pub(crate) fn add_where(&mut self, clause: &str) {
        for predicate in split(clause, ',') {
            self.add(predicate);
        }
    }

    pub(crate) fn rename(&mut self, names: &[String]) {
        let renamed = |set: &BTreeSet<String>| set.iter().map(|it| rename(it, names)).collect();
        (self.required, self.unsized_) = (renamed(&self.required), renamed(&self.unsized_));
    }

    /// Adds the bounds of the impl or trait around an item.
    pub(crate) fn extend(&mut self, outer: &Self) {
        self.required.extend(outer.required.iter().cloned());
        self.unsized_.extend(outer.unsized_.iter().cloned());
    }
}

/// Splits at a separator that is not inside of brackets, and trims the parts.
pub(crate) fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut depth = 0_u32;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if character == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + character.len_utf8();
            }
            _ => {}
        }
        before = character;
    }
    parts.push(text[start..].trim());
    parts
}

/// If `text` begins with a bracket, returns what is inside of it and what follows.
pub(crate) fn bracket(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = character;
        match depth {
            0 if at == 0 => return None,
            0 => return Some((&text[1..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// Calls `replace` for each word: a path such as `std::io::Error`, a name or a lifetime.
pub(crate) fn words(text: &str, mut replace: impl FnMut(&str) -> Option<String>) -> String {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '\'' | ':' | '#' | '?');
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        replaced += &rest[..start];
        rest = &rest[start..];
        let mut end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        // A colon that ends a word is one of `T: Bound`; `T<U>::Name` continues a path.
        while rest[..end].ends_with(':') && end > 1 {
            end -= 1;
        }
        let word = &rest[..end];
        replaced += &replace(word).unwrap_or_else(|| word.to_owned());
        rest = &rest[end..];
    }
    replaced + rest
}

/// Names generic parameters by their place.
pub(crate) fn rename(text: &str, names: &[String]) -> String {
    words(text, |word| {
        let place = names.iter().position(|name| name == word)?;
        Some(format!("#{place}"))
    })
}

/// Spells what has several spellings in one way.
pub(crate) fn spell(text: &str) -> String {
    let text = words(text, |word| {
        let is_named = word.starts_with('\'') && word != "'static";
        is_named.then(|| "'_".to_owned())
    });
    // A result that captures nothing lives longer than one that captures all.
    let text = text
        .replace("&'_ ", "&")
        .replace(" + '_", "")
        .replace(" + use<>", "");
    // `io::Result<T>` is an alias.
    let (plain, error) = ("core::result::Result<", "std::io::error::Error");
    let mut spelt = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(plain) {
        let arguments = at + plain.len() - 1;
        let found = bracket(&rest[arguments..]).map(|(inside, _)| split(inside, ','));
        spelt += &rest[..at];
        match found.as_deref() {
            Some([value, last]) if *last == error => {
                let value = spell(value);
                spelt += &format!("std::io::error::Result<{value}>");
                let (_, after) = bracket(&rest[arguments..]).unwrap_or_default();
                rest = after;
            }
            _ => {
                spelt += plain;
                rest = &rest[at + plain.len()..];
            }
        }
    }
    spelt + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_signature_is_spelt_in_one_way() {
        let long = "&'a T) -> core::result::Result<Vec<(u8, T)>, std::io::error::Error>";
        assert_eq!(spell(long), "&T) -> std::io::error::Result<Vec<(u8, T)>>");
        let other = "core::result::Result<u8, tokio::task::JoinError>";
        assert_eq!(spell(other), other);
        assert_eq!(
            spell("impl Future<Output = T> + use<>"),
            "impl Future<Output = T>"
        );
    }

    #[test]
    fn bounds_of_parameters_and_of_a_where_clause_are_the_same() {
        let (mut inline, mut clause) = (Bounds::default(), Bounds::default());
        let names = inline.add_parameters("'a, T: core::clone::Clone + ?core::marker::Sized, F");
        assert_eq!(names, ["T", "F"]);
        clause.add_where("T: ?core::marker::Sized, T: core::clone::Clone + '_");
        assert_eq!(inline, clause);
    }

    #[test]
    fn fewer_bounds_accept_more() {
        let bounds = |clause| {
            let mut bounds = Bounds::default();
            bounds.add_where(clause);
            bounds
        };
        let (free, sync) = (bounds(""), bounds("T: core::marker::Sync"));
        assert!(free.accept(&sync) && !sync.accept(&free));
        let unsized_ = bounds("T: ?core::marker::Sized");
        assert!(unsized_.accept(&free) && !free.accept(&unsized_));
    }

    #[test]
    fn parameters_are_named_by_place() {
        let names = ["T".to_owned(), "F".to_owned()];
        assert_eq!(rename("(F) -> a::T<T>", &names), "(#1) -> a::T<#0>");
    }
}
