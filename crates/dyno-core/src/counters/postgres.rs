//! The counters of PostgreSQL's views of statistics.

use super::Also::{Connections, NewBlocks, Wal};
use super::Counts::{
    Block, Byte, Descent, Event, Lock, LogRecord, Operation, Row, Session, Sync, Transaction, Wait,
};
use super::Reset::Statistics;
use super::Server::Postgres;
use super::{Counter, Span};
use crate::catalogue::names;

const ALL: &[Span] = &[Span::all(Postgres)];
const BEFORE_17: &[Span] = &[Span::before(Postgres, (17, 0))];
const BEFORE_18: &[Span] = &[Span::between(Postgres, (14, 0), (18, 0))];
const BLOCKS: &[Span] = &[Span::between(Postgres, (16, 0), (18, 0))];
const SINCE_14: &[Span] = &[Span::since(Postgres, (14, 0))];
const SINCE_16: &[Span] = &[Span::since(Postgres, (16, 0))];
const SINCE_18: &[Span] = &[Span::since(Postgres, (18, 0))];

/// 1 ms in seconds. The query already divides, so the series needs no scale.
const DIVIDED: f64 = 1.0;

const fn count(series: &'static str, source: &'static str) -> Counter {
    Counter::new(series, source, ALL).reset(Statistics)
}

/// Reads and writes of one context, by blocks of 8 KiB.
const fn blocks(series: &'static str, source: &'static str) -> Counter {
    count(series, source).counts(Block).only(BLOCKS)
}

/// Reads and writes of one context, by kernel requests.
const fn requests(series: &'static str, source: &'static str) -> Counter {
    count(series, source)
        .counts(Operation)
        .only(SINCE_18)
        .note("one request may cover several blocks; excludes the WAL's rows")
}

const fn io_bytes(series: &'static str, source: &'static str) -> Counter {
    count(series, source)
        .counts(Byte)
        .only(SINCE_16)
        .note("before 18, blocks times `op_bytes`; from 18 on, excludes the WAL's rows")
}

