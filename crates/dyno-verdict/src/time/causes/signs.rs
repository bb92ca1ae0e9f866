//! Series that tell what made a run slower.

use super::BY_OTHERS;
use crate::text;

/// What a series counts, by which its values are told.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// That it happened is all there is to say.
    Whether,
    Percent,
    Cores,
    PerSecond,
    BytesPerSecond,
    Bytes,
    Ms,
    Count,
}

/// A series that tells what made a run slower: which, from which value in it on, by which factor
/// above the rest of the time, and in words.
pub(super) type Sign = (&'static str, f64, f64, Unit, &'static str);

pub(super) const SIGNS: [Sign; 33] = [
    (
        "db.status.innodb_row_lock_current_waits",
        1.0,
        2.0,
        Unit::Count,
        "statements waited for locks of rows",
    ),
    (
        "db.status.handler_read_rnd_next",
        100_000.0,
        3.0,
        Unit::PerSecond,
        "rows of whole tables were scanned",
    ),
    (
        "db.tables.seq_tuples",
        100_000.0,
        3.0,
        Unit::PerSecond,
        "rows of whole tables were scanned",
    ),
    (
        "db.status.com_alter_table",
        0.01,
        3.0,
        Unit::Whether,
        "an ALTER TABLE was executed",
    ),
    (
        "host.cpu.iowait",
        10.0,
        2.0,
        Unit::Percent,
        "the CPUs waited for the disk",
    ),
    (
        "host.cpu.steal",
        5.0,
        2.0,
        Unit::Percent,
        "the hypervisor took the CPUs",
    ),
    (
        "host.cgroup.cpu_throttled",
        5.0,
        2.0,
        Unit::Percent,
        "the cgroup's quota of CPU time was used up",
    ),
    ("host.others.cpu", 0.3, 2.0, Unit::Cores, BY_OTHERS),
    (
        "host.pressure.memory.full",
        10.0,
        2.0,
        Unit::Percent,
        "tasks waited for memory",
    ),
    (
        "host.swap.in",
        1e6,
        3.0,
        Unit::BytesPerSecond,
        "pages came from swap",
    ),
    (
        "host.tcp.retransmits",
        10.0,
        3.0,
        Unit::PerSecond,
        "segments were sent again",
    ),
    (
        "db.status.innodb_buffer_pool_wait_free",
        1.0,
        3.0,
        Unit::PerSecond,
        "pages had to be freed first",
    ),
    (
        "db.status.innodb_log_waits",
        1.0,
        3.0,
        Unit::PerSecond,
        "the log's buffer was full",
    ),
    (
        "db.status.innodb_row_lock_waits",
        20.0,
        3.0,
        Unit::PerSecond,
        "statements waited for rows' locks",
    ),
    (
        "db.locks.waiting",
        1.0,
        2.0,
        Unit::Count,
        "statements waited for locks",
    ),
    (
        "db.status.innodb_buffer_pool_pages_flushed",
        50.0,
        3.0,
        Unit::PerSecond,
        "pages were flushed",
    ),
    (
        "db.status.innodb_data_fsyncs",
        50.0,
        3.0,
        Unit::PerSecond,
        "files were synced",
    ),
    (
        "db.status.innodb_buffer_pool_reads",
        50.0,
        2.0,
        Unit::PerSecond,
        "pages were read from disk",
    ),
    (
        "db.status.innodb_checkpoint_age",
        32e6,
        1.5,
        Unit::Bytes,
        "the log behind the checkpoint was longer",
    ),
    (
        "db.status.innodb_buffer_pool_pages_dirty",
        1_000.0,
        1.5,
        Unit::Count,
        "more pages were dirty",
    ),
    (
        "db.innodb.history_list_length",
        10_000.0,
        2.0,
        Unit::Count,
        "purge was behind",
    ),
    (
        "db.rocksdb.compact_write_bytes",
        1e6,
        3.0,
        Unit::BytesPerSecond,
        "compaction wrote",
    ),
    (
        "db.checkpointer.requested",
        0.01,
        3.0,
        Unit::Whether,
        "a checkpoint was requested",
    ),
    (
        "db.checkpointer.timed",
        0.01,
        3.0,
        Unit::Whether,
        "a checkpoint was due",
    ),
    (
        "db.checkpointer.buffers_written",
        50.0,
        3.0,
        Unit::PerSecond,
        "a checkpoint wrote pages",
    ),
    (
        "db.wal.fpi",
        50.0,
        3.0,
        Unit::PerSecond,
        "whole pages went into the log",
    ),
    (
        "db.wal.buffers_full",
        10.0,
        3.0,
        Unit::PerSecond,
        "the log's buffers were full",
    ),
    (
        "db.database.blks_read",
        50.0,
        2.0,
        Unit::PerSecond,
        "pages were read",
    ),
    (
        "db.tables.autovacuums",
        0.01,
        3.0,
        Unit::Whether,
        "autovacuum ran",
    ),
    (
        "db.tables.dead_tuples",
        10_000.0,
        2.0,
        Unit::Count,
        "more rows were dead",
    ),
    (
        "data.total",
        100e6,
        1.2,
        Unit::Bytes,
        "the data directory was larger",
    ),
    (
        "db.database.size",
        100e6,
        1.2,
        Unit::Bytes,
        "the database was larger",
    ),
    (
        "db.round_trip",
        2.0,
        3.0,
        Unit::Ms,
        "the observer's SELECT 1 took longer",
    ),
];

/// What moved, from what to what.
pub(super) fn told(words: &str, unit: Unit, then: f64, usual: f64) -> String {
    let (then, usual, after) = match unit {
        Unit::Whether => return words.to_owned(),
        Unit::Percent => (text::plain(then), text::plain(usual), " %"),
        Unit::Cores => (text::plain(then), text::plain(usual), " cores"),
        Unit::PerSecond => (text::rate(then), text::rate(usual), " per second"),
        Unit::BytesPerSecond => (text::bytes(then), text::bytes(usual), " per second"),
        Unit::Bytes => (text::bytes(then), text::bytes(usual), ""),
        Unit::Ms => (text::plain(then), text::plain(usual), " ms"),
        Unit::Count => (text::rate(then), text::rate(usual), ""),
    };
    format!("{words}: {then} instead of {usual}{after}")
}
