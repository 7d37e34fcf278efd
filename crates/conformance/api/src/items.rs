//! The public items of a crate, by name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use conformance::Result;

use crate::text::{Bounds, bracket, rename, spell, split, words};

/// What differs between compilers, or says nothing to a user.
const IGNORED: [&str; 4] = ["Freeze", "StructuralPartialEq", "UnsafeUnpin", "Drop"];

#[derive(Debug)]
pub(crate) struct Item {
    /// A function with its parameters and result, a type or the like, without bounds.
    pub(crate) signature: String,
    pub(crate) bounds: Bounds,
}

/// Items by kind and path, such as `fn tokio::sync::Mutex::lock`, and the impls of traits, such as
/// `impl Send for tokio::sync::Mutex`.
#[derive(Default)]
pub(crate) struct Items {
    pub(crate) items: BTreeMap<String, Item>,
    pub(crate) impls: BTreeMap<String, Vec<Bounds>>,
}

/// Reads rustdoc's JSON. `name` is the name of the crate, which becomes `tokio`. A type with several paths gets one
/// that `like` has.
pub(crate) fn read(json: &Path, name: &str, like: Option<&Items>) -> Result<Items> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .build()?;
    let own = format!("{name}::");
    let texts: Vec<_> = api
        .items()
        .map(|item| {
            let text = item.to_string();
            let text = text.trim_start_matches("#[repr(C)] ");
            let text = words(text, |word| match word.strip_prefix(&own) {
                Some(rest) => Some(format!("tokio::{rest}")),
                None => (word == name).then(|| "tokio".to_owned()),
            });
            (item.id(), item.parent_id(), spell(&text))
        })
        .collect();
    let declared = texts
        .iter()
        .filter_map(|(id, _, text)| Some((*id, declared_type(text)?)));
    let aliases = aliases(declared, |path| {
        like.is_some_and(|like| like.has_type(path))
    });
    let use_alias = |text: &str| words(text, |word| aliases.get(word).cloned());
    let texts: Vec<_> = texts
        .iter()
        .map(|(id, parent, text)| {
            let text = match declared_type(text) {
                Some(_) => text.clone(),
                None => use_alias(text),
            };
            (*id, *parent, text)
        })
        .collect();
    let public: HashSet<&str> = texts
        .iter()
        .filter_map(|(_, _, text)| declared_type(text))
        .collect();
    let parents: HashMap<_, _> = texts.iter().map(|(id, _, text)| (*id, text)).collect();
    let mut read = Items::default();
    for (_, parent, text) in &texts {
        let parent = parent.and_then(|parent| parents.get(&parent));
        let outer = parent.and_then(|text| text.strip_prefix("impl"));
        let outer = outer.map(impl_parts);
        match (text.strip_prefix("impl"), outer) {
            (Some(rest), _) => read.add_impl(impl_parts(rest)),
            // The impl itself is compared.
            (None, Some(outer)) if outer.what.contains(" for ") => {}
            (None, outer) => read.add_item(text, outer, &public),
        }
    }
    Ok(read)
}

/// The path of each type that has several: a preferred one, or the shortest.
fn aliases<'a, Id: std::hash::Hash + Eq>(
    declared: impl Iterator<Item = (Id, &'a str)>,
    is_preferred: impl Fn(&str) -> bool,
) -> HashMap<String, String> {
    let mut paths: HashMap<_, Vec<&str>> = HashMap::new();
    for (id, path) in declared {
        paths.entry(id).or_default().push(path);
    }
    let mut aliases = HashMap::new();
    for mut same in paths.into_values() {
        same.sort_by_key(|path| (!is_preferred(path), path.len(), *path));
        let first = same.remove(0);
        aliases.extend(
            same.into_iter()
                .map(|other| (other.to_owned(), first.to_owned())),
        );
    }
    aliases
}

/// The path of the type or trait that this text declares.
fn declared_type(text: &str) -> Option<&str> {
    let text = text.trim_start_matches("#[non_exhaustive] ");
    let rest = ["pub struct ", "pub enum ", "pub trait ", "pub union "]
        .into_iter()
        .find_map(|start| text.strip_prefix(start))?;
    rest.split(['<', '(', ':', ' ']).next().map(|first| {
        match rest[first.len()..].starts_with("::") {
            false => first,
            true => {
                let end = path_end(rest);
                &rest[..end]
            }
        }
    })
}

/// The length of the path at the beginning of a text.
fn path_end(text: &str) -> usize {
    let end = text
        .find(|it: char| !(it.is_alphanumeric() || matches!(it, '_' | ':')))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(':').len()
}

struct Impl {
    /// Such as `Send for tokio::sync::Mutex<T>`.
    what: String,
    names: Vec<String>,
    bounds: Bounds,
}

/// Takes the text after `impl` apart.
fn impl_parts(rest: &str) -> Impl {
    let mut bounds = Bounds::default();
    let (names, rest) = match bracket(rest) {
        Some((list, rest)) => (bounds.add_parameters(list), rest),
        None => (Vec::new(), rest),
    };
    let (what, clause) = rest.split_once(" where ").unwrap_or((rest, ""));
    bounds.add_where(clause);
    Impl {
        what: what.trim().to_owned(),
        names,
        bounds,
    }
}

