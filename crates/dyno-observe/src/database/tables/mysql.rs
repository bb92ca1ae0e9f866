//! MySQL and MariaDB: `SHOW CREATE TABLE`, and InnoDB's statistics.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::db::DbError;
use dyno_core::tables::{elements, places};

use super::super::{is_lost, refusal};
use super::uses::{ELSEWHERE_MAX, mentioned, of_view, report_elsewhere, report_uses, routines};
use super::{Asking, LISTED_MAX, LISTING, Listed, Stores, Table, deadline, report_tables};

const SOURCE: &str = "SHOW CREATE TABLE";
const TABLES_SOURCE: &str = "information_schema.TABLES";
/// The beginning of a view's definition.
const VIEW: &str = "CREATE ALGORITHM=";
/// The bodies of stored functions and procedures, as far as this user may read them.
const ROUTINES: &str = "SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES \
                        WHERE ROUTINE_SCHEMA = DATABASE() LIMIT 1000";
/// The server's own schemas.
const SYSTEM: &str = "'information_schema', 'mysql', 'performance_schema', 'sys'";
const STATISTICS: &str = "mysql.innodb_table_stats";
const NEEDS_STATISTICS: &str = "GRANT SELECT ON mysql.innodb_table_stats TO the user of the target";
/// Maximum number of tables checked among those that InnoDB reports as empty.
const LOOKS_MAX: usize = 20;

/// Reports the tables of the connection's database. Also returns the fact names of the directories
/// in their definitions.
///
/// # Errors
/// The connection is lost.
pub(in crate::database) fn report(
    asking: &mut Asking<'_>,
    is_mariadb: bool,
) -> Result<(Stores, BTreeSet<String>), DbError> {
    let Some(database) = asking.one_or_gap(names::DB_TABLES, "SELECT DATABASE()", "")? else {
        asking
            .sink
            .gap(names::DB_TABLES, "the target names no database");
        return Ok((Stores::default(), BTreeSet::new()));
    };
    // Do not wait for a table that is being altered, and make all servers quote alike.
    let ours = "SET SESSION lock_wait_timeout = 1, sql_mode = '', sql_quote_show_create = 1";
    asking.rows_or_gap(names::DB_TABLES, ours, "")?;
    let stores = tables(asking, is_mariadb, &database)?;
    elsewhere(asking, is_mariadb)?;
    let back = "SET SESSION lock_wait_timeout = DEFAULT, sql_mode = DEFAULT, \
                sql_quote_show_create = DEFAULT";
    asking.rows_or_gap(names::DB_TABLES, back, "")?;
    Ok(stores)
}

/// The query for the tables' current engines.
pub(in crate::database) fn stores(is_mariadb: bool) -> String {
    limited(
        is_mariadb,
        "TABLE_NAME, ENGINE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND ENGINE IS NOT NULL",
    )
}

/// A query with a timeout.
fn limited(is_mariadb: bool, select: &str) -> String {
    match is_mariadb {
        true => format!(
            "SET STATEMENT max_statement_time = {} FOR SELECT {select}",
            LISTING.as_secs_f64()
        ),
        false => format!(
            "SELECT /*+ MAX_EXECUTION_TIME({}) */ {select}",
            LISTING.as_millis()
        ),
    }
}

fn tables(
    asking: &mut Asking<'_>,
    is_mariadb: bool,
    database: &str,
) -> Result<(Stores, BTreeSet<String>), DbError> {
    // For names alone MariaDB does not open the tables' files.
    let names = format!(
        "TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() LIMIT {}",
        LISTED_MAX + 1
    );
    let rows = asking.rows_or_gap(names::DB_TABLES, &limited(is_mariadb, &names), "")?;
    let listed = Listed::of(rows.into_iter().flatten().flatten().collect());
    let until = deadline();
    let mut tables = Vec::new();
    for name in &listed.names {
        if Clock.now() > until {
            break;
        }
        let sql = format!("SHOW CREATE TABLE {}", quoted(name));
        match asking.control.query(&sql, asking.timeout) {
            Ok(rows) => tables.extend(read(name, rows)),
            Err(error) if is_lost(&error) => return Err(error),
            // It was dropped meanwhile, or this user may not see it.
            Err(error) => asking
                .sink
                .gap(&format!("db.table[{name}]"), refusal(&error, "")),
        }
    }
    triggers(asking, &mut tables)?;
    routines(
        asking,
        ROUTINES,
        &listed.names,
        "information_schema.ROUTINES",
    )?;
    for table in &tables {
        let used = uses(table, &listed.names, database);
        report_uses(asking.sink, &table.name, &used, SOURCE);
    }
    statistics(asking, &mut tables)?;
    let stores = Stores::of(&listed, &tables);
    let named = tables.iter().flat_map(|table| places(&table.definition));
    let named = named.collect();
    report_tables(asking.sink, &listed.total, tables, SOURCE);
    Ok((stores, named))
}

