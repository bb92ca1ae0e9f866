//! Where the data is kept: no setting makes a table last that lies in memory, or whose engine knows
//! no log.

use dyno_core::record::Fact;
use dyno_core::tables::{TABLES, TableGroup, groups};

use super::Class;
use crate::view::View;

/// Storage engines, in lower case, which promise less than the settings say, and why.
const ENGINES: [(&str, Class, &str); 9] = [
    ("memory", Class::Emptied, "keeps rows in memory alone"),
    ("blackhole", Class::Emptied, "keeps nothing"),
    (
        "myisam",
        Class::Damaged,
        "has no log, so that a crash leaves tables to be repaired",
    ),
    (
        "mrg_myisam",
        Class::Damaged,
        "has no log, so that a crash leaves tables to be repaired",
    ),
    ("csv", Class::Damaged, "has no log"),
    ("archive", Class::Damaged, "has no log"),
    (
        "aria (not transactional)",
        Class::Damaged,
        "has no log with TRANSACTIONAL = 0, so that a crash leaves tables to be repaired",
    ),
    (
        "aria",
        Class::Statement,
        "survives a crash, but has no transactions, so that each statement counts for itself",
    ),
    ("federated", Class::Statement, "leaves it to another server"),
];

/// File systems without a disk.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// Whose lower layers are not known.
const LAYERED: [&str; 2] = ["overlay", "overlayfs"];

/// Facts about tables of other schemas that the run used, by their engine or persistence.
const ELSEWHERE: &str = "db.tables.used_elsewhere[";

/// What promises less than the settings, and how much that is.
pub(super) fn weaker(view: &View) -> Vec<(Class, String)> {
    let mut found: Vec<(Class, String)> = own(view).iter().filter_map(of_table).collect();
    found.extend(elsewhere(view).iter().filter_map(of_table));
    found.extend(places(|name| view.run.fact(name)));
    if view.run.fact("client.statements.changes_temporary_only") == Some("yes") {
        let names = temporary(view).unwrap_or_default();
        let why = format!("statements change temporary tables alone ({names})");
        found.push((Class::Emptied, why));
    }
    found
}

/// Names of temporary tables that statements change.
fn temporary<'a>(view: &View<'a>) -> Option<&'a str> {
    view.run.fact("client.statements.temporary_tables")
}

/// Tables that the run used, or may have: none where its statements are known and name none.
fn own(view: &View) -> Vec<TableGroup> {
    if names_none(view) {
        return Vec::new();
    }
    let mut groups = groups(&view.run.facts);
    groups.retain(TableGroup::counts);
    groups
}

fn names_none(view: &View) -> bool {
    view.run.fact("db.tables.named") == Some("0")
}

fn elsewhere(view: &View) -> Vec<TableGroup> {
    let facts = view.run.facts.iter();
    let group = |fact: &Fact| {
        let kind = fact.name.strip_prefix(ELSEWHERE)?.strip_suffix(']')?;
        Some(TableGroup {
            label: fact.value.clone(),
            engine: Some(kind.to_owned()),
            persistence: Some(kind.to_owned()),
            ..TableGroup::default()
        })
    };
    facts.filter_map(group).collect()
}

/// Places in memory, by facts.
pub(super) fn places<'a>(fact: impl Fn(&str) -> Option<&'a str>) -> Vec<(Class, String)> {
    let mut found = Vec::new();
    for (place, class) in [("data", Class::Host), ("data.redo", Class::Damaged)] {
        let kind = fact(&format!("{place}.filesystem.type"));
        if let Some(kind) = kind.filter(|kind| IN_MEMORY.contains(kind)) {
            let what = match class {
                Class::Host => "the data lies",
                _ => "the log lies",
            };
            found.push((class, format!("{what} on {kind}, which is memory")));
        }
    }
    found
}

/// The file system that the data is on, and which tables are not known.
pub(super) fn said(view: &View) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(kind) = view.run.fact("data.filesystem.type") {
        said.push(match LAYERED.contains(&kind) {
            true => format!("data on {kind}, a container's layer"),
            false => format!("data on {kind}"),
        });
    }
    if view.totals().writes > 0 {
        said.extend(unknown(view));
    }
    said.extend(temporary(view).map(|names| format!("temporary tables are changed: {names}")));
    said
}

/// What nobody knows of the tables that were written to.
fn unknown(view: &View) -> Vec<String> {
    let mut unknown = Vec::new();
    let is_guess = |group: &TableGroup| group.used.is_none() && of_table(group).is_some();
    let gap = view.run.not_observed(TABLES);
    if let Some(why) = gap.filter(|_| groups(&view.run.facts).is_empty()) {
        unknown.push(format!("no table was looked at: {why}"));
    } else if names_none(view) {
        unknown.push("no statement names a table that was looked at".to_owned());
    } else if own(view).iter().any(is_guess) {
        unknown.push("which tables the run used is not known".to_owned());
    }
    let unseen = view.run.fact("db.tables.unseen");
    unknown.extend(unseen.map(|unseen| format!("not looked at: {unseen}")));
    unknown
}

fn of_table(group: &TableGroup) -> Option<(Class, String)> {
    let names = &group.label;
    match group.persistence.as_deref() {
        Some("unlogged") => {
            let of = match has_such_partitions(group) {
                true => "has partitions that are UNLOGGED",
                false => "is UNLOGGED",
            };
            let why = format!("{names} {of}, so that a crash of the server empties it");
            return Some((Class::Emptied, why));
        }
        Some("temporary") => return Some((Class::Emptied, format!("{names} is temporary"))),
        _ => {}
    }
    let engine = group.engine.as_deref()?;
    let known = ENGINES
        .iter()
        .find(|(name, ..)| engine.eq_ignore_ascii_case(name));
    known.map(|(_, class, why)| (*class, format!("the engine {engine} of {names} {why}")))
}

/// Whether it is partitions that are: a partitioned table has no rows of its own.
fn has_such_partitions(group: &TableGroup) -> bool {
    let mut lines = group.definition.lines();
    lines.any(|line| line.starts_with("partition ") && line.contains(" UNLOGGED"))
}
