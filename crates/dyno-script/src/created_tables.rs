//! The tables that a script's `prepare` creates and its `cleanup` drops, as `tables_made()` lists
//! them.

use mlua::{Function, Table, Value};

use crate::host::Host;
use crate::roles::AnswerError;

/// A table that a workload creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatedTable {
    /// Its name, without a schema.
    pub name: String,
    /// The columns that it always has.
    pub columns: Vec<String>,
    /// The columns that some options add.
    pub optional: Vec<String>,
    /// `prepare` accepts an existing table with these columns.
    pub may_exist: bool,
}

impl CreatedTable {
    /// Why a table with these columns is not this one; `None` if it may be. Ignores case.
    pub fn misfit(&self, found: &[String]) -> Option<String> {
        let has =
            |list: &[String], name: &str| list.iter().any(|own| own.eq_ignore_ascii_case(name));
        let lacks = self.columns.iter().find(|own| !has(found, own));
        if let Some(column) = lacks {
            return Some(format!("it has no column {column}"));
        }
        let known = |name: &str| has(&self.columns, name) || has(&self.optional, name);
        let other = found.iter().find(|name| !known(name))?;
        Some(format!("it has a column {other}"))
    }
}

impl Host {
    /// After [`Host::describe`] and [`Host::set_options`]: whether a run creates the tables, as the
    /// script's `creates_tables()` says.
    ///
    /// # Errors
    /// An error that it raised, or an answer that is neither true nor false.
    pub fn creates_tables(&mut self) -> Result<bool, AnswerError> {
        self.ask("creates_tables")?;
        let answer = self.api.get::<Function>("answer");
        match answer.and_then(|answer| answer.call::<Value>(0)) {
            Ok(Value::Boolean(creates)) => Ok(creates),
            _ => Err(AnswerError::Failed(
                "creates_tables() must return true or false".to_owned(),
            )),
        }
    }

    /// The result of `tables_made()`, which must have been the last call; `None` if it returned
    /// nothing.
    ///
    /// # Errors
    /// An answer that is not a list of tables, explained to the script's author.
    pub fn created_tables(&self) -> Result<Option<Vec<CreatedTable>>, String> {
        let answer = self.api.get::<Function>("answer");
        match answer.and_then(|answer| answer.call::<Value>(0)) {
            Ok(Value::Table(list)) => {
                let tables = list
                    .sequence_values::<Table>()
                    .map(|entry| created_table(&entry?));
                let read: mlua::Result<Vec<CreatedTable>> = tables.collect();
                read.map(Some)
                    .map_err(|_| "tables_made() must return a list of {name, columns}".to_owned())
            }
            _ => Ok(None),
        }
    }
}

fn created_table(entry: &Table) -> mlua::Result<CreatedTable> {
    let columns: String = entry.get(2)?;
    let (optional, always): (Vec<&str>, Vec<&str>) = columns
        .split_whitespace()
        .partition(|column| column.ends_with('?'));
    Ok(CreatedTable {
        name: entry.get(1)?,
        columns: always.into_iter().map(str::to_owned).collect(),
        optional: optional
            .into_iter()
            .map(|column| column.trim_end_matches('?').to_owned())
            .collect(),
        may_exist: entry.get::<Option<bool>>("may_exist")?.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_belongs_to_the_workload_if_its_columns_match() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let created = CreatedTable {
            columns: words("h_id h_data"),
            optional: words("id"),
            ..CreatedTable::default()
        };
        assert_eq!(created.misfit(&words("h_id h_data")), None);
        assert_eq!(created.misfit(&words("ID H_DATA h_id")), None);
        let lacks = created.misfit(&words("h_id other")).unwrap();
        assert_eq!(lacks, "it has no column h_data");
        let more = created.misfit(&words("h_id h_data mine")).unwrap();
        assert_eq!(more, "it has a column mine");
        assert!(created.misfit(&[]).is_some());
    }
}