fn read(name: &str, rows: Vec<Vec<Option<String>>>) -> Option<Table> {
    let definition = rows.into_iter().next()?.into_iter().nth(1)??;
    let definition = without_counter(&definition);
    let parts = elements(&definition);
    let option = |wanted: &str| {
        let found = parts.iter().find(|(what, _)| what == wanted);
        found.map(|(_, says)| says.as_str())
    };
    let engine = option("ENGINE").map(|engine| match option("TRANSACTIONAL") {
        Some("0") => format!("{engine} (not transactional)"),
        _ => engine.to_owned(),
    });
    let is_table = engine.is_some();
    let indexes = parts.iter().filter(|(what, _)| what.starts_with("index"));
    let indexes = indexes.count();
    Some(Table {
        name: name.to_owned(),
        primary_key: is_table.then(|| option("index PRIMARY").is_some()),
        indexes: is_table.then_some(indexes),
        engine,
        definition,
        ..Table::default()
    })
}

/// The tables that statements on this one use too: the base tables of a view, or tables named by a
/// trigger.
fn uses(table: &Table, listed: &[String], database: &str) -> Vec<String> {
    if table.definition.starts_with(VIEW) {
        return of_view(&table.definition, database);
    }
    let others = || listed.iter().filter(|name| **name != table.name);
    let lines = table.definition.lines();
    let bodies = lines
        .filter(|line| line.starts_with("trigger `"))
        .filter_map(|line| line.split_once(": "));
    bodies
        .flat_map(|(_, body)| mentioned(body, others()))
        .collect()
}

/// Reports tables of other schemas that do not use InnoDB: a statement may name them.
fn elsewhere(asking: &mut Asking<'_>, is_mariadb: bool) -> Result<(), DbError> {
    let most = ELSEWHERE_MAX + 1;
    let schemas = format!(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ({SYSTEM}) \
         AND SCHEMA_NAME <> DATABASE() LIMIT {most}"
    );
    let schemas = asking.rows_or_gap(names::DB_TABLES_ELSEWHERE, &schemas, "")?;
    let schemas: Vec<String> = schemas.into_iter().flatten().flatten().collect();
    if schemas.is_empty() {
        return Ok(());
    }
    let others = format!(
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ({SYSTEM}) \
         AND TABLE_SCHEMA <> DATABASE()"
    );
    // For engines MariaDB opens the file of each table.
    let names = limited(is_mariadb, &format!("TABLE_NAME {others} LIMIT {most}"));
    let engines = format!(
        "CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), ENGINE, CREATE_OPTIONS {others} \
         AND COALESCE(ENGINE, '') <> 'InnoDB'"
    );
    let engines = limited(is_mariadb, &engines);
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (sql, is_listing) in [(names, true), (engines, false)] {
        let rows = match asking.control.query(&sql, asking.timeout) {
            Ok(rows) if rows.len() <= ELSEWHERE_MAX => rows,
            Err(error) if is_lost(&error) => return Err(error),
            _ => {
                report_elsewhere(asking.sink, BTreeMap::new(), &schemas, TABLES_SOURCE);
                return Ok(());
            }
        };
        for row in rows.into_iter().filter(|_| !is_listing) {
            if let [Some(name), engine, options] = row.as_slice() {
                let kind = kind(engine.as_deref(), options.as_deref().unwrap_or_default());
                kinds.entry(kind).or_default().push(name.clone());
            }
        }
    }
    report_elsewhere(asking.sink, kinds, &[], TABLES_SOURCE);
    Ok(())
}

