//! Counters of MySQL and MariaDB.

use dyno_core::catalogue::names;

use super::{FULL, Rule, SHARE};
use crate::text;

/// InnoDB keeps a part of the capacity free and forces flushing before that point: a write load on
/// MySQL 9.7 with 8 MiB stalled at 74 %.
const REDO_FULL: f64 = 0.7;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "table_open_cache",
        counters: &["Table_open_cache_misses", "Table_open_cache_hits"],
        about: "The number of open tables kept for later statements.",
        finds: |look| {
            let hits = [names::DB_STATUS_TABLE_OPEN_CACHE_HITS];
            let (misses, share) = look.share(names::DB_STATUS_TABLE_OPEN_CACHE_MISSES, &hits)?;
            Some(format!(
                "{}/s table opens missed the cache, {} of all",
                text::rate(misses),
                text::percent(share)
            ))
        },
    },
    Rule {
        setting: "tmp_table_size",
        counters: &["Created_tmp_disk_tables", "Created_tmp_tables"],
        about: "The largest temporary table in memory, also limited by max_heap_table_size; tables \
                with TEXT or BLOB columns may go to disk at any size.",
        finds: |look| {
            let disk = look.often(names::DB_STATUS_CREATED_TMP_DISK_TABLES)?;
            let all = look.mean(names::DB_STATUS_CREATED_TMP_TABLES)?.max(disk);
            Some(format!(
                "{}/s temporary tables were created on disk, {} of all",
                text::rate(disk),
                text::percent(disk / all)
            ))
        },
    },
    Rule {
        setting: "sort_buffer_size",
        counters: &["Sort_merge_passes"],
        about: "The memory for the sorts of a session.",
        finds: |look| {
            let passes = look.often(names::DB_STATUS_SORT_MERGE_PASSES)?;
            Some(format!(
                "sorts exceeded the memory: {}/s merge passes",
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
        about: "The size of InnoDB's page cache.",
        finds: |look| {
            let reads = look.often(names::DB_STATUS_INNODB_BUFFER_POOL_READS)?;
            let requests = look.mean(names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS)?;
            let share = reads / requests.max(reads);
            (share >= SHARE).then(|| {
                format!(
                    "{}/s page requests were read from disk, {} of all",
                    text::rate(reads),
                    text::percent(share)
                )
            })
        },
    },
    Rule {
        setting: "innodb_buffer_pool_size",
        counters: &["Innodb_buffer_pool_wait_free"],
        about: "The size of InnoDB's page cache; background flushing (innodb_io_capacity) should \
                keep some of it free.",
        finds: |look| {
            let waits = look.often(names::DB_STATUS_INNODB_BUFFER_POOL_WAIT_FREE)?;
            Some(format!(
                "{}/s requests waited for a free page",
                text::rate(waits)
            ))
        },
    },
    Rule {
        setting: "innodb_log_buffer_size",
        counters: &["Innodb_log_waits"],
        about: "The buffer for redo log that is not yet written.",
        finds: |look| {
            let waits = look.often(names::DB_STATUS_INNODB_LOG_WAITS)?;
            Some(format!(
                "{}/s waits for a full log buffer to be written",
                text::rate(waits)
            ))
        },
    },
    // MariaDB, and Percona Server before 8.0.30.
    Rule {
        setting: "innodb_log_file_size",
        counters: &["Innodb_checkpoint_age", "Innodb_checkpoint_max_age"],
        about: "The size of the redo log: how much may change before pages must be flushed.",
        finds: |look| {
            let most = look.mean(names::DB_STATUS_INNODB_CHECKPOINT_MAX_AGE)?;
            let age = look.view.largest(names::DB_STATUS_INNODB_CHECKPOINT_AGE)?;
            (most > 0.0 && age / most >= FULL).then(|| {
                format!(
                    "the checkpoint age reached {} of the limit at which flushing is forced",
                    text::percent(age / most)
                )
            })
        },
    },
    Rule {
        setting: "innodb_redo_log_capacity",
        counters: &["Innodb_redo_log_logical_size"],
        about: "The size of the redo log: how much may change before pages must be flushed.",
        finds: |look| {
            let most = look.number("innodb_redo_log_capacity")?;
            let size = look
                .view
                .largest(names::DB_STATUS_INNODB_REDO_LOG_LOGICAL_SIZE)?;
            // With the older innodb_log_file_size, MySQL shows the default here but uses more.
            let is_known = most > 0.0 && size <= most;
            (is_known && size >= REDO_FULL * most).then(|| {
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
        about: "The memory for a transaction's binary log before it goes to a file.",
        finds: |look| {
            let disk = look.often(names::DB_STATUS_BINLOG_CACHE_DISK_USE)?;
            let all = look.mean(names::DB_STATUS_BINLOG_CACHE_USE)?.max(disk);
            let share = disk / all;
            (share >= SHARE).then(|| {
                format!(
                    "{}/s transactions spilled to a file before the binary log, {} of all",
                    text::rate(disk),
                    text::percent(share)
                )
            })
        },
    },
    Rule {
        setting: "thread_cache_size",
        counters: &["Threads_created"],
        about: "The number of threads kept for later connections.",
        finds: |look| {
            let created = look.often(names::DB_STATUS_THREADS_CREATED)?;
            Some(format!(
                "{}/s threads were created for new connections",
                text::rate(created)
            ))
        },
    },
    Rule {
        setting: "max_connections",
        counters: &["Connection_errors_max_connections", "Threads_connected"],
        about: "The largest number of sessions.",
        finds: |look| {
            let most = look.number("max_connections")?;
            let refused = look.often(names::DB_STATUS_CONNECTION_ERRORS_MAX_CONNECTIONS);
            let there = look.view.largest(names::DB_STATUS_THREADS_CONNECTED)?;
            match refused {
                Some(per_s) => Some(format!(
                    "{}/s connections were refused at this limit",
                    text::rate(per_s)
                )),
                None => (there >= FULL * most).then(|| {
                    format!(
                        "up to {} of {} sessions were open",
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
        about: "The longest packet. Connections also end when clients die or idle longer than \
                wait_timeout; the server's log has the reason.",
        finds: |look| {
            let lost = look.often(names::DB_STATUS_ABORTED_CLIENTS)?;
            Some(format!(
                "{}/s connections ended without being closed",
                text::rate(lost)
            ))
        },
    },
    Rule {
        setting: "innodb_lock_wait_timeout",
        counters: &["Innodb_row_lock_waits", "Innodb_row_lock_time"],
        about: "How long a statement waits for a row lock. Whether it has to wait depends on the \
                statements, their keys and their order.",
        finds: |look| {
            let waits = look.often(names::DB_STATUS_INNODB_ROW_LOCK_WAITS)?;
            let waiting = look
                .mean(names::DB_STATUS_INNODB_ROW_LOCK_TIME)
                .unwrap_or(0.0);
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
        about: "The largest number of prepared statements in all sessions together.",
        finds: |look| {
            let most = look.number("max_prepared_stmt_count")?;
            let there = look.view.largest(names::DB_STATUS_PREPARED_STMT_COUNT)?;
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
