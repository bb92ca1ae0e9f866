//! SQLite: the stored statements that created its tables.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dyno_core::catalogue::names;
use dyno_core::db::DbError;

use super::uses::{mentioned, report_uses};
use super::{Asking, LISTED_MAX, Listed, Table, report_tables};

const SOURCE: &str = "sqlite_master, sqlite_stat1";
/// Maximum number of statements read: tables, their indexes and triggers.
const STATEMENTS_MAX: usize = 10_000;

/// Reports the tables in the database's file.
///
/// # Errors
/// The connection is lost.
pub(in crate::database) fn report(asking: &mut Asking<'_>) -> Result<(), DbError> {
    let keys = "(SELECT count(*) FROM pragma_table_info(m.name) WHERE pk > 0)";
    let sql = format!(
        "SELECT m.name, {keys} FROM sqlite_master m WHERE m.type = 'table' \
         AND substr(m.name, 1, 7) <> 'sqlite_' LIMIT {}",
        LISTED_MAX + 1
    );
    let rows = asking.rows_or_gap(names::DB_TABLES, &sql, "")?;
    let mut keys = BTreeMap::new();
    for row in rows {
        if let [Some(name), Some(count)] = row.as_slice() {
            keys.insert(name.clone(), count != "0");
        }
    }
    let listed = Listed::of(keys.keys().cloned().collect());
    // Objects that SQLite created itself have no statement.
    let sql = format!(
        "SELECT tbl_name, type, sql FROM sqlite_master ORDER BY rowid LIMIT {STATEMENTS_MAX}"
    );
    let rows = asking.rows_or_gap(names::DB_TABLES, &sql, "")?;
    let mut statements: HashMap<String, Vec<String>> = HashMap::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut views: BTreeSet<String> = BTreeSet::new();
    for row in rows {
        let [Some(table), Some(kind), sql] = row.as_slice() else {
            continue;
        };
        match kind.as_str() {
            "index" => *indexes.entry(table.clone()).or_default() += 1,
            "view" => drop(views.insert(table.clone())),
            _ => {}
        }
        statements
            .entry(table.clone())
            .or_default()
            .extend(sql.clone());
    }
    for name in &views {
        // Including its triggers.
        let sql = statements.get(name).map(|sql| sql.join("; "));
        let others = keys.keys().chain(&views).filter(|other| *other != name);
        let used = mentioned(&sql.unwrap_or_default(), others);
        report_uses(asking.sink, name, &used, SOURCE);
    }
    let analysed = analysed(asking)?;
    let table = |name: &String| Table {
        name: name.clone(),
        definition: statements.remove(name).unwrap_or_default().join(";\n"),
        primary_key: keys.get(name).copied(),
        indexes: Some(indexes.get(name).copied().unwrap_or(0)),
        analysed: Some(analysed.contains(name)),
        ..Table::default()
    };
    let tables = listed.names.iter().map(table).collect();
    report_tables(asking.sink, &listed.total, tables, SOURCE);
    Ok(())
}

/// Tables that `ANALYZE` has processed.
fn analysed(asking: &mut Asking<'_>) -> Result<HashSet<String>, DbError> {
    let there = "SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'";
    if asking.one_or_gap(names::DB_TABLES, there, "")?.as_deref() != Some("1") {
        return Ok(HashSet::new());
    }
    let rows = asking.rows_or_gap(
        names::DB_TABLES,
        "SELECT DISTINCT tbl FROM sqlite_stat1",
        "",
    )?;
    Ok(rows.into_iter().flatten().flatten().collect())
}
