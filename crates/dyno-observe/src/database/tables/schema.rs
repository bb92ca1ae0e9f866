//! Columns and indexes of tables, compared before and after the load.

use std::collections::BTreeMap;

use dyno_core::catalogue::names;
use dyno_core::db::DbError;

use super::super::{is_lost, refusal};
use super::{Asking, Stores};

/// The most columns and indexes compared; one more shows whether there are others.
pub(super) const ROWS_MAX: usize = 5_000;
/// The most changed tables reported.
const CHANGED_MAX: usize = 20;
/// The most changes reported of a table.
const NAMED_MAX: usize = 4;

/// The columns and indexes of a table, such as `index k_1`, with their definitions.
type Parts = BTreeMap<String, String>;

/// The tables before the load; empty if they are too many, or not known.
#[derive(Default)]
pub(in crate::database) struct Schema(BTreeMap<String, Parts>);

impl Schema {
    /// The same as [`read`](Self::read), if the tables are few.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(in crate::database) fn of(
        asking: &mut Asking<'_>,
        stores: &Stores,
        queries: &[String],
    ) -> Result<Self, DbError> {
        if stores.are_few() {
            return Self::read(asking, queries);
        }
        let why = "the database has no table, or too many to compare";
        asking.sink.gap(names::DB_TABLES_COMPARED, why);
        Ok(Self::default())
    }

    /// Reads the tables. Each query returns a table's name, a part's name, and its definition.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    pub(in crate::database) fn read(
        asking: &mut Asking<'_>,
        queries: &[String],
    ) -> Result<Self, DbError> {
        let mut tables: BTreeMap<String, Parts> = BTreeMap::new();
        for sql in queries {
            let rows = match asking.control.query(sql, asking.timeout) {
                Ok(rows) if rows.len() <= ROWS_MAX => rows,
                Ok(_) => {
                    let why = "the tables have too many columns and indexes";
                    asking.sink.gap(names::DB_TABLES_COMPARED, why);
                    return Ok(Self::default());
                }
                Err(error) if is_lost(&error) => return Err(error),
                Err(error) => {
                    asking
                        .sink
                        .gap(names::DB_TABLES_COMPARED, refusal(&error, ""));
                    return Ok(Self::default());
                }
            };
            for row in rows {
                if let [Some(table), Some(part), definition] = row.as_slice() {
                    let parts = tables.entry(table.clone()).or_default();
                    parts.insert(part.clone(), definition.clone().unwrap_or_default());
                }
            }
        }
        Ok(Self(tables))
    }

    /// Reads the tables again, and reports those that changed.
    ///
    /// # Errors
    /// The connection is lost.
    pub(in crate::database) fn compare(
        &self,
        asking: &mut Asking<'_>,
        queries: &[String],
        source: &str,
    ) -> Result<(), DbError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let now = Self::read(asking, queries)?;
        if now.0.is_empty() {
            return Ok(());
        }
        let both = self.both(&now);
        let compared = both.len().to_string();
        asking
            .sink
            .fact(names::DB_TABLES_COMPARED, compared, source);
        let changed = both.into_iter().filter(|(_, changes)| !changes.is_empty());
        for (name, changes) in changed.take(CHANGED_MAX) {
            let more = changes.len().saturating_sub(NAMED_MAX);
            let mut text = changes[..changes.len() - more].join(", ");
            if more > 0 {
                text += &format!(" and {more} more");
            }
            let fact = names::DB_TABLES_CHANGED_EACH.of(name);
            asking.sink.fact(&fact, text, source);
        }
        Ok(())
    }

    /// The tables that exist in both, with what changed. Statements on a table that was dropped
    /// fail, so that this needs no comparison.
    fn both<'a>(&'a self, now: &Self) -> Vec<(&'a str, Vec<String>)> {
        let tables = self.0.iter().filter_map(|(name, before)| {
            let after = now.0.get(name)?;
            Some((name.as_str(), changes(before, after)))
        });
        tables.collect()
    }
}

fn changes(before: &Parts, after: &Parts) -> Vec<String> {
    let gone = before.iter().filter_map(|(part, definition)| {
        let what = match after.get(part) {
            Some(now) if now == definition => return None,
            Some(_) => "changed",
            None => "dropped",
        };
        Some(format!("{part} was {what}"))
    });
    let added = after.keys().filter(|part| !before.contains_key(*part));
    let added = added.map(|part| format!("{part} was added"));
    gone.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(parts: &[(&str, &str, &str)]) -> Schema {
        let mut tables: BTreeMap<String, Parts> = BTreeMap::new();
        for (table, part, definition) in parts {
            let parts = tables.entry((*table).to_owned()).or_default();
            parts.insert((*part).to_owned(), (*definition).to_owned());
        }
        Schema(tables)
    }

    #[test]
    fn indexes_and_columns_that_differ_are_named() {
        let before = schema(&[
            ("dropped", "column id", "int"),
            ("same", "index PRIMARY", "id"),
            ("sbtest1", "column c", "char(120)"),
            ("sbtest1", "index k_1", "k"),
            ("sbtest1", "index PRIMARY", "id"),
        ]);
        let after = schema(&[
            ("new", "column id", "int"),
            ("same", "index PRIMARY", "id"),
            ("sbtest1", "column c", "varchar(120)"),
            ("sbtest1", "index PRIMARY", "id"),
            ("sbtest1", "index k_2", "k,c"),
        ]);
        let expected = [
            "column c was changed",
            "index k_1 was dropped",
            "index k_2 was added",
        ];
        let expected = expected.map(str::to_owned).to_vec();
        let found = before.both(&after);
        assert_eq!(found, [("same", Vec::new()), ("sbtest1", expected)]);
    }
}
