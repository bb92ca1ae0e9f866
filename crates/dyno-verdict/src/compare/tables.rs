//! Differences between the tables of two sides, by column, index and option.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::catalogue::names;
use dyno_core::db::Family;
use dyno_core::tables::{
    TableGroup, follows_from_engine, groups, names_in, natural, ranges, without_number,
};

use crate::compare::Difference;
use crate::compare::differences::joined;
use crate::view::View;

pub(super) const TABLE: &str = "table ";
/// Parts of a definition that decide the cost of a crash.
const DECIDING: [&str; 2] = ["ENGINE", "persistence"];
/// The largest number of tables per run, more than observers read.
const TABLES_MAX: usize = 5_000;

#[derive(Default)]
struct Side {
    tables: BTreeMap<String, Table>,
    digests: BTreeSet<String>,
    /// Existing tables that its runs did not use.
    unused: BTreeSet<String>,
    is_read: bool,
    is_partial: bool,
}

#[derive(Default)]
struct Table {
    digests: BTreeSet<String>,
    /// The values of each part of the definition in all runs.
    parts: BTreeMap<String, BTreeSet<String>>,
}

/// A difference: part, base, new.
type Change = (String, String, String);

/// One line for all tables with the same differences.
pub(super) fn differences(base: &[View], new: &[View]) -> Vec<Difference> {
    let families: BTreeSet<Option<&str>> = base
        .iter()
        .chain(new)
        .map(|view| view.family().map(Family::name))
        .collect();
    // Definitions in two SQL dialects have no words in common.
    let is_coarse = families.len() > 1;
    let (base, new) = (side(base, is_coarse), side(new, is_coarse));
    if !base.is_read || !new.is_read {
        return Vec::new();
    }
    let names: BTreeSet<&String> = base.tables.keys().chain(new.tables.keys()).collect();
    let mut found: BTreeMap<Change, Vec<String>> = BTreeMap::new();
    for name in names {
        for difference in of_table(name, &base, &new) {
            found.entry(difference).or_default().push(name.clone());
        }
    }
    let mut lines: Vec<(Change, Vec<String>)> = found.into_iter().collect();
    lines.sort_by_cached_key(|(_, names)| natural(&names[0]));
    lines.into_iter().map(line).collect()
}

/// Whether a difference of tables decides the cost of a crash.
pub(super) fn decides(what: &str) -> bool {
    let last = what.rsplit(' ').next().unwrap_or_default();
    what.starts_with(TABLE) && DECIDING.contains(&last)
}

pub(super) fn are_read(views: &[View]) -> bool {
    views
        .iter()
        .all(|view| view.run.fact(names::DB_TABLES).is_some())
}

fn side(views: &[View], is_coarse: bool) -> Side {
    let mut side = Side::default();
    for view in views {
        let groups = groups(&view.run.facts);
        side.is_read |= !groups.is_empty();
        side.is_partial |= view.run.fact(names::DB_TABLES) != view.run.fact(names::DB_TABLES_READ);
        for group in groups.iter().filter(|group| !group.counts()) {
            let names = names_in(&group.names).into_iter();
            side.unused.extend(names.take(TABLES_MAX));
        }
        for group in groups.iter().filter(|group| group.counts()) {
            let parts = parts(group, is_coarse);
            side.digests.insert(group.sha256.clone());
            for name in names_in(&group.names) {
                if side.tables.len() >= TABLES_MAX && !side.tables.contains_key(&name) {
                    break;
                }
                let table = side.tables.entry(name).or_default();
                table.digests.insert(group.sha256.clone());
                for (what, text) in &parts {
                    let known = table.parts.entry(what.clone()).or_default();
                    known.insert(text.clone());
                }
            }
        }
    }
    side
}

fn parts(group: &TableGroup, is_coarse: bool) -> Vec<(String, String)> {
    let mut parts = match is_coarse {
        true => Vec::new(),
        false => group.general_elements(),
    };
    let mut add = |what: &str, text: Option<String>| {
        parts.extend(text.map(|text| (what.to_owned(), text)));
    };
    if is_coarse {
        add("indexes", group.indexes.map(|count| count.to_string()));
        let answer = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        add("primary key", group.primary_key.map(answer));
    }
    let analysed = group.analysed.map(|count| match count {
        0 => "not analysed".to_owned(),
        count if count >= group.tables => "analysed".to_owned(),
        count => format!("{count} of {} analysed", group.tables),
    });
    add("statistics", analysed);
    parts
}

fn of_table(name: &str, base: &Side, new: &Side) -> Vec<Change> {
    let is_unlike = |table: &Table, other: &Side| {
        // The number of tables with the same definition is an option of the run.
        !table
            .digests
            .iter()
            .all(|digest| other.digests.contains(digest))
    };
    let only = |base: &str, new: &str| vec![(String::new(), base.to_owned(), new.to_owned())];
    let (one, other) = match (base.tables.get(name), new.tables.get(name)) {
        (Some(one), Some(other)) => (one, other),
        _ if base.unused.contains(name) || new.unused.contains(name) => return Vec::new(),
        (Some(one), None) if !new.is_partial && is_unlike(one, new) => {
            return only("there", "(not there)");
        }
        (None, Some(other)) if !base.is_partial && is_unlike(other, base) => {
            return only("(not there)", "there");
        }
        _ => return Vec::new(),
    };
    if one.digests == other.digests && one.parts == other.parts {
        return Vec::new();
    }
    let absent = BTreeSet::new();
    let whats: BTreeSet<&String> = one.parts.keys().chain(other.parts.keys()).collect();
    let values = |what: &str| {
        let of = |table: &'_ Table| table.parts.get(what).unwrap_or(&absent).clone();
        (of(one), of(other))
    };
    let (engine, other_engine) = values("ENGINE");
    let mut found = Vec::new();
    for what in whats {
        let (base, new) = values(what);
        // Not every server reports its statistics.
        let is_known = what != "statistics" || (!base.is_empty() && !new.is_empty());
        let follows = engine != other_engine && follows_from_engine(what);
        if base != new && is_known && !follows {
            found.push((what.clone(), joined(&base), joined(&new)));
        }
    }
    found
}

fn line(((what, base, new), names): (Change, Vec<String>)) -> Difference {
    let number = match names.as_slice() {
        [name] => without_number(name).1,
        _ => "",
    };
    // A single table gets its number back.
    let own = |text: &str| match number {
        "" => text.to_owned(),
        number => text.replace('#', number),
    };
    let what = format!("{TABLE}{} {}", ranges(&names), own(&what));
    Difference {
        what: what.trim_end().to_owned(),
        base: own(&base),
        new: own(&new),
        intended: false,
        unrecorded: false,
    }
}
