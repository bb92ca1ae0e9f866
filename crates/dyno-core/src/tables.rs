//! The tables that a run used, as facts: `db.table[sbtest1].definition` and the like.
//!
//! Tables that are the same but for the number at the end of their names share one set of facts,
//! under the first and the last of them: `db.table[sbtest1..sbtest10].definition`.

mod elements;
mod names;
mod places;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Fact;

pub use elements::{elements, follows_from_engine};
pub use names::{general, names_in, natural, ranges, without_number};
pub use places::{directory_of, places, tablespace, tablespace_of};

/// What the names of these facts begin with.
pub const TABLE: &str = "db.table[";
/// The fact that says how many tables there are.
pub const TABLES: &str = "db.tables";
/// The fact that says how many of them were read.
pub const TABLES_READ: &str = "db.tables.read";

/// The prefix of a setting that says how a table is stored, if that changed by the end of the run:
/// `storage of table sbtest1`.
pub const STORAGE_OF: &str = "storage of table ";

/// Tables of one definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableGroup {
    /// `sbtest1`, or the first and the last: `sbtest1..sbtest10`.
    pub label: String,
    /// All of them: `sbtest1..sbtest3, sbtest7`. See [`names_in`].
    pub names: String,
    /// How many they are.
    pub tables: u32,
    /// The first one's definition as the server gives it, without where its counters stand.
    pub definition: String,
    /// SHA-256 of the definition without the table's number, hexadecimal.
    pub sha256: String,
    /// The storage engine or the access method; `None` where there is but one.
    pub engine: Option<String>,
    /// PostgreSQL: `permanent`, `unlogged` or `temporary`.
    pub persistence: Option<String>,
    /// Whether it has a primary key; `None` where it is not known.
    pub primary_key: Option<bool>,
    /// How many indexes each has, the primary key's included.
    pub indexes: Option<u32>,
    /// Of how many tables the server has statistics for its planner; `None` where it does not say.
    pub analysed: Option<u32>,
    /// Whether a statement of the run named one of them; `None` where that is not known.
    pub used: Option<bool>,
}

impl TableGroup {
    /// Whether the run may have used them.
    pub fn counts(&self) -> bool {
        self.used != Some(false)
    }

    /// The parts of the definition, with `#` for the tables' own number.
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
            .map(|(what, says)| (general(what), general(says)))
            .collect()
    }

    /// The table whose definition stands for all of them.
    pub fn first_name(&self) -> String {
        let mut names = names_in(&self.names).into_iter();
        names.next().unwrap_or_else(|| self.label.clone())
    }

    /// The fact of this name of these tables.
    pub fn fact_name(label: &str, what: &str) -> String {
        format!("{TABLE}{label}].{what}")
    }
}

/// The tables that facts tell of, in the order of their names.
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

/// The tables and the fact's own name in the name of a fact.
pub fn label_of(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(TABLE)?.rsplit_once("].")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, value: &str) -> Fact {
        Fact {
            name: name.to_owned(),
            value: value.to_owned(),
            source: "SHOW CREATE TABLE".to_owned(),
        }
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
