//! Bytes written according to the server's own counters.

use dyno_core::catalogue::names;

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
    names::DB_STATUS_INNODB_PAGES_WRITTEN,
    names::DB_STATUS_INNODB_DBLWR_PAGES_WRITTEN,
];
const MYSQL: [Part; 6] = [
    (names::DB_STATUS_INNODB_OS_LOG_WRITTEN, 1.0),
    (names::DB_STATUS_KEY_WRITES, 1_024.0),
    (names::DB_STATUS_ARIA_PAGECACHE_WRITES, 8_192.0),
    (names::DB_ROCKSDB_FLUSH_WRITE_BYTES, 1.0),
    (names::DB_ROCKSDB_COMPACT_WRITE_BYTES, 1.0),
    (names::DB_ROCKSDB_WAL_BYTES, 1.0),
];
const POSTGRES: [Part; 5] = [
    (names::DB_WAL_BYTES, 1.0),
    (names::DB_CHECKPOINTER_BUFFERS_WRITTEN, POSTGRES_PAGE),
    (names::DB_BGWRITER_BUFFERS_CLEAN, POSTGRES_PAGE),
    (names::DB_BGWRITER_BUFFERS_BACKEND, POSTGRES_PAGE),
    (names::DB_DATABASE_TEMP_BYTES, 1.0),
];
/// Each of these counts writes that end in a partial page, of the log or of the binary log.
const PARTIAL: [Part; 3] = [
    (names::DB_STATUS_INNODB_LOG_WRITES, 2.0 * KERNEL_PAGE),
    (names::DB_WAL_WRITES, POSTGRES_PAGE),
    (names::DB_ROCKSDB_WAL_SYNCED, KERNEL_PAGE),
];

/// Bytes per second by the server's counters.
pub(super) struct Own {
    pub(super) per_s: f64,
    /// Bytes per second that the kernel may charge for it, at most.
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
                true => view
                    .mean(names::DB_STATUS_BINLOG_BYTES_WRITTEN)
                    .or_else(|| grown(view))?,
                false => 0.0,
            };
            let sum = pages * page.unwrap_or(INNODB_PAGE) + binlog + sum(&MYSQL);
            (sum, "the server's counters of pages and logs written")
        } else {
            // From PostgreSQL 17 on, `pg_stat_bgwriter` no longer counts pages that sessions write.
            view.mean(names::DB_BGWRITER_BUFFERS_BACKEND)?;
            view.mean(names::DB_WAL_BYTES)?;
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
    let (first, last) = view.ends(names::DB_BINLOG_SIZE)?;
    (last >= first).then(|| (last - first) / view.length_s)
}
