//! Where the data is kept: no setting makes a table last that lies in memory, or whose engine knows
//! no log.

use dyno_core::tables::{TableGroup, groups};

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

/// What promises less than the settings, and how much that is.
pub(super) fn weaker(view: &View) -> Vec<(Class, String)> {
    let mut found: Vec<(Class, String)> = Vec::new();
    for group in groups(&view.run.facts)
        .iter()
        .filter(|group| group.counts())
    {
        found.extend(of_table(group));
    }
    found.extend(places(|name| view.run.fact(name)));
    found
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

/// The file system that the data is on, where that is worth a word.
pub(super) fn said(view: &View) -> Option<String> {
    let kind = view.run.fact("data.filesystem.type")?;
    match LAYERED.contains(&kind) {
        true => Some(format!("data on {kind}, a container's layer")),
        false => Some(format!("data on {kind}")),
    }
}

fn of_table(group: &TableGroup) -> Option<(Class, String)> {
    let names = &group.label;
    match group.persistence.as_deref() {
        Some("unlogged") => {
            let why = format!("{names} is UNLOGGED, so that a crash of the server empties it");
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
