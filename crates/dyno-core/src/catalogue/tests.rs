//! Checks the rows, the code that uses them, and `docs/observers.md`.

use std::collections::BTreeSet;
use std::fs;

use super::*;
use crate::counters::{self, guide};

/// Sources that contain dotted names of other kinds (OpenTelemetry attributes, factors, files), and
/// the tables themselves.
const OTHER_NAMES: [&str; 7] = [
    "dyno-core/src/catalogue",
    "dyno-core/src/counters",
    "dyno-fleet",
    "dyno-lab",
    "dyno-metrics",
    "dyno-samples",
    "dyno-server",
];

/// The constant of a name: `host.disk[…].reads` is `HOST_DISK_READS`. A family that ends with the
/// variable part has `_EACH` there.
fn constant(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let each = if name.ends_with(['…', ']']) && name.contains('…') {
        "_EACH"
    } else {
        ""
    };
    words.join("_").to_uppercase() + each
}

#[test]
fn constants_are_named_like_their_values() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert_eq!(row.constant, constant(row.name), "{}", row.name);
        assert!(seen.insert(row.name), "{} twice", row.name);
    }
}

#[test]
fn each_row_has_the_fields_of_its_kind() {
    for row in rows() {
        let is_family = row.name.contains('…');
        let is_described = !row.meaning.is_empty() && !row.source.is_empty();
        let complete = match row.kind {
            Kind::Gauge | Kind::Rate => is_described && !row.unit.is_empty(),
            Kind::Fact => is_described && row.unit.is_empty(),
            Kind::Counter => is_family || counters::of(row.name).is_some(),
            Kind::Scope => true,
        };
        assert!(complete, "{row:?}");
    }
}

#[test]
fn families_make_and_match_names() {
    let reads = names::HOST_DISK_READS;
    assert_eq!(reads.of("vda"), "host.disk[vda].reads");
    assert_eq!(reads.part("host.disk[vda].reads"), Some("vda"));
    assert_eq!(reads.part("host.disk[vda].read_bytes"), None);
    assert_eq!(names::DB_STATUS_EACH.of("questions"), "db.status.questions");
}

/// Whether a text has the form of a name in a scope without other names.
fn is_formed(text: &str) -> bool {
    let scopes = ["client.", "data.", "db.", "host.", "import.", "observer."];
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let word = |word: &str| !word.is_empty() && word.bytes().all(allowed);
    scopes.iter().any(|scope| text.starts_with(scope)) && text.split('.').all(word)
}

#[test]
fn code_does_not_repeat_names_of_the_catalogue() {
    let known: BTreeSet<&str> = rows().map(|row| row.name).collect();
    let mut found = BTreeSet::new();
    for source in guide::sources("") {
        if OTHER_NAMES
            .iter()
            .any(|other| source.path.starts_with(other))
        {
            continue;
        }
        let lines = source.text.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with("//")) {
            let names = line
                .split('"')
                .skip(1)
                .filter(|text| known.contains(text) || is_formed(text));
            found.extend(names.map(|name| format!("{name} in {}", source.path.display())));
        }
    }
    // `client.cnf` is a file name.
    found.retain(|name| !name.starts_with("client.cnf "));
    assert!(
        found.is_empty(),
        "use the constants of dyno_core::catalogue: {found:#?}"
    );
}

fn series<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut text = "| series | unit | meaning | source |\n|---|---|---|---|\n".to_owned();
    for row in rows.filter(|row| !matches!(row.kind, Kind::Fact | Kind::Scope)) {
        let (name, unit, meaning, source) = (row.name, row.unit, row.meaning, row.source);
        text += &format!("| `{name}` | {unit} | {meaning} | {source} |\n");
    }
    text
}

fn facts() -> String {
    let mut text = "| fact | content | source |\n|---|---|---|\n".to_owned();
    for row in rows().filter(|row| row.kind == Kind::Fact) {
        text += &format!("| `{}` | {} | {} |\n", row.name, row.meaning, row.source);
    }
    text
}

/// `DYNO_WRITE_GUIDE=1` rewrites the tables.
#[test]
fn the_guide_has_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observers.md");
    let before = fs::read_to_string(path).unwrap();
    let mut after = before.clone();
    for (heading, table) in [
        ("### Host", series(host::ROWS.iter())),
        ("### Dyno itself", series(client::ROWS.iter())),
        ("### The server's process", series(server::ROWS.iter())),
        ("### Imported logs", series(imported::ROWS.iter())),
        ("## Databases", series(database::ROWS.iter())),
        ("### What one count is", guide::table()),
        ("## Facts", facts()),
    ] {
        let start = after.find(&format!("\n{heading}\n")).unwrap();
        let at = start + after[start..].find("\n| ").unwrap() + 1;
        let end = at + after[at..].find("\n\n").unwrap() + 1;
        after.replace_range(at..end, &table);
    }
    if std::env::var_os("DYNO_WRITE_GUIDE").is_some() {
        fs::write(path, after).unwrap();
        return;
    }
    assert!(
        after == before,
        "docs/observers.md has different tables (DYNO_WRITE_GUIDE=1 updates them)"
    );
}
