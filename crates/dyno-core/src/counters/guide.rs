//! Checks `docs/observers.md` and the code that uses counters against the table.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

const GUIDE: &str = include_str!("../../../../docs/observers.md");
const HEADING: &str = "\n### What one count is\n\n";

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

/// Series that are not server counters: the observer's, sizes on disk, SQLite's, and a scope.
const OTHERS: [&str; 10] = [
    "db.checkpointer",
    "db.page_cache.hits",
    "db.page_cache.misses",
    "db.up",
    "db.uptime",
    "db.round_trip",
    "db.other_sessions",
    "db.other_sessions_active",
    "db.replication.running",
    "db.wal.size",
];

struct Source {
    path: PathBuf,
    text: String,
}

fn sources(below: &str) -> Vec<Source> {
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
            found.push(Source { path, text });
        }
    }
    found
}

/// The names of series in a source, as they are written there.
fn named(source: &Source) -> impl Iterator<Item = &str> {
    let starts = source.text.match_indices("\"db.");
    starts.filter_map(|(at, _)| source.text[at + 1..].split('"').next())
}

/// Whether it is the complete name of a series, not of a fact.
fn is_series(name: &str) -> bool {
    let fact = ["db.table", "db.file"]
        .iter()
        .any(|fact| name.starts_with(fact));
    let fact = fact && of(name).is_none();
    !fact && !OTHERS.contains(&name) && !name.ends_with(['.', '_', '[']) && !name.contains('{')
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

#[test]
fn every_series_that_is_used_is_in_the_table() {
    let mut missing = BTreeSet::new();
    for source in users().iter().flat_map(|(_, sources)| sources) {
        let names = named(source).filter(|name| is_series(name) && of(name).is_none());
        let path = source.path.display();
        missing.extend(names.map(|name| format!("{name} of {path}")));
    }
    assert!(missing.is_empty(), "not in the table: {missing:#?}");
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
    let uses = |name: &str| {
        counter.matches(name) && of(name).map(|one| one.series) == Some(counter.series)
    };
    let mut who: Vec<&str> = users
        .iter()
        .filter(|(_, sources)| (sources.iter()).any(|source| named(source).any(uses)))
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

fn table() -> String {
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

/// `DYNO_WRITE_GUIDE=1` rewrites the table.
#[test]
fn the_guide_has_the_table_of_counters() {
    let start = GUIDE.find(HEADING).unwrap() + HEADING.len();
    let at = start + GUIDE[start..].find("| series |").unwrap_or(0);
    let end = at + GUIDE[at..].find("\n\n").unwrap() + 1;
    let expected = table();
    if std::env::var_os("DYNO_WRITE_GUIDE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observers.md");
        let guide = format!("{}{expected}{}", &GUIDE[..at], &GUIDE[end..]);
        fs::write(path, guide).unwrap();
        return;
    }
    assert!(
        GUIDE[at..end] == expected,
        "docs/observers.md has a different table of counters (DYNO_WRITE_GUIDE=1 updates it)"
    );
}
