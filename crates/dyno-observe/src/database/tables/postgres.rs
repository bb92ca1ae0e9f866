//! PostgreSQL: definitions from the catalogs, since it cannot print a whole table.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::db::DbError;

use super::uses::{ELSEWHERE_MAX, report_elsewhere, report_uses, routines};
use super::{Asking, LISTED_MAX, LISTING, Listed, READING, Stores, Table, TextRow, report_tables};

const SOURCE: &str = "pg_catalog";
/// The versions that introduced these catalog columns.
const GENERATED_SINCE: u32 = 120_000;
const COMPRESSION_SINCE: u32 = 140_000;
/// Maximum number of lines of all definitions together: some hundred tables have some dozen each.
const LINES_MAX: usize = 50_000;

/// Reports the tables that names without a schema can refer to.
///
/// # Errors
/// The connection is lost.
pub(in crate::database) fn report(asking: &mut Asking<'_>) -> Result<Stores, DbError> {
    // Do not wait for a locked table.
    asking.rows_or_gap(names::DB_TABLES, "SET lock_timeout = '300ms'", "")?;
    let stores = tables(asking)?;
    uses(asking)?;
    elsewhere(asking)?;
    for name in ["statement_timeout", "lock_timeout"] {
        asking.rows_or_gap(names::DB_TABLES, &format!("SET {name} TO DEFAULT"), "")?;
    }
    Ok(stores)
}

/// The query for functions and procedures in SQL and PL/pgSQL.
const ROUTINES: &str = "SELECT p.proname, pg_catalog.pg_get_functiondef(p.oid) \
     FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
     WHERE l.lanname IN ('sql', 'plpgsql') AND n.nspname = ANY (current_schemas(false)) \
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = p.oid \
     AND d.classid = 'pg_catalog.pg_proc'::regclass AND d.deptype = 'e') LIMIT 1000";

/// The query for the tables' current persistence. That of a partitioned table is its partitions'.
pub(in crate::database) const STORES: &str = "SELECT \
     CASE n.nspname WHEN current_schema() THEN '' ELSE n.nspname || '.' END || c.relname, \
     CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 'u' THEN 'unlogged' \
     ELSE 'temporary' END \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r', 'm')";

/// Limits how long a statement may take, for a server with a million tables.
fn limit(asking: &mut Asking<'_>, time: Duration) -> Result<(), DbError> {
    let sql = format!("SET statement_timeout = {}", time.as_millis());
    asking.rows_or_gap(names::DB_TABLES, &sql, "").map(drop)
}

fn tables(asking: &mut Asking<'_>) -> Result<Stores, DbError> {
    limit(asking, LISTING)?;
    let sql = format!(
        "SELECT CASE n.nspname WHEN current_schema() THEN '' ELSE n.nspname || '.' END || \
         c.relname, c.oid FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r', 'p', 'm', 'f') \
         AND NOT c.relispartition LIMIT {}",
        LISTED_MAX + 1
    );
    let rows = asking.rows_or_gap(names::DB_TABLES, &sql, "")?;
    let mut oids = HashMap::new();
    for row in rows {
        if let [Some(name), Some(oid)] = row.as_slice() {
            oids.insert(name.clone(), oid.clone());
        }
    }
    let listed = Listed::of(oids.keys().cloned().collect());
    limit(asking, READING)?;
    let locked = locked(asking)?;
    let mut wanted: Vec<&str> = Vec::new();
    for name in &listed.names {
        match oids.get(name) {
            Some(oid) if locked.contains(oid) => {
                let why = "cannot read the table's definition: another session has locked the \
                           table";
                asking.sink.gap(&format!("db.table[{name}]"), why);
            }
            Some(oid) => wanted.push(oid),
            None => {}
        }
    }
    let wanted = format!("'{{{}}}'::oid[]", wanted.join(","));
    let heads = asking.rows_or_gap(names::DB_TABLES, &heads(&wanted), "")?;
    let version = asking.one_or_gap(names::DB_TABLES, "SHOW server_version_num", "")?;
    let version = version.and_then(|text| text.parse().ok()).unwrap_or(0);
    let rows = asking.rows_or_gap(names::DB_TABLES, &lines(&wanted, version), "")?;
    if rows.is_empty() {
        // They were refused, or no table exists.
        return Ok(Stores::default());
    }
    let mut of_tables: HashMap<String, Vec<String>> = HashMap::new();
    for row in rows {
        if let [Some(oid), Some(line)] = row.as_slice() {
            of_tables.entry(oid.clone()).or_default().push(line.clone());
        }
    }
    let mut found = HashMap::new();
    for head in heads {
        if let Some(oid) = head.first().cloned().flatten() {
            found.insert(oid, head);
        }
    }
    let table = |name: &String| {
        let oid = oids.get(name)?;
        let lines = of_tables.remove(oid).unwrap_or_default();
        table(name, found.get(oid)?, lines)
    };
    let tables: Vec<Table> = listed.names.iter().filter_map(table).collect();
    routines(asking, ROUTINES, &listed.names, "pg_proc")?;
    let stores = Stores::of(&listed, &tables);
    report_tables(asking.sink, &listed.total, tables, SOURCE);
    Ok(stores)
}

