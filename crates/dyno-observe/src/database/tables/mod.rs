//! The definitions of the tables in the target's database, and the planner's statistics on them.
//! Read once before the load, with few queries however many tables there are.

mod mysql;
mod postgres;
mod sqlite;
mod uses;

use std::collections::BTreeMap;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::db::DbError;
use dyno_core::tables::{
    STORAGE_OF, TableGroup, elements, general, natural, ranges, without_number,
};
use dyno_core::text::hex;
use sha2::{Digest, Sha256};

use super::{Asking, pairs};
use crate::sink::Sink;

pub(super) use mysql::{report as of_mysql, stores as stores_of_mysql};
pub(super) use postgres::{STORES as STORES_OF_POSTGRES, report as of_postgres};
pub(super) use sqlite::report as of_sqlite;

/// Maximum number of names requested; one more shows whether there are others.
const LISTED_MAX: usize = 1_000;
/// Maximum number of tables read in full.
const READ_MAX: usize = 300;
/// The timeout for listing the tables.
const LISTING: Duration = Duration::from_millis(500);
/// The timeout for reading all of them: the rest stays unread. Their order is the same in each run.
const READING: Duration = Duration::from_secs(1);
/// The longest definition kept, in bytes.
const DEFINITION_BYTES_MAX: usize = 16 * 1024;

/// Maximum number of tables whose storage is compared at the end.
const STORES_MAX: usize = 300;

/// The storage of tables, by name: the engine, or the persistence.
#[derive(Default)]
pub(super) struct Stores(BTreeMap<String, String>);

impl Stores {
    /// The tables' storage before the load; empty if there are too many to compare at the end.
    fn of(listed: &Listed, tables: &[Table]) -> Self {
        if listed
            .total
            .parse()
            .is_ok_and(|total: usize| total > STORES_MAX)
        {
            return Self::default();
        }
        let how = |table: &Table| {
            let how = table.persistence.or(table.engine.as_deref())?;
            Some((table.name.clone(), how.to_owned()))
        };
        Self(tables.iter().filter_map(how).collect())
    }

    /// Reports tables with another storage at the end as changed settings. `sql` returns names and
    /// storage.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) fn compare(&self, asking: &mut Asking<'_>, sql: &str) -> Result<(), DbError> {
        if self.0.is_empty() {
            return Ok(());
        }
        for (name, now) in pairs(asking.rows_or_gap(names::DB_TABLES_END, sql, "")?) {
            // The definition may be more specific than the catalog.
            let before = self.0.get(&name).filter(|before| !before.starts_with(&now));
            for (value, at_end) in before
                .into_iter()
                .flat_map(|old| [(old, false), (&now, true)])
            {
                asking.sink.send(crate::Observation::Setting {
                    name: format!("{STORAGE_OF}{name}"),
                    value: value.clone(),
                    at_end,
                });
            }
        }
        Ok(())
    }
}

/// A row of an answer.
type TextRow = Vec<Option<String>>;

/// A table as read.
#[derive(Default)]
struct Table {
    name: String,
    /// Without the position of its counters.
    definition: String,
    engine: Option<String>,
    persistence: Option<&'static str>,
    primary_key: Option<bool>,
    indexes: Option<usize>,
    /// Whether the planner has statistics on it, and since when.
    analysed: Option<bool>,
    analysed_at: Option<String>,
}

/// The names of the tables to read, and the total number.
struct Listed {
    names: Vec<String>,
    total: String,
}

impl Listed {
    fn of(mut names: Vec<String>) -> Self {
        let total = match names.len() > LISTED_MAX {
            true => format!("{LISTED_MAX} or more"),
            false => names.len().to_string(),
        };
        names.truncate(LISTED_MAX);
        Self {
            names: chosen(names, READ_MAX),
            total,
        }
    }
}

/// The deadline for reading.
fn deadline() -> Nanos {
    Clock.now() + READING.as_nanos() as Nanos
}

/// At most `most` names, the same ones whenever they exist: of names that differ only in a number,
/// a selection from first to last.
fn chosen(mut names: Vec<String>, most: usize) -> Vec<String> {
    names.sort_by_cached_key(|name| natural(name));
    if names.len() <= most {
        return names;
    }
    let mut stems: Vec<Vec<String>> = Vec::new();
    for name in names {
        let same = |others: &Vec<String>| without_number(&others[0]).0 == without_number(&name).0;
        match stems.last_mut().filter(|others| same(others)) {
            Some(others) => others.push(name),
            None => stems.push(vec![name]),
        }
    }
    let share = (most / stems.len()).max(1);
    let some = |names: Vec<String>| {
        let count = names.len().min(share);
        let last = names.len() - 1;
        let place = move |index: usize| index * last / (count - 1).max(1);
        (0..count).map(move |index| names[place(index)].clone())
    };
    stems.into_iter().flat_map(some).take(most).collect()
}

