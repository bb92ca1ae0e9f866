//! Counters of MySQL and MariaDB.

use super::{FULL, Rule, SHARE};
use crate::text;

/// InnoDB keeps a part of the capacity free and forces flushing before that point: a write load on
/// MySQL 9.7 with 8 MiB stalled at 74 %.
const REDO_FULL: f64 = 0.7;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "table_open_cache",
        counters: &["Table_open_cache_misses", "Table_open_cache_hits"],
        about: "How many open tables are kept for the next statement.",
        finds: |look| {
            let hits = ["db.status.table_open_cache_hits"];
            let (misses, share) = look.share("db.status.table_open_cache_misses", &hits)?;
            Some(format!(
                "{}/s tables were opened that were not in the cache, {} of all",
                text::rate(misses),
                text::percent(share)
            ))
        },
    },
    Rule {
        setting: "tmp_table_size",
        counters: &["Created_tmp_disk_tables", "Created_tmp_tables"],
        about: "How large a temporary table in memory may grow, bounded by max_heap_table_size; \
                those with columns of TEXT or BLOB may go to disk whatever their size.",
        finds: |look| {
            let disk = look.often("db.status.created_tmp_disk_tables")?;
            let all = look.mean("db.status.created_tmp_tables")?.max(disk);
            Some(format!(
                "{}/s temporary tables were made on disk, {} of all",
                text::rate(disk),
                text::percent(disk / all)
            ))
        },
    },
    Rule {
        setting: "sort_buffer_size",
        counters: &["Sort_merge_passes"],
        about: "What a session may sort in memory.",
        finds: |look| {
            let passes = look.often("db.status.sort_merge_passes")?;
            Some(format!(
                "sorts were merged from files, {}/s times",
                text::rate(passes)
            ))
        },
    },
    Rule {
        setting: "innodb_buffer_pool_size",
        counters: &[
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_read_requests",
        ],
        about: "What InnoDB keeps of its pages in memory.",
        finds: |look| {
            let reads = look.often("db.status.innodb_buffer_pool_reads")?;
            let requests = look.mean("db.status.innodb_buffer_pool_read_requests")?;
            let share = reads / requests.max(reads);
            (share >= SHARE).then(|| {
                format!(
                    "{}/s page requests had to be read from disk, {} of all",
                    text::rate(reads),
                    text::percent(share)
                )
            })
        },
    },
    Rule {
        setting: "innodb_buffer_pool_size",
        counters: &["Innodb_buffer_pool_wait_free"],
        about: "What InnoDB keeps of its pages in memory; background flushing (innodb_io_capacity) \
                is to keep some of it free.",
        finds: |look| {
            let waits = look.often("db.status.innodb_buffer_pool_wait_free")?;
            Some(format!(
                "{}/s times a page had to be made free first",
                text::rate(waits)
            ))
        },
    },
    Rule {
        setting: "innodb_log_buffer_size",
        counters: &["Innodb_log_waits"],
        about: "What is kept of the redo log before it is written.",
        finds: |look| {
            let waits = look.often("db.status.innodb_log_waits")?;
            Some(format!(
                "{}/s times the log buffer was too small and had to be written first",
                text::rate(waits)
            ))
        },
    },
    // MariaDB, and Percona Server before 8.0.30.
    Rule {
        setting: "innodb_log_file_size",
        counters: &["Innodb_checkpoint_age", "Innodb_checkpoint_max_age"],
        about: "How much may be changed before pages must be flushed.",
        finds: |look| {
            let most = look.mean("db.status.innodb_checkpoint_max_age")?;
            let age = look.view.largest("db.status.innodb_checkpoint_age")?;
            (most > 0.0 && age / most >= FULL).then(|| {
                format!(
                    "the checkpoint's age reached {} of its bound, at which flushing is forced",
                    text::percent(age / most)
                )
            })
        },
    },
    Rule {
        setting: "innodb_redo_log_capacity",
        counters: &["Innodb_redo_log_logical_size"],
        about: "How much may be changed before pages must be flushed.",
        finds: |look| {
            let most = look.number("innodb_redo_log_capacity")?;
            let size = look
                .view
                .largest("db.status.innodb_redo_log_logical_size")?;
            (most > 0.0 && size / most >= REDO_FULL).then(|| {
                format!(
                    "the redo log not yet freed by a checkpoint reached {} of its capacity; the \
                     server forces flushing before it is full",
                    text::percent(size / most)
                )
            })
        },
    },
    Rule {
        setting: "binlog_cache_size",
        counters: &["Binlog_cache_disk_use", "Binlog_cache_use"],
        about: "What a session keeps of a transaction for the binary log before it uses a file.",
        finds: |look| {
            let disk = look.often("db.status.binlog_cache_disk_use")?;
            let all = look.mean("db.status.binlog_cache_use")?.max(disk);
            let share = disk / all;
            (share >= SHARE).then(|| {
                format!(
                    "{}/s transactions went to a file on their way to the binary log, {} of all",
                    text::rate(disk),
                    text::percent(share)
                )
            })
        },
    },
    Rule {
        setting: "thread_cache_size",
        counters: &["Threads_created"],
        about: "How many threads are kept for the next connections.",
        finds: |look| {
            let made = look.often("db.status.threads_created")?;
            Some(format!(
                "{}/s threads were made for new connections",
                text::rate(made)
            ))
        },
    },
    Rule {
        setting: "max_connections",
        counters: &["Connection_errors_max_connections", "Threads_connected"],
        about: "How many sessions there may be.",
        finds: |look| {
            let most = look.number("max_connections")?;
            let refused = look.often("db.status.connection_errors_max_connections");
            let there = look.view.largest("db.status.threads_connected")?;
            match refused {
                Some(per_s) => Some(format!(
                    "{}/s connections were refused for it",
                    text::rate(per_s)
                )),
                None => (there >= FULL * most).then(|| {
                    format!(
                        "{} of {} sessions were there at most",
                        text::plain(there),
                        text::plain(most)
                    )
                }),
            }
        },
    },
    Rule {
        setting: "max_allowed_packet",
        counters: &["Aborted_clients"],
        about: "The longest packet; connections also end where clients die, or wait longer than \
                wait_timeout. The server's log says which.",
        finds: |look| {
            let lost = look.often("db.status.aborted_clients")?;
            Some(format!(
                "{}/s connections ended without being closed",
                text::rate(lost)
            ))
        },
    },
    Rule {
        setting: "innodb_lock_wait_timeout",
        counters: &["Innodb_row_lock_waits", "Innodb_row_lock_time"],
        about: "How long a statement waits for a row; that it has to wait is a matter of the \
                statements, their keys and their order.",
        finds: |look| {
            let waits = look.often("db.status.innodb_row_lock_waits")?;
            let waiting = look.mean("db.status.innodb_row_lock_time").unwrap_or(0.0);
            (waiting >= 0.1).then(|| {
                format!(
                    "{}/s statements waited for locked rows, {} at a time on average",
                    text::rate(waits),
                    text::plain(waiting)
                )
            })
        },
    },
    Rule {
        setting: "max_prepared_stmt_count",
        counters: &["Prepared_stmt_count"],
        about: "How many statements all sessions together may have prepared.",
        finds: |look| {
            let most = look.number("max_prepared_stmt_count")?;
            let there = look.view.largest("db.status.prepared_stmt_count")?;
            (most > 0.0 && there >= FULL * most).then(|| {
                format!(
                    "{} of {} were prepared",
                    text::plain(there),
                    text::plain(most)
                )
            })
        },
    },
];