/// Reports the tables used by views and rules, the functions called by triggers, and the parent of
/// each unlogged partition.
fn uses(asking: &mut Asking<'_>) -> Result<(), DbError> {
    let own = |schema: &str, table: &str| {
        format!(
            "CASE {schema}.nspname WHEN current_schema() THEN '' ELSE {schema}.nspname || '.' END \
             || {table}.relname"
        )
    };
    let (user, used) = (own("n", "c"), own("m", "t"));
    let sql = format!(
        "SELECT {user}, {used} FROM (\
         SELECT r.ev_class AS user_of, d.refobjid AS used FROM pg_catalog.pg_rewrite r \
         JOIN pg_catalog.pg_depend d ON d.objid = r.oid \
         AND d.classid = 'pg_catalog.pg_rewrite'::regclass \
         AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class \
         UNION SELECT h.inhrelid, h.inhparent FROM pg_catalog.pg_inherits h \
         JOIN pg_catalog.pg_class p ON p.oid = h.inhrelid \
         WHERE p.relispartition AND (p.relpersistence = 'u' OR p.relkind = 'p')) x \
         JOIN pg_catalog.pg_class c ON c.oid = x.user_of \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_class t ON t.oid = x.used \
         JOIN pg_catalog.pg_namespace m ON m.oid = t.relnamespace \
         WHERE t.relkind IN ('r', 'p', 'm', 'f', 'v') AND {} AND {} \
         UNION SELECT {user}, p.proname FROM pg_catalog.pg_trigger g \
         JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid WHERE NOT g.tgisinternal AND {} \
         ORDER BY 1, 2 LIMIT {LISTED_MAX}",
        not_of_system("n"),
        not_of_system("m"),
        not_of_system("n")
    );
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in asking.rows_or_gap(names::DB_TABLES_USES, &sql, "")? {
        if let [Some(name), Some(used)] = row.as_slice() {
            found.entry(name.clone()).or_default().push(used.clone());
        }
    }
    for (name, used) in found {
        report_uses(
            asking.sink,
            &name,
            &used,
            "pg_rewrite, pg_depend, pg_trigger",
        );
    }
    Ok(())
}

/// Reports unlogged and foreign tables that names without a schema do not refer to.
fn elsewhere(asking: &mut Asking<'_>) -> Result<(), DbError> {
    let sql = format!(
        "SELECT n.nspname, n.nspname || '.' || c.relname, \
         CASE c.relkind WHEN 'f' THEN 'foreign' ELSE 'unlogged' END \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE (c.relkind = 'f' OR c.relkind IN ('r', 'p') AND c.relpersistence = 'u') AND {} \
         AND n.nspname <> ALL (current_schemas(false)) LIMIT {}",
        not_of_system("n"),
        ELSEWHERE_MAX + 1
    );
    let mut schemas = BTreeSet::new();
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in asking.rows_or_gap(names::DB_TABLES_ELSEWHERE, &sql, "")? {
        if let [Some(schema), Some(name), Some(kind)] = row.as_slice() {
            schemas.insert(schema.clone());
            kinds.entry(kind.clone()).or_default().push(name.clone());
        }
    }
    let schemas: Vec<String> = schemas.into_iter().collect();
    let is_whole = kinds.values().map(Vec::len).sum::<usize>() <= ELSEWHERE_MAX;
    let unread = if is_whole { &[][..] } else { &schemas };
    report_elsewhere(asking.sink, kinds, unread, SOURCE);
    Ok(())
}

