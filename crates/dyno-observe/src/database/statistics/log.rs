//! The write-ahead log's statistics.

use dyno_core::catalogue::names;

use super::{Column, Part, rate};

/// Since PostgreSQL 14; from 18 on writes and syncs are in [`wal_io`].
pub(super) fn wal(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    let source = "pg_stat_wal";
    let names = [
        ("records", "wal_records", "count/s"),
        ("fpi", "wal_fpi", "count/s"),
        ("bytes", "wal_bytes", "bytes/s"),
        ("buffers_full", "wal_buffers_full", "count/s"),
        ("writes", "wal_write", "count/s"),
        ("syncs", "wal_sync", "count/s"),
    ];
    let known = names
        .iter()
        .filter(|(_, column, _)| has(&format!("{source}.{column}")));
    let columns =
        known.map(|(name, column, unit)| rate(&format!("db.wal.{name}"), unit, source, column));
    let columns: Vec<Column> = columns.collect();
    (!columns.is_empty()).then_some(Part {
        what: names::DB_WAL,
        columns,
        from: "FROM pg_catalog.pg_stat_wal",
        is_slow: false,
    })
}

/// Writes and syncs of the log since PostgreSQL 18. Creating a WAL segment does not count as a
/// write.
pub(super) fn wal_io(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    let source = "pg_stat_io";
    let count = |name: &str, column: &str| {
        let sum = format!("coalesce(sum({column}), 0)");
        rate(name, "count/s", source, &sum)
    };
    (has("pg_stat_io.object") && !has("pg_stat_wal.wal_sync")).then(|| Part {
        what: names::DB_WAL,
        columns: vec![
            count(names::DB_WAL_WRITES, "writes"),
            count(names::DB_WAL_SYNCS, "fsyncs"),
        ],
        from: "FROM pg_catalog.pg_stat_io WHERE object = 'wal' AND context = 'normal'",
        is_slow: false,
    })
}