pub(super) const COUNTERS: &[Counter] = &[
    count(
        names::DB_DATABASE_XACT_COMMIT,
        "pg_stat_database.xact_commit",
    )
    .counts(Transaction)
    .also(&[Connections])
    .note(
        "a statement without BEGIN is one, including reads; so are a connection's first \
             queries",
    ),
    count(
        names::DB_DATABASE_XACT_ROLLBACK,
        "pg_stat_database.xact_rollback",
    )
    .counts(Transaction)
    .note("includes failed transactions that end with COMMIT"),
    count(names::DB_DATABASE_BLKS_READ, "pg_stat_database.blks_read")
        .counts(Block)
        .also(&[NewBlocks])
        .only(&[Span::before(Postgres, (16, 0))])
        .note("not found in shared buffers, or new in a table or index that grows"),
    count(names::DB_DATABASE_BLKS_READ, "pg_stat_database.blks_read")
        .counts(Block)
        .only(SINCE_16)
        .note("not found in shared buffers; may come from the kernel's page cache"),
    count(names::DB_DATABASE_BLKS_HIT, "pg_stat_database.blks_hit")
        .counts(Block)
        .note("a block counts each time it is accessed"),
    count(
        names::DB_DATABASE_TUP_RETURNED,
        "pg_stat_database.tup_returned",
    )
    .counts(Row)
    .note("live rows read by table scans, and entries returned by index scans"),
    count(
        names::DB_DATABASE_TUP_FETCHED,
        "pg_stat_database.tup_fetched",
    )
    .counts(Row)
    .note("live rows fetched through indexes"),
    count("db.database.tup_*", "pg_stat_database.tup_…")
        .counts(Row)
        .note("including rows of transactions that were rolled back"),
    count(names::DB_DATABASE_CONFLICTS, "pg_stat_database.conflicts"),
    count(names::DB_DATABASE_TEMP_FILES, "pg_stat_database.temp_files"),
    count(names::DB_DATABASE_TEMP_BYTES, "pg_stat_database.temp_bytes").counts(Byte),
    count(names::DB_DATABASE_DEADLOCKS, "pg_stat_database.deadlocks"),
    count(names::DB_DATABASE_SESSIONS, "pg_stat_database.sessions")
        .counts(Session)
        .only(SINCE_14),
    count(
        names::DB_SERVER_SESSIONS,
        "pg_stat_database.sessions of all databases",
    )
    .counts(Session)
    .only(SINCE_14),
    count(names::DB_DATABASE_SIZE, "pg_database_size").state(Byte, "bytes"),
    count(names::DB_BACKENDS, "pg_stat_database.numbackends").state(Session, "count"),
    count("db.backends.*", "pg_stat_activity")
        .state(Session, "count")
        .note("without the observer"),
    count(
        "db.sessions[*",
        "pg_stat_activity.wait_event_type; MySQL: the list of sessions",
    )
    .state(Session, "count")
    .note("active sessions, by wait type or state"),
    count(
        names::DB_BACKUPS,
        "pg_stat_activity, pg_stat_progress_basebackup; MySQL: the list of sessions",
    )
    .state(Session, "count")
    .note("sessions that make a backup"),
    count("db.locks.*", "pg_locks").state(Lock, "count"),
    count(names::DB_OLDEST_XMIN_AGE, "pg_stat_activity.backend_xmin").state(Transaction, "count"),
    count(
        names::DB_TABLES_LIVE_TUPLES,
        "pg_stat_user_tables.n_live_tup",
    )
    .state(Row, "count"),
    count(
        names::DB_TABLES_DEAD_TUPLES,
        "pg_stat_user_tables.n_dead_tup",
    )
    .state(Row, "count"),
    count(
        names::DB_TABLES_AUTOVACUUMS,
        "pg_stat_user_tables.autovacuum_count",
    )
    .counts(Event),
    count(
        names::DB_TABLES_SCANS,
        "pg_stat_user_tables.seq_scan + idx_scan",
    )
    .counts(Descent)
    .note(
        "not statements: an index scan counts once per row of an outer table, and before 17 \
             once per value of an IN list. Each parallel worker's scan counts; TABLESAMPLE and \
             `ctid =` do not",
    ),
    count(names::DB_TABLES_SEQ_SCANS, "pg_stat_user_tables.seq_scan")
        .counts(Descent)
        .note(
            "a scan of a whole table; each parallel worker's counts, TABLESAMPLE and ranges of \
             `ctid` do not",
        ),
    count(
        names::DB_TABLES_SEQ_TUPLES,
        "pg_stat_user_tables.seq_tup_read",
    )
    .counts(Row)
    .note("includes rows that TABLESAMPLE and ranges of `ctid` read"),
    count(
        "db.checkpointer.timed",
        "pg_stat_bgwriter.checkpoints_timed",
    )
    .only(BEFORE_17)
    .note("including skipped checkpoints, on a server that wrote nothing"),
    count("db.checkpointer.timed", "pg_stat_checkpointer.num_timed")
        .only(&[Span::since(Postgres, (17, 0))])
        .note("including skipped checkpoints; `num_done` of 18 counts completed ones"),
    count(
        names::DB_CHECKPOINTER_REQUESTED,
        "pg_stat_checkpointer.num_requested, checkpoints_req",
    ),
    count(
        names::DB_CHECKPOINTER_BUFFERS_WRITTEN,
        "pg_stat_checkpointer.buffers_written",
    )
    .counts(Block),
    count(
        "db.checkpointer.write_time",
        "pg_stat_checkpointer.write_time",
    )
    .seconds(DIVIDED)
    .note("including pauses between writes"),
    count(
        "db.checkpointer.sync_time",
        "pg_stat_checkpointer.sync_time",
    )
    .seconds(DIVIDED),
    count(
        names::DB_BGWRITER_MAXWRITTEN_CLEAN,
        "pg_stat_bgwriter.maxwritten_clean",
    )
    .note("rounds that stopped at `bgwriter_lru_maxpages`"),
    count(
        "db.bgwriter.buffers_backend*",
        "pg_stat_bgwriter.buffers_backend, _fsync",
    )
    .counts(Block)
    .only(BEFORE_17)
    .note("pages that sessions wrote themselves or added to files"),
    count("db.bgwriter.buffers_*", "pg_stat_bgwriter.buffers_…").counts(Block),
    count("db.wal.records", "pg_stat_wal.wal_records")
        .counts(LogRecord)
        .only(SINCE_14),
    count(names::DB_WAL_FPI, "pg_stat_wal.wal_fpi")
        .counts(Block)
        .only(SINCE_14),
    count(names::DB_WAL_BYTES, "pg_stat_wal.wal_bytes")
        .counts(Byte)
        .only(SINCE_14)
        .note("generated, not written; the server writes whole pages"),
    count(names::DB_WAL_BUFFERS_FULL, "pg_stat_wal.wal_buffers_full")
        .counts(Wait)
        .only(SINCE_14),
    count(names::DB_WAL_WRITES, "pg_stat_wal.wal_write")
        .counts(Operation)
        .only(BEFORE_18),
    count(
        names::DB_WAL_WRITES,
        "pg_stat_io.writes where object = 'wal'",
    )
    .counts(Operation)
    .only(SINCE_18),
    count(names::DB_WAL_SYNCS, "pg_stat_wal.wal_sync")
        .counts(Sync)
        .only(BEFORE_18)
        .note("0 with `wal_sync_method` open_sync or open_datasync, and with fsync off"),
    count(
        names::DB_WAL_SYNCS,
        "pg_stat_io.fsyncs where object = 'wal'",
    )
    .counts(Sync)
    .only(SINCE_18)
    .note("0 with `wal_sync_method` open_sync or open_datasync, and with fsync off"),
    blocks("db.io.read_blocks", "pg_stat_io.reads"),
    blocks("db.io.written_blocks", "pg_stat_io.writes"),
    blocks("db.io.extended_blocks", "pg_stat_io.extends"),
    requests("db.io.reads", "pg_stat_io.reads"),
    requests("db.io.writes", "pg_stat_io.writes"),
    requests("db.io.extends", "pg_stat_io.extends"),
    io_bytes(names::DB_IO_READ_BYTES, "pg_stat_io.read_bytes"),
    io_bytes(names::DB_IO_WRITE_BYTES, "pg_stat_io.write_bytes"),
    io_bytes(names::DB_IO_EXTEND_BYTES, "pg_stat_io.extend_bytes"),
    count("db.io.hits", "pg_stat_io.hits")
        .counts(Block)
        .only(SINCE_16),
    count("db.io.evictions", "pg_stat_io.evictions")
        .counts(Block)
        .only(SINCE_16),
    count("db.io.writebacks", "pg_stat_io.writebacks")
        .counts(Block)
        .only(SINCE_16)
        .note("pages that the kernel was asked to write"),
    count("db.io.fsyncs", "pg_stat_io.fsyncs")
        .counts(Sync)
        .only(SINCE_16)
        .note("of tables and indexes; from 18 on, excludes the WAL's"),
    count("pg_stat_io", "pg_stat_io as the server has it")
        .counts(Operation)
        .also(&[Wal])
        .only(SINCE_18)
        .note("includes rows of the WAL; counts requests, with bytes in separate columns"),
    count("pg_stat_io", "pg_stat_io as the server has it")
        .counts(Block)
        .only(BLOCKS)
        .note("excludes the WAL; each read, write or extend covers one block"),
    count(
        names::DB_REPLICATION_LAG,
        "pg_last_xact_replay_timestamp(), replay_lag; Seconds_Behind_Source",
    )
    .state(super::Counts::Time, "s"),
    count(
        names::DB_REPLICATION_BEHIND,
        "pg_last_wal_replay_lsn(), replay_lsn",
    )
    .state(Byte, "bytes"),
    count(names::DB_REPLICATION_REPLICAS, "pg_stat_replication").state(Session, "count"),
];