fn not_of_system(schema: &str) -> String {
    format!("{schema}.nspname !~ '^pg_' AND {schema}.nspname <> 'information_schema'")
}

/// Exclusively locked tables: their expressions cannot be read.
fn locked(asking: &mut Asking<'_>) -> Result<HashSet<String>, DbError> {
    let sql = "SELECT l.relation FROM pg_catalog.pg_locks l \
               JOIN pg_catalog.pg_database d ON d.oid = l.database \
               WHERE d.datname = current_database() AND l.locktype = 'relation' \
               AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_backend_pid()";
    let rows = asking.rows_or_gap(names::DB_TABLES, sql, "")?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// Whether the planner has statistics for a table. The time of the last ANALYZE does not show it:
/// the statistics may have been deleted since, or the table was empty then. Statistics of a table
/// with row security are hidden.
const ANALYSED: &str = "c.reltuples <> -1 AND EXISTS (SELECT FROM pg_catalog.pg_stats p \
                        WHERE p.schemaname = n.nspname AND p.tablename = c.relname) \
                        OR coalesce(s.n_live_tup, 0) = 0 AND c.reltuples <= 0 \
                        OR c.relrowsecurity AND greatest(s.last_analyze, s.last_autoanalyze) \
                        IS NOT NULL";

/// A query with one row per table.
fn heads(wanted: &str) -> String {
    format!(
        "SELECT c.oid, c.relpersistence, c.relkind, am.amname, t.spcname, \
         array_to_string(c.reloptions, ', '), \
         CASE c.relkind WHEN 'p' THEN pg_get_partkeydef(c.oid) END, \
         (SELECT count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid), \
         EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary), \
         CASE WHEN c.relkind IN ('r', 'm') THEN \
         {ANALYSED} END, \
         to_char(greatest(s.last_analyze, s.last_autoanalyze) AT TIME ZONE 'UTC', \
         'YYYY-MM-DD HH24:MI:SS'), \
         n.nspname || '.' || c.relname \
         FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam \
         LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace \
         LEFT JOIN pg_catalog.pg_stat_user_tables s ON s.relid = c.oid \
         WHERE c.oid = ANY ({wanted})"
    )
}

/// A query with a row for each line of the definitions, in order.
fn lines(wanted: &str, version: u32) -> String {
    let when = |since: u32, sql: &'static str| if version >= since { sql } else { "" };
    let generated = when(
        GENERATED_SINCE,
        "WHEN a.attgenerated <> '' THEN ' GENERATED ALWAYS AS (' || \
         pg_get_expr(d.adbin, d.adrelid) || ')'",
    );
    let compression = when(
        COMPRESSION_SINCE,
        ", CASE WHEN a.attcompression <> '' THEN ' COMPRESSION ' || a.attcompression::text END",
    );
    format!(
        "SELECT relation, line FROM (\
         SELECT a.attrelid AS relation, 1 AS part, a.attnum::text AS name, a.attnum::int AS place, \
         concat('column ', quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod), \
         CASE WHEN a.attcollation <> y.typcollation THEN ' COLLATE ' || (SELECT \
         quote_ident(l.collname) FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation) END, \
         CASE WHEN a.attnotnull THEN ' NOT NULL' END, \
         CASE WHEN a.attidentity <> '' THEN ' GENERATED AS IDENTITY' {generated} \
         WHEN d.adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END, \
         CASE WHEN a.attstorage <> y.typstorage THEN ' STORAGE ' || a.attstorage::text END\
         {compression}, \
         CASE WHEN a.attstattarget > 0 THEN ' STATISTICS ' || a.attstattarget END) AS line \
         FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid \
         LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
         WHERE a.attrelid = ANY ({wanted}) AND a.attnum > 0 AND NOT a.attisdropped \
         UNION ALL \
         SELECT k.conrelid, 2, k.conname, 0, concat('constraint ', quote_ident(k.conname), ' ', \
         pg_get_constraintdef(k.oid)) FROM pg_catalog.pg_constraint k \
         WHERE k.conrelid = ANY ({wanted}) AND k.contype NOT IN ('p', 'u', 't', 'n') \
         UNION ALL \
         SELECT i.indrelid, 3, c.relname, 0, concat('index ', quote_ident(c.relname), ' ', \
         pg_get_indexdef(i.indexrelid), CASE WHEN i.indisprimary THEN ' PRIMARY KEY' END, \
         CASE WHEN NOT i.indisvalid THEN ' INVALID' END, ' TABLESPACE ' || t.spcname) \
         FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
         LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace \
         WHERE i.indrelid = ANY ({wanted}) \
         UNION ALL \
         SELECT g.tgrelid, 4, g.tgname, 0, concat('trigger ', quote_ident(g.tgname), ' ', \
         pg_get_triggerdef(g.oid)) FROM pg_catalog.pg_trigger g \
         WHERE g.tgrelid = ANY ({wanted}) AND NOT g.tgisinternal \
         UNION ALL \
         SELECT h.inhparent, 5, c.relname, 0, concat('partition ', quote_ident(c.relname), ' ', \
         pg_get_expr(c.relpartbound, c.oid), CASE c.relpersistence WHEN 'u' THEN ' UNLOGGED' END, \
         CASE c.relkind WHEN 'f' THEN ' FOREIGN TABLE' END, \
         ' WITH (' || array_to_string(c.reloptions, ', ') || ')', ' TABLESPACE ' || t.spcname) \
         FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class c ON c.oid = h.inhrelid \
         LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace \
         WHERE h.inhparent = ANY ({wanted}) AND c.relispartition \
         UNION ALL \
         SELECT e.stxrelid, 6, e.stxname, 0, concat('statistics ', quote_ident(e.stxname), ' ', \
         pg_get_statisticsobjdef(e.oid)) FROM pg_catalog.pg_statistic_ext e \
         WHERE e.stxrelid = ANY ({wanted}) \
         UNION ALL \
         SELECT p.polrelid, 7, p.polname, 0, concat('policy ', quote_ident(p.polname), ' ', \
         CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END, ' FOR ', p.polcmd, \
         ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', \
         ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')') \
         FROM pg_catalog.pg_policy p WHERE p.polrelid = ANY ({wanted}) \
         UNION ALL \
         SELECT s.oid, 8, '', 0, concat('row security: enabled', \
         CASE WHEN s.relforcerowsecurity THEN ', forced' END) FROM pg_catalog.pg_class s \
         WHERE s.oid = ANY ({wanted}) AND s.relrowsecurity) x \
         ORDER BY relation, part, place, name LIMIT {LINES_MAX}"
    )
}

fn table(name: &str, head: &TextRow, lines: Vec<String>) -> Option<Table> {
    let field = |index: usize| head.get(index).and_then(Option::as_deref);
    let is_true = |index: usize| field(index).map(|text| text == "t");
    let unlogged = |line: &String| line.starts_with("partition ") && line.contains(" UNLOGGED");
    let persistence = match field(1)? {
        "u" => "unlogged",
        "t" => "temporary",
        // The persistence of a partitioned table follows from its partitions.
        _ if lines.iter().any(unlogged) => "unlogged",
        _ => "permanent",
    };
    let kind = match field(2)? {
        "p" => Some("partitioned table"),
        "m" => Some("materialized view"),
        "f" => Some("foreign table"),
        _ => None,
    };
    let mut definition = vec![format!("TABLE {}", field(11)?)];
    definition.extend(lines);
    for (what, says) in [
        ("kind", kind),
        ("persistence", Some(persistence)),
        ("access method", field(3)),
        ("tablespace", field(4)),
        ("storage parameters", field(5)),
        ("partition by", field(6)),
    ] {
        definition.extend(says.map(|says| format!("{what}: {says}")));
    }
    Some(Table {
        name: name.to_owned(),
        definition: definition.join("\n"),
        engine: field(3).map(str::to_owned),
        persistence: Some(persistence),
        primary_key: is_true(8),
        indexes: field(7).and_then(|count| count.parse().ok()),
        analysed: is_true(9),
        analysed_at: field(10).map(str::to_owned),
    })
}