/// Reports the tables, with one set of facts for tables with the same definition.
fn report_tables(sink: &Sink, total: &str, tables: Vec<Table>, source: &str) {
    let read = tables.len().to_string();
    sink.fact(names::DB_TABLES, total, source);
    sink.fact(names::DB_TABLES_READ, read, source);
    let mut alike: BTreeMap<(String, String), Vec<Table>> = BTreeMap::new();
    for table in tables {
        let stem = without_number(&table.name).0.to_owned();
        alike
            .entry((stem, same_text(&table)))
            .or_default()
            .push(table);
    }
    for ((_, text), tables) in alike {
        report_group(sink, &text, tables, source);
    }
}

/// A table's definition without its own number.
fn same_text(table: &Table) -> String {
    let parts = elements(&table.definition);
    let names = parts.iter().filter_map(|(what, _)| {
        let (kind, name) = what.split_once(' ')?;
        matches!(kind, "index" | "constraint" | "trigger").then(|| name.to_owned())
    });
    let own: Vec<String> = names.collect();
    general(&table.name, &table.definition, &own)
}

fn report_group(sink: &Sink, text: &str, mut tables: Vec<Table>, source: &str) {
    tables.sort_by_cached_key(|table| natural(&table.name));
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    let (Some(first), Some(last)) = (tables.first(), names.last()) else {
        return;
    };
    let label = match names.len() {
        1 => first.name.clone(),
        _ => format!("{}..{last}", first.name),
    };
    let say = |what: &str, value: Option<String>| {
        if let Some(value) = value {
            let name = TableGroup::fact_name(&label, what);
            sink.fact(&name, value, source);
        }
    };
    say("definition", Some(bounded(&first.definition)));
    say("sha256", Some(hex(Sha256::digest(text))));
    say("names", (names.len() > 1).then(|| ranges(&names)));
    say("engine", first.engine.clone());
    say("persistence", first.persistence.map(str::to_owned));
    let answer = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    say("primary_key", first.primary_key.map(answer));
    say("indexes", first.indexes.map(|count| count.to_string()));
    let analysed: Option<Vec<bool>> = tables.iter().map(|table| table.analysed).collect();
    let analysed = analysed.map(|analysed| {
        let with = analysed.iter().filter(|analysed| **analysed).count();
        format!("{with} of {}", analysed.len())
    });
    say("analysed", analysed);
    let first_time = tables.iter().filter_map(|table| table.analysed_at.clone());
    say("analysed_at", first_time.min());
}

/// Shortens a definition, which with a million partitions would be very long.
fn bounded(definition: &str) -> String {
    if definition.len() <= DEFINITION_BYTES_MAX {
        return definition.to_owned();
    }
    let end = definition.floor_char_boundary(DEFINITION_BYTES_MAX);
    format!("{} …", &definition[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;

    fn names(stem: &str, count: usize) -> Vec<String> {
        (1..=count)
            .map(|number| format!("{stem}{number}"))
            .collect()
    }

    #[test]
    fn of_many_tables_the_same_some_are_chosen_each_time() {
        let mut all = names("sbtest", 990);
        all.extend(["history".to_owned(), "warehouse".to_owned()]);
        let some = chosen(all.clone(), 300);
        assert!(some.len() <= 300 && some.len() > 90, "{}", some.len());
        for name in ["history", "warehouse", "sbtest1", "sbtest990"] {
            assert!(some.iter().any(|chosen| chosen == name), "{name}");
        }
        all.reverse();
        assert_eq!(chosen(all, 300), some);
        assert_eq!(chosen(names("t", 5), 300), names("t", 5));
        let stems: Vec<String> = (0..400).map(|n| format!("t{n}_")).collect();
        assert_eq!(chosen(stems, 300).len(), 300);
    }

    #[test]
    fn a_thousand_tables_of_one_definition_are_one_set_of_facts() {
        let (sender, seen) = std::sync::mpsc::sync_channel(99);
        let table = |name: String| Table {
            definition: format!(
                "CREATE TABLE `{name}` (\n  `id` int,\n  KEY `k_{}` (`id`)\n) ENGINE=InnoDB \
                 CHARSET=latin1",
                &name[6..]
            ),
            engine: Some("InnoDB".to_owned()),
            analysed: Some(name != "sbtest7"),
            name,
            ..Table::default()
        };
        let tables = names("sbtest", 1_000).into_iter().map(table).collect();
        report_tables(&Sink::new(sender), "1000", tables, "SHOW CREATE TABLE");
        let facts: Vec<_> = seen
            .try_iter()
            .filter_map(|seen| match seen {
                Observation::Fact(fact) => Some(fact),
                _ => None,
            })
            .collect();
        let groups = dyno_core::tables::groups(&facts);
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(groups[0].label, "sbtest1..sbtest1000");
        assert_eq!((groups[0].tables, groups[0].analysed), (1_000, Some(999)));
        assert_eq!(groups[0].sha256.len(), 64);
        assert!(groups[0].definition.contains("`k_1`"));
    }

    #[test]
    fn a_long_definition_is_cut() {
        let cut = bounded(&"é".repeat(DEFINITION_BYTES_MAX));
        assert!(cut.len() <= DEFINITION_BYTES_MAX + 4 && cut.ends_with('…'));
    }
}