/// A table's engine as in definitions; `unknown` for a view.
fn kind(engine: Option<&str>, options: &str) -> String {
    let is_off = options
        .split_whitespace()
        .any(|option| option.eq_ignore_ascii_case("transactional=0"));
    match engine {
        Some(engine) if is_off => format!("{engine} (not transactional)"),
        Some(engine) => engine.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// Reports triggers, which add to the cost of changing a row. Only users who may create triggers
/// see them.
fn triggers(asking: &mut Asking<'_>, tables: &mut [Table]) -> Result<(), DbError> {
    let sql = "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_TIMING, EVENT_MANIPULATION, \
               ACTION_STATEMENT FROM information_schema.TRIGGERS \
               WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1, 3, 4, ACTION_ORDER, 2";
    let mut of_tables: HashMap<String, Vec<String>> = HashMap::new();
    for row in asking.rows_or_gap(names::DB_TABLE_TRIGGERS, sql, "")? {
        let [
            Some(table),
            Some(name),
            Some(timing),
            Some(event),
            Some(does),
        ] = row.as_slice()
        else {
            continue;
        };
        let words: Vec<&str> = does.split_whitespace().collect();
        let line = format!("trigger `{name}` {timing} {event}: {}", words.join(" "));
        of_tables.entry(table.clone()).or_default().push(line);
    }
    for table in tables {
        for line in of_tables.remove(&table.name).unwrap_or_default() {
            table.definition = format!("{}\n{line}", table.definition);
        }
    }
    Ok(())
}

/// Reports InnoDB's statistics; other engines maintain exact counts.
fn statistics(asking: &mut Asking<'_>, tables: &mut [Table]) -> Result<(), DbError> {
    let of_innodb = |table: &Table| table.engine.as_deref() == Some("InnoDB");
    let names: Vec<String> = tables
        .iter()
        .filter(|table| of_innodb(table))
        .map(|table| text(&table.name))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT table_name, n_rows, last_update FROM {STATISTICS} \
         WHERE database_name = DATABASE() AND table_name IN ({})",
        names.join(", ")
    );
    let rows = match asking.control.query(&sql, asking.timeout) {
        Err(error) if is_lost(&error) => return Err(error),
        Err(error) => {
            asking
                .sink
                .gap(names::DB_STATISTICS, refusal(&error, NEEDS_STATISTICS));
            return Ok(());
        }
        Ok(rows) => rows,
    };
    let mut known: HashMap<String, (bool, String)> = HashMap::new();
    for row in rows {
        if let [Some(name), Some(count), Some(at)] = row.as_slice() {
            known.insert(name.clone(), (count != "0", at.clone()));
        }
    }
    let mut looks = 0;
    for table in tables.iter_mut().filter(|table| of_innodb(table)) {
        // Each partition of a partitioned table has separate statistics.
        let Some((holds, at)) = known.remove(&table.name) else {
            continue;
        };
        table.analysed_at = Some(at);
        table.analysed = match holds {
            true => Some(true),
            false if looks == LOOKS_MAX => None,
            // New tables count as empty until the server has analysed them.
            false => {
                looks += 1;
                is_empty(asking, &table.name)?
            }
        };
    }
    Ok(())
}

fn is_empty(asking: &mut Asking<'_>, name: &str) -> Result<Option<bool>, DbError> {
    let sql = format!("SELECT 1 FROM {} LIMIT 1", quoted(name));
    match asking.control.query(&sql, asking.timeout) {
        Ok(rows) => Ok(Some(rows.is_empty())),
        Err(error) if is_lost(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Removes the position of a counter, `AUTO_INCREMENT=7`, from the options.
fn without_counter(definition: &str) -> String {
    let Some(options) = definition.rfind("\n)") else {
        return definition.to_owned();
    };
    let (table, options) = definition.split_at(options);
    let Some((before, after)) = options.split_once(" AUTO_INCREMENT=") else {
        return definition.to_owned();
    };
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{table}{before}{after}")
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_exclude_counters() {
        let with = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB \
                    AUTO_INCREMENT=10001 DEFAULT CHARSET=utf8mb4";
        let without = with.replace(" AUTO_INCREMENT=10001", "");
        assert_eq!(without_counter(with), without);
        assert_eq!(without_counter(&without), without);
    }

    #[test]
    fn a_definition_describes_its_table() {
        let answer = |text: &str| vec![vec![Some("t".to_owned()), Some(text.to_owned())]];
        let table = read(
            "t",
            answer(
                "CREATE TABLE `t` (\n  `id` int,\n  KEY `k` (`id`)\n) ENGINE=Aria PAGE_CHECKSUM=1 \
                 TRANSACTIONAL=0",
            ),
        );
        let table = table.unwrap();
        assert_eq!(table.engine.as_deref(), Some("Aria (not transactional)"));
        assert_eq!((table.primary_key, table.indexes), (Some(false), Some(1)));
        let view = read(
            "v",
            answer("CREATE ALGORITHM=UNDEFINED VIEW `v` AS select 1 AS `1`"),
        );
        assert_eq!(view.unwrap().primary_key, None);
    }

    #[test]
    fn views_and_triggers_use_other_tables() {
        let listed = ["t", "log", "other"].map(str::to_owned);
        let table = |name: &str, definition: &str| Table {
            name: name.to_owned(),
            definition: definition.to_owned(),
            ..Table::default()
        };
        let view = table(
            "v",
            "CREATE ALGORITHM=UNDEFINED VIEW `v` AS select 1 AS `1` from `own`.`t`",
        );
        assert_eq!(uses(&view, &listed, "own"), ["t"]);
        let with_trigger = table(
            "t",
            "CREATE TABLE `t` (\n  `other` int\n) ENGINE=InnoDB\ntrigger `other` AFTER INSERT: \
             INSERT INTO log SELECT * FROM t",
        );
        assert_eq!(uses(&with_trigger, &listed, "own"), ["log"]);
    }

    #[test]
    fn engines_elsewhere_have_the_same_names() {
        let off = "page_checksum=0 transactional=0";
        assert_eq!(kind(Some("Aria"), off), "Aria (not transactional)");
        assert_eq!(kind(Some("MyISAM"), ""), "MyISAM");
        assert_eq!(kind(None, ""), "unknown");
    }
}
