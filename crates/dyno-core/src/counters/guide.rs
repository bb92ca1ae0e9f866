//! The table of counters of `docs/observers.md`, with the code that uses them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::catalogue;

/// Code that uses series by name, and its name in the guide.
const USERS: [(&str, &str); 6] = [
    ("dyno-verdict/src/costs.rs", "costs"),
    ("dyno-verdict/src/advice", "advice"),
    ("dyno-verdict/src/compare", "comparison"),
    ("dyno-verdict/src/time", "causes"),
    ("dyno-verdict/src", "checks"),
    ("dyno-report/src", "report"),
];
/// Code that uses the server's own names.
const TOP: &str = "dyno-top/src/sources";

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// Without unit tests.
    pub(crate) text: String,
    /// The series of databases that it names.
    names: Vec<&'static str>,
}

/// The sources below a folder, without tests.
pub(crate) fn sources(below: &str) -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut open = vec![crates.join(below)];
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "samples" && name != "tests" {
            let entries = fs::read_dir(&path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "samples.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let end = text.find("\n#[cfg(test)]\nmod tests {");
            let text = text[..end.unwrap_or(text.len())].to_owned();
            let path = path.strip_prefix(&crates).unwrap().to_owned();
            let names = named(&text);
            found.push(Source { path, text, names });
        }
    }
    found
}

/// The series of databases in a source, or what the names of a family begin with.
fn named(text: &str) -> Vec<&'static str> {
    let constants = text.split("names::").skip(1).filter_map(|text| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let row = catalogue::rows().find(|row| row.constant == &text[..end])?;
        row.name.split('…').next()
    });
    constants.filter(|name| name.starts_with("db.")).collect()
}

fn users() -> Vec<(&'static str, Vec<Source>)> {
    let mut seen = BTreeSet::new();
    let each = USERS.iter().map(|(below, who)| {
        let mut of_it = sources(below);
        of_it.retain(|source| seen.insert(source.path.clone()));
        (*who, of_it)
    });
    each.collect()
}

/// Whether a text contains a word, or a word with that prefix.
fn has_word(text: &str, word: &str, beginning: bool) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        !text[..at].ends_with(part) && (beginning || !after.starts_with(part))
    })
}

fn used(counter: &Counter, users: &[(&str, Vec<Source>)], top: &[Source]) -> String {
    let uses = |name: &&str| {
        counter.matches(name) && of(name).map(|one| one.series) == Some(counter.series)
    };
    let mut who: Vec<&str> = users
        .iter()
        .filter(|(_, sources)| (sources.iter()).any(|source| source.names.iter().any(uses)))
        .map(|(who, _)| *who)
        .collect();
    let own = counter.source.rsplit('.').next().unwrap_or_default();
    let bare = own.trim_end_matches('…');
    if top
        .iter()
        .any(|source| has_word(&source.text, bare, bare != own))
    {
        who.push("top");
    }
    match who.is_empty() {
        true => "–".to_owned(),
        false => who.join(", "),
    }
}

/// The table of counters.
pub(crate) fn table() -> String {
    let (users, top) = (users(), sources(TOP));
    let mut text = "| series | server's name | on | unit | one count | reset by | used by |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for counter in all() {
        let on: Vec<String> = counter.on.iter().map(Span::to_string).collect();
        let unit = match counter.class {
            Class::Ignored => "left out",
            Class::Gauge(unit) => unit,
            Class::Rate("ratio", _) => "s/s",
            Class::Rate(unit, _) => unit,
        };
        let note = match counter.remark {
            "" => String::new(),
            remark => format!(": {remark}"),
        };
        text += &format!(
            "| `{}` | `{}` | {} | {unit} | {}{note} | {} | {} |\n",
            counter.series.replace('*', "…"),
            counter.source,
            on.join(", "),
            counter.counts.words(),
            counter.reset.words(),
            used(counter, &users, &top),
        );
    }
    text
}