impl Items {
    pub(crate) fn has_type(&self, path: &str) -> bool {
        ["struct", "enum", "union", "trait"]
            .iter()
            .any(|kind| self.items.contains_key(&format!("{kind} {path}")))
    }

    fn add_impl(&mut self, found: Impl) {
        let Impl {
            what,
            mut names,
            mut bounds,
        } = found;
        let Some((of, target)) = what.split_once(" for ") else {
            return;
        };
        let name_of = of.split('<').next().unwrap_or_default();
        let name_of = name_of.rsplit("::").next().unwrap_or_default();
        if IGNORED.contains(&name_of.trim_start_matches('!')) {
            return;
        }
        // The parameters in the order in which the type has them.
        let place = |name: &String| {
            let mut found = usize::MAX;
            let mut at = 0;
            words(target, |word| {
                at += 1;
                if word == name {
                    found = found.min(at);
                }
                None
            });
            found
        };
        names.sort_by_key(place);
        bounds.rename(&names);
        let target = rename(target, &names);
        let negative = if of.starts_with('!') { "!" } else { "" };
        let arguments = rename(&of[of.find('<').unwrap_or(of.len())..], &names);
        let key = format!("impl {negative}{name_of}{arguments} for {target}");
        self.impls.entry(key).or_default().push(bounds);
    }

    fn add_item(&mut self, text: &str, outer: Option<Impl>, public: &HashSet<&str>) {
        let (mut names, mut bounds) = match &outer {
            Some(outer) => (outer.names.clone(), {
                let mut bounds = Bounds::default();
                bounds.extend(&outer.bounds);
                bounds
            }),
            None => Default::default(),
        };
        let (text, clause) = text.split_once(" where ").unwrap_or((text, ""));
        // `pub const fn PATH`: the words before the path.
        let mut kind = String::new();
        let mut rest = text;
        while let Some((word, after)) = rest.split_once(' ') {
            let is_kind = word.starts_with("#[") || word.bytes().all(|it| it.is_ascii_lowercase());
            if !is_kind {
                break;
            }
            kind += word;
            kind.push(' ');
            rest = after;
        }
        // The path, without the arguments of the types in it.
        let mut path = String::new();
        let own_type = outer.map(|outer| outer.what);
        if let Some(after) = own_type.as_deref().and_then(|own| rest.strip_prefix(own)) {
            path = own_type.as_deref().unwrap_or_default().to_owned();
            path.truncate(path.find('<').unwrap_or(path.len()));
            rest = after;
        }
        let is_function = kind.ends_with("fn ");
        loop {
            let word = rest
                .find(|it: char| !(it.is_alphanumeric() || matches!(it, '_' | ':' | '!')))
                .unwrap_or(rest.len());
            let word = rest[..word].strip_suffix(':').map_or(word, str::len);
            path += &rest[..word];
            rest = &rest[word..];
            match bracket(rest) {
                Some((list, after)) if rest.starts_with('<') => {
                    names.extend(bounds.add_parameters(list));
                    rest = after;
                    if !rest.starts_with("::") {
                        break;
                    }
                }
                _ => break,
            }
        }
        bounds.add_where(clause);
        let mut signature = match own_type {
            Some(own) => rest.replace(&own, "Self"),
            None => rest.to_owned(),
        };
        if !is_function {
            // The private fields of a tuple.
            let is_private = bracket(rest)
                .is_some_and(|(fields, _)| split(fields, ',').iter().all(|field| *field == "_"));
            if is_private {
                signature.clear();
            }
        }
        let signature = hide_private(&rename(&signature, &names), public);
        bounds.rename(&names);
        let key = format!(
            "{}{path}",
            kind.replace("pub ", "").replace("#[non_exhaustive] ", "")
        );
        let key = key
            .replace("const fn", "fn")
            .replace("async fn", "fn")
            .replace("unsafe fn", "fn");
        let signature = format!("{kind}{path}{signature}");
        self.items.insert(key, Item { signature, bounds });
    }
}

/// Replaces types that a user cannot name.
fn hide_private(signature: &str, public: &HashSet<&str>) -> String {
    let mut hidden = String::new();
    // A type of a private module whose path rustdoc does not know.
    let signature = words(signature, |word| {
        let is_type = !word.contains("::") && word.starts_with(|it: char| it.is_ascii_uppercase());
        let is_known = word == "Self" || word == "Output";
        (is_type && !is_known).then(|| "tokio::".to_owned() + word)
    });
    let mut rest = signature.as_str();
    loop {
        let Some(start) = rest.find("tokio::") else {
            return hidden + rest;
        };
        hidden += &rest[..start];
        rest = &rest[start..];
        let end = path_end(rest);
        if public.contains(&rest[..end]) {
            hidden += &rest[..end];
            rest = &rest[end..];
        } else {
            hidden += "(private)";
            rest = &rest[end..];
            if rest.starts_with('<') {
                rest = bracket(rest).map_or("", |(_, after)| after);
            }
        }
    }
}
