//! The tables of a run, as facts: `db.table[sbtest1].definition` and the like.
//!
//! Tables that differ only in the number at the end of their names share one set of facts, under
//! the first and the last name: `db.table[sbtest1..sbtest10].definition`.

mod elements;
mod names;
mod places;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Fact;

pub use elements::{elements, follows_from_engine};
pub use names::{general, names_in, natural, ranges, without_number};
pub use places::{directory_of, places, tablespace, tablespace_of};

/// The prefix of these facts.
pub const TABLE: &str = crate::catalogue::names::DB_TABLE_EACH.before;
/// The prefix of a setting for a table's storage that changed during the run: `storage of table
/// sbtest1`.
pub const STORAGE_OF: &str = "storage of table ";

/// Tables with the same definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableGroup {
    /// `sbtest1`, or the first and the last: `sbtest1..sbtest10`.
    pub label: String,
    /// All of them: `sbtest1..sbtest3, sbtest7`. See [`names_in`].
    pub names: String,
    /// Number of tables.
    pub tables: u32,
    /// The first one's definition from the server, without counter values.
    pub definition: String,
    /// SHA-256 of the definition without the table's number, hexadecimal.
    pub sha256: String,
    /// The storage engine or the access method; `None` if there is only one.
    pub engine: Option<String>,
    /// PostgreSQL: `permanent`, `unlogged` or `temporary`.
    pub persistence: Option<String>,
    /// Whether it has a primary key; `None` if unknown.
    pub primary_key: Option<bool>,
    /// Number of indexes per table, including the primary key's.
    pub indexes: Option<u32>,
    /// Number of tables with planner statistics; `None` if the server does not report it.
    pub analysed: Option<u32>,
    /// Whether a statement of the run named one of them; `None` if unknown.
    pub used: Option<bool>,
}

impl TableGroup {
    /// Whether the run may have used them.
    pub fn counts(&self) -> bool {
        self.used != Some(false)
    }

    /// The parts of the definition, with `#` for the table's number.
    pub fn general_elements(&self) -> Vec<(String, String)> {
        let first = self.first_name();
        let parts = elements(&self.definition);
        let own: Vec<String> = parts
            .iter()
            .filter_map(|(what, _)| {
                let (kind, name) = what.split_once(' ')?;
                ["index", "constraint", "trigger"]
                    .contains(&kind)
                    .then(|| name.to_owned())
            })
            .collect();
        let general = |text: &str| general(&first, text, &own);
        let parts = parts.iter();
        parts
            .map(|(what, spec)| (general(what), general(spec)))
            .collect()
    }

    /// The table whose definition represents all of them.
    pub fn first_name(&self) -> String {
        let mut names = names_in(&self.names).into_iter();
        names.next().unwrap_or_else(|| self.label.clone())
    }

    /// The name of a fact about these tables.
    pub fn fact_name(label: &str, what: &str) -> String {
        format!("{TABLE}{label}].{what}")
    }
}

/// The table groups in the facts, sorted by name.
pub fn groups(facts: &[Fact]) -> Vec<TableGroup> {
    let mut found: BTreeMap<&str, TableGroup> = BTreeMap::new();
    for fact in facts {
        let Some((label, what)) = label_of(&fact.name) else {
            continue;
        };
        let group = found.entry(label).or_default();
        let value = || fact.value.clone();
        match what {
            "definition" => group.definition = value(),
            "sha256" => group.sha256 = value(),
            "names" => group.names = value(),
            "engine" => group.engine = Some(value()),
            "persistence" => group.persistence = Some(value()),
            "primary_key" => group.primary_key = Some(fact.value == "yes"),
            "indexes" => group.indexes = fact.value.parse().ok(),
            "analysed" => {
                group.analysed = fact.value.split(' ').next().and_then(|n| n.parse().ok())
            }
            "used" => group.used = Some(fact.value == "yes"),
            _ => {}
        }
    }
    let whole = |(label, mut group): (&str, TableGroup)| {
        group.label = label.to_owned();
        if group.names.is_empty() {
            group.names = ranges(std::slice::from_ref(&group.label));
        }
        group.tables = u32::try_from(names_in(&group.names).len()).unwrap_or(u32::MAX);
        group
    };
    let mut groups: Vec<TableGroup> = found.into_iter().map(whole).collect();
    groups.sort_by_cached_key(|group| natural(&group.label));
    groups
}

/// Splits the name of a fact into the tables and the fact's own name.
pub fn label_of(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(TABLE)?.rsplit_once("].")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, value: &str) -> Fact {
        Fact::new(name, value, "SHOW CREATE TABLE")
    }

    #[test]
    fn groups_come_back_from_their_facts() {
        let facts = [
            fact("host.name", "here"),
            fact("db.tables", "11"),
            fact("db.table[odd].name].definition", "CREATE TABLE"),
            fact(
                "db.table[sbtest2..sbtest10].names",
                "sbtest2..sbtest4, sbtest10",
            ),
            fact("db.table[sbtest2..sbtest10].engine", "InnoDB"),
            fact("db.table[sbtest2..sbtest10].analysed", "3 of 4"),
            fact("db.table[sbtest2..sbtest10].primary_key", "no"),
            fact("db.table[sbtest2..sbtest10].indexes", "2"),
            fact("db.table[sbtest2..sbtest10].used", "no"),
        ];
        let found = groups(&facts);
        let labels: Vec<&str> = found.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(labels, ["odd].name", "sbtest2..sbtest10"]);
        assert_eq!((found[0].tables, found[0].analysed), (1, None));
        assert!(found[0].counts() && !found[1].counts());
        let seen = &found[1];
        assert_eq!(
            (seen.tables, seen.analysed, seen.indexes),
            (4, Some(3), Some(2))
        );
        assert_eq!(seen.primary_key, Some(false));
    }
}
