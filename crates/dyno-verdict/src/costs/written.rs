//! Bytes written according to the server's own counters.

use crate::view::View;

/// A series and the bytes per count.
type Part = (&'static str, f64);

/// The default InnoDB page size of MariaDB and MySQL.
const INNODB_PAGE: f64 = 16_384.0;
const POSTGRES_PAGE: f64 = 8_192.0;
/// The kernel charges a whole page for a part of one, at the end of each log write.
const KERNEL_PAGE: f64 = 4_096.0;

/// InnoDB's page writes, in place and to the doublewrite buffer.
const INNODB_PAGES: [&str; 2] = [
    "db.status.innodb_pages_written",
    "db.status.innodb_dblwr_pages_written",
];
const MYSQL: [Part; 6] = [
    ("db.status.innodb_os_log_written", 1.0),
    ("db.status.key_writes", 1_024.0),
    ("db.status.aria_pagecache_writes", 8_192.0),
    ("db.rocksdb.flush_write_bytes", 1.0),
    ("db.rocksdb.compact_write_bytes", 1.0),
    ("db.rocksdb.wal_bytes", 1.0),
];
const BINLOG: &str = "db.status.binlog_bytes_written";
const POSTGRES: [Part; 5] = [
    ("db.wal.bytes", 1.0),
    ("db.checkpointer.buffers_written", POSTGRES_PAGE),
    ("db.bgwriter.buffers_clean", POSTGRES_PAGE),
    ("db.bgwriter.buffers_backend", POSTGRES_PAGE),
    ("db.database.temp_bytes", 1.0),
];
/// Each of these counts writes that end in a partial page, of the log or of the binary log.
const PARTIAL: [Part; 3] = [
    ("db.status.innodb_log_writes", 2.0 * KERNEL_PAGE),
    ("db.wal.writes", POSTGRES_PAGE),
    ("db.rocksdb.wal_synced", KERNEL_PAGE),
];

/// Bytes per second by the server's counters.
pub(super) struct Own {
    pub(super) per_s: f64,
    /// The most that the kernel may charge for it.
    pub(super) most_per_s: f64,
    pub(super) source: &'static str,
}

impl Own {
    /// `None` if the server does not count a part.
    pub(super) fn of(view: &View) -> Option<Self> {
        let sum = |parts: &[Part]| -> f64 {
            let known = parts.iter();
            let known = known.filter_map(|(name, size)| Some(view.mean(name)? * size));
            known.sum()
        };
        let (per_s, source) = if view.mysql() {
            let page = view.run.setting("innodb_page_size");
            let page = page.and_then(|size| size.parse().ok());
            let pages = view.mean(INNODB_PAGES[0])? + view.mean(INNODB_PAGES[1])?;
            let log_bin = view.run.setting("log_bin");
            let binlog = match log_bin.is_some_and(|on| on.eq_ignore_ascii_case("on")) {
                true => view.mean(BINLOG).or_else(|| grown(view))?,
                false => 0.0,
            };
            let sum = pages * page.unwrap_or(INNODB_PAGE) + binlog + sum(&MYSQL);
            (sum, "the server's counters of pages and logs written")
        } else {
            // From PostgreSQL 17 on, `pg_stat_bgwriter` no longer counts pages that sessions write.
            view.mean("db.bgwriter.buffers_backend")?;
            view.mean("db.wal.bytes")?;
            let source = "the server's counters of buffers and write-ahead log written";
            (sum(&POSTGRES), source)
        };
        Some(Self {
            per_s,
            most_per_s: per_s + sum(&PARTIAL),
            source,
        })
    }
}

/// For servers that do not count the bytes of their binary log, the growth of its files.
fn grown(view: &View) -> Option<f64> {
    let (first, last) = view.ends("db.binlog.size")?;
    (last >= first).then(|| (last - first) / view.length_s)
}
