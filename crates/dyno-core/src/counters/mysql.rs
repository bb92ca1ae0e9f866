//! The counters of MySQL and MariaDB.

use super::Also::Connections;
use super::Counts::{
    Block, Byte, Commit, Connection, Descent, Engine, Event, Node, Operation, Row, Session,
    Statement, Sync, Table, Transaction, Wait,
};
use super::Reset::FlushStatus;
use super::Server::{MariaDb, MySql};
use super::{Counter, Span};
use crate::catalogue::names;

const BOTH: &[Span] = &[Span::all(MariaDb), Span::all(MySql)];
const MARIADB: &[Span] = &[Span::all(MariaDb)];
const MYSQL: &[Span] = &[Span::all(MySql)];
/// From this version on, InnoDB's status has no row counts and log syncs.
const BEFORE_MARIADB_10_6: &[Span] = &[Span::before(MariaDb, (10, 6)), Span::all(MySql)];
const GROUP: &[Span] = &[Span::since(MySql, (8, 1))];

/// A microsecond, millisecond and nanosecond in seconds.
const US: f64 = 1e-6;
const MS: f64 = 1e-3;
const NS: f64 = 1e-9;

/// What InnoDB's counters of deadlocks count.
const OF_ROW_LOCKS: &str =
    "only deadlocks of row locks; those of metadata locks have the same error";

const fn status(series: &'static str, source: &'static str) -> Counter {
    Counter::new(series, source, BOTH)
}

/// A mean that Galera keeps since the last reset.
const fn galera_mean(series: &'static str, source: &'static str) -> Counter {
    status(series, source)
        .mean()
        .reset(FlushStatus)
        .note("not recorded; `FLUSH STATUS` on any node resets it on all nodes")
}

pub(super) const COUNTERS: &[Counter] = &[
    status(names::DB_STATUS_QUESTIONS, "Questions")
        .counts(Statement)
        .also(&[Connections])
        .note(
            "what clients send. COM_QUIT counts, so each connection adds one; statements within \
             procedures, COM_STMT_PREPARE and COM_STMT_CLOSE do not count",
        ),
    status("db.status.queries", "Queries")
        .counts(Statement)
        .also(&[Connections])
        .note("as Questions, plus statements within procedures"),
    status(names::DB_STATUS_COM_STMT_EXECUTE, "Com_stmt_execute")
        .counts(Statement)
        .note(
            "executions of prepared statements, which also count as their kind (`Com_select`) and \
             as a question. MySQL's digests list them separately from text statements (`EXECUTE \
             …`); MariaDB's digests omit those that a driver executes",
        ),
    status(names::DB_STATUS_COM_COMMIT, "Com_commit")
        .counts(Statement)
        .note("COMMIT statements; autocommits do not count"),
    status(names::DB_STATUS_COM_ROLLBACK, "Com_rollback")
        .counts(Statement)
        .note("ROLLBACK statements; the rollback of a lost session does not count"),
    status("db.status.com_*", "Com_…")
        .counts(Statement)
        .note("statements of that kind, including failed ones, whatever they changed"),
    status("db.status.handler_commit", "Handler_commit")
        .counts(Engine)
        .note(
            "each statement that uses a transactional engine, including reads, and once more the \
             COMMIT. With the binary log on, a write to it counts, too: an UPDATE with autocommit \
             is 2",
        ),
    status("db.status.handler_prepare", "Handler_prepare")
        .counts(Engine)
        .note("both phases of a commit with the binary log: 2 for an UPDATE with autocommit"),
    status(
        names::DB_STATUS_HANDLER_READ_RND_NEXT,
        "Handler_read_rnd_next",
    )
    .counts(Row)
    .note("rows read by scans, including scans of internal temporary tables"),
    status(names::DB_STATUS_HANDLER_TMP_WRITE, "Handler_tmp_write")
        .counts(Row)
        .note("rows written into internal temporary tables")
        .only(MARIADB),
    status(names::DB_STATUS_HANDLER_WRITE, "Handler_write")
        .counts(Row)
        .note("on MySQL including rows of internal temporary tables"),
    status("db.status.handler_read_*", "Handler_read_…")
        .counts(Descent)
        .note(
            "`_key`, `_first` and `_last` are index descents; `_next` and `_prev` are rows read \
             after a descent. FULLTEXT searches, and COUNT inside MySQL's InnoDB, change none of \
             them",
        ),
    status("db.status.binlog_commits", "Binlog_commits")
        .counts(Commit)
        .note("includes an UPDATE or DELETE that matches no row, except with `binlog_format` ROW")
        .only(MARIADB),
    status("db.status.binlog_cache_*", "Binlog_cache_…")
        .counts(Transaction)
        .note("transactions that used the binary log cache (`_use`), or exceeded it (`_disk_use`)"),
    status(names::DB_STATUS_CONNECTIONS, "Connections")
        .counts(Connection)
        .note("attempts, including refused ones"),
    status(names::DB_STATUS_ABORTED_CLIENTS, "Aborted_clients").counts(Connection),
    status("db.status.aborted_connects", "Aborted_connects").counts(Connection),
    status("db.status.connection_errors_*", "Connection_errors_…").counts(Connection),
    status(names::DB_STATUS_THREADS_CREATED, "Threads_created"),
    status(names::DB_STATUS_THREADS_CONNECTED, "Threads_connected").state(Session, "count"),
    status(names::DB_STATUS_THREADS_RUNNING, "Threads_running")
        .state(Session, "count")
        .note("includes the session that asks"),
    status("db.status.threads_cached", "Threads_cached").state(Session, "count"),
    status("db.status.max_used_connections", "Max_used_connections")
        .state(Connection, "count")
        .reset(FlushStatus)
        .note("the maximum since the last reset"),
    status(names::DB_STATUS_PREPARED_STMT_COUNT, "Prepared_stmt_count").state(Statement, "count"),
    status(names::DB_STATUS_SLOW_QUERIES, "Slow_queries")
        .counts(Statement)
        .note(
            "longer than `long_query_time`. The slow log's `Lock_time` includes row lock waits on \
             MySQL but not on MariaDB",
        ),
    status("db.status.bytes_received", "Bytes_received").counts(Byte),
    status("db.status.bytes_sent", "Bytes_sent")
        .counts(Byte)
        .note(
            "MySQL 9.7 starts at an arbitrary value of about 10^14, so only differences are \
             meaningful",
        ),
    status("db.status.created_tmp_*", "Created_tmp_…").counts(Table),
    status(names::DB_STATUS_SORT_MERGE_PASSES, "Sort_merge_passes"),
    status(names::DB_STATUS_OPENED_TABLES, "Opened_tables").counts(Table),
    status(
        "db.status.table_open_cache_active_instances",
        "Table_open_cache_active_instances",
    )
    .state(Event, "count"),
    status("db.status.table_open_cache_*", "Table_open_cache_…").counts(Table),
    status(names::DB_STATUS_QCACHE_HITS, "Qcache_hits")
        .counts(Statement)
        .note("answers from the query cache, which `Com_select` does not count")
        .only(MARIADB),
    status("db.status.memory_used", "Memory_used")
        .state(Byte, "bytes")
        .only(MARIADB),
    status("db.status.global_memory_used", "Global_memory_used")
        .state(Byte, "bytes")
        .only(MYSQL),
    status("db.status.busy_time", "Busy_time")
        .seconds(1.0)
        .note("summed over all threads; 0 without `userstat`")
        .only(MARIADB),
    status("db.status.cpu_time", "Cpu_time")
        .seconds(1.0)
        .note("summed over all threads; 0 without `userstat`")
        .only(MARIADB),
    status("db.status.query_time", "Query_time")
        .seconds(1.0)
        .note("summed over all statements")
        .only(MARIADB),
    status(
        names::DB_STATUS_INNODB_ROW_LOCK_WAITS,
        "Innodb_row_lock_waits",
    )
    .counts(Wait)
    .note("table locks and metadata locks do not count"),
    status(
        names::DB_STATUS_INNODB_ROW_LOCK_TIME,
        "Innodb_row_lock_time",
    )
    .seconds(MS)
    .note("milliseconds, summed over all waiting sessions; a wait counts when it ends"),
    status(
        "db.status.innodb_row_lock_time_avg",
        "Innodb_row_lock_time_avg",
    )
    .mean(),
    status(
        names::DB_STATUS_INNODB_ROW_LOCK_CURRENT_WAITS,
        "Innodb_row_lock_current_waits",
    )
    .state(Session, "count"),
    status(names::DB_STATUS_INNODB_DEADLOCKS, "Innodb_deadlocks")
        .counts(Transaction)
        .note(OF_ROW_LOCKS)
        .only(MARIADB),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS,
        "Innodb_buffer_pool_read_requests",
    )
    .counts(Block)
    .note("requests for a page, found or not; several per row lookup"),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_READS,
        "Innodb_buffer_pool_reads",
    )
    .counts(Block)
    .note("pages that a request had to read; read-ahead does not count"),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_WAIT_FREE,
        "Innodb_buffer_pool_wait_free",
    )
    .counts(Wait),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_FLUSHED,
        "Innodb_buffer_pool_pages_flushed",
    )
    .counts(Block),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DATA,
        "Innodb_buffer_pool_pages_data",
    )
    .state(Block, "count"),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DIRTY,
        "Innodb_buffer_pool_pages_dirty",
    )
    .state(Block, "count"),
    status(
        names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_TOTAL,
        "Innodb_buffer_pool_pages_total",
    )
    .state(Block, "count"),
    status(
        "db.status.innodb_buffer_pool_bytes_*",
        "Innodb_buffer_pool_bytes_…",
    )
    .state(Byte, "bytes"),
    status("db.status.innodb_pages_*", "Innodb_pages_…")
        .counts(Block)
        .note("`_read` includes read-ahead; `_written` excludes the doublewrite buffer"),
    status("db.status.innodb_data_read", "Innodb_data_read").counts(Byte),
    status("db.status.innodb_data_written", "Innodb_data_written")
        .counts(Byte)
        .note("without the redo log on MariaDB"),
    status(names::DB_STATUS_INNODB_DATA_FSYNCS, "Innodb_data_fsyncs")
        .counts(Sync)
        .note("of all InnoDB files; most are redo log syncs"),
    status(
        names::DB_STATUS_INNODB_OS_LOG_WRITTEN,
        "Innodb_os_log_written",
    )
    .counts(Byte)
    .note("of the redo log; MySQL counts whole blocks of 512 bytes"),
    status(
        names::DB_STATUS_INNODB_OS_LOG_FSYNCS,
        "Innodb_os_log_fsyncs",
    )
    .counts(Sync)
    .only(BEFORE_MARIADB_10_6),
    status(names::DB_STATUS_INNODB_LOG_WRITES, "Innodb_log_writes").counts(Operation),
    status(
        names::DB_STATUS_INNODB_DBLWR_PAGES_WRITTEN,
        "Innodb_dblwr_pages_written",
    )
    .counts(Block),
    status(names::DB_STATUS_KEY_BLOCKS_USED, "Key_blocks_used").state(Block, "count"),
    status(names::DB_STATUS_KEY_READ_REQUESTS, "Key_read_requests").counts(Block),
    status(names::DB_STATUS_KEY_WRITES, "Key_writes").counts(Block),
    status(
        names::DB_STATUS_ARIA_PAGECACHE_BLOCKS_USED,
        "Aria_pagecache_blocks_used",
    )
    .state(Block, "count")
    .only(MARIADB),
    status(
        names::DB_STATUS_ARIA_PAGECACHE_READ_REQUESTS,
        "Aria_pagecache_read_requests",
    )
    .counts(Block)
    .only(MARIADB),
    status(
        names::DB_STATUS_ARIA_PAGECACHE_WRITES,
        "Aria_pagecache_writes",
    )
    .counts(Block)
    .only(MARIADB),
    status(
        names::DB_STATUS_BINLOG_BYTES_WRITTEN,
        "Binlog_bytes_written",
    )
    .counts(Byte)
    .only(MARIADB),
    status(names::DB_STATUS_INNODB_LOG_WAITS, "Innodb_log_waits").counts(Wait),
    status("db.status.innodb_rows_*", "Innodb_rows_…")
        .counts(Row)
        .note("`_read` counts rows that InnoDB returned to the server, not to the client")
        .only(BEFORE_MARIADB_10_6),
    status(
        names::DB_STATUS_INNODB_CHECKPOINT_AGE,
        "Innodb_checkpoint_age",
    )
    .state(Byte, "bytes")
    .only(MARIADB),
    status(
        names::DB_STATUS_INNODB_CHECKPOINT_MAX_AGE,
        "Innodb_checkpoint_max_age",
    )
    .state(Byte, "bytes")
    .only(MARIADB),
    status(
        names::DB_STATUS_INNODB_REDO_LOG_LOGICAL_SIZE,
        "Innodb_redo_log_logical_size",
    )
    .state(Byte, "bytes")
    .only(MYSQL),
    status(
        names::DB_STATUS_WSREP_FLOW_CONTROL_PAUSED_NS,
        "wsrep_flow_control_paused_ns",
    )
    .seconds(NS)
    .note("how long Galera's flow control paused this node's writes, whichever node requested it"),
    galera_mean(
        "db.status.wsrep_flow_control_paused",
        "wsrep_flow_control_paused",
    ),
    galera_mean(
        "db.status.wsrep_local_recv_queue_avg",
        "wsrep_local_recv_queue_avg",
    ),
    galera_mean(
        "db.status.wsrep_local_send_queue_avg",
        "wsrep_local_send_queue_avg",
    ),
    galera_mean(
        "db.status.wsrep_cert_deps_distance",
        "wsrep_cert_deps_distance",
    ),
    galera_mean("db.status.wsrep_cert_interval", "wsrep_cert_interval"),
    galera_mean("db.status.wsrep_apply_oooe", "wsrep_apply_oooe"),
    galera_mean("db.status.wsrep_apply_oool", "wsrep_apply_oool"),
    galera_mean("db.status.wsrep_apply_window", "wsrep_apply_window"),
    galera_mean("db.status.wsrep_commit_oooe", "wsrep_commit_oooe"),
    galera_mean("db.status.wsrep_commit_oool", "wsrep_commit_oool"),
    galera_mean("db.status.wsrep_commit_window", "wsrep_commit_window"),
    status(
        names::DB_STATUS_WSREP_FLOW_CONTROL_SENT,
        "wsrep_flow_control_sent",
    )
    .reset(FlushStatus)
    .note("pause requests that this node sent to the others"),
    status(
        "db.status.wsrep_flow_control_recv",
        "wsrep_flow_control_recv",
    )
    .reset(FlushStatus)
    .note("pause requests of all nodes, including its own"),
    status("db.status.wsrep_causal_reads", "wsrep_causal_reads").counts(Statement),
    status("db.status.wsrep_last_committed", "wsrep_last_committed")
        .counts(Transaction)
        .note("the sequence number of the cluster's last transaction, counted over all nodes"),
    status("db.status.wsrep_local_commits", "wsrep_local_commits")
        .counts(Transaction)
        .note("only this node's"),
    status(
        names::DB_STATUS_WSREP_LOCAL_CERT_FAILURES,
        "wsrep_local_cert_failures",
    )
    .counts(Transaction),
    status(
        names::DB_STATUS_WSREP_LOCAL_BF_ABORTS,
        "wsrep_local_bf_aborts",
    )
    .counts(Transaction),
    status(
        names::DB_STATUS_WSREP_LOCAL_RECV_QUEUE,
        "wsrep_local_recv_queue",
    )
    .state(Transaction, "count"),
    status("db.status.wsrep_cluster_size", "wsrep_cluster_size").state(Node, "count"),
    semi_sync(
        "db.status.rpl_semi_sync_master_net_wait_time",
        "Rpl_semi_sync_master_net_wait_time",
    ),
    semi_sync(
        "db.status.rpl_semi_sync_master_tx_wait_time",
        "Rpl_semi_sync_master_tx_wait_time",
    ),
    semi_sync(
        "db.status.rpl_semi_sync_source_net_wait_time",
        "Rpl_semi_sync_source_net_wait_time",
    ),
    semi_sync(
        "db.status.rpl_semi_sync_source_tx_wait_time",
        "Rpl_semi_sync_source_tx_wait_time",
    ),
    status("db.status.master_gtid_wait_time", "Master_gtid_wait_time")
        .seconds(US)
        .note("microseconds")
        .only(MARIADB),
    status(
        "db.status.gr_flow_control_throttle_active_count",
        "Gr_flow_control_throttle_active_count",
    )
    .state(Transaction, "count")
    .only(GROUP),
    time_sum(
        names::DB_STATUS_GR_FLOW_CONTROL_THROTTLE_TIME_SUM,
        "Gr_flow_control_throttle_time_sum",
    ),
    time_sum(
        "db.status.gr_all_consensus_time_sum",
        "Gr_all_consensus_time_sum",
    ),
    time_sum(
        "db.status.gr_certification_garbage_collector_time_sum",
        "Gr_certification_garbage_collector_time_sum",
    ),
    time_sum(
        "db.status.gr_control_messages_sent_roundtrip_time_sum",
        "Gr_control_messages_sent_roundtrip_time_sum",
    ),
    time_sum(
        "db.status.gr_data_messages_sent_roundtrip_time_sum",
        "Gr_data_messages_sent_roundtrip_time_sum",
    ),
    time_sum(
        "db.status.gr_transactions_consistency_after_sync_time_sum",
        "Gr_transactions_consistency_after_sync_time_sum",
    ),
    time_sum(
        "db.status.gr_transactions_consistency_after_termination_time_sum",
        "Gr_transactions_consistency_after_termination_time_sum",
    ),
    time_sum(
        "db.status.gr_transactions_consistency_before_begin_time_sum",
        "Gr_transactions_consistency_before_begin_time_sum",
    ),
    innodb(names::DB_INNODB_HISTORY_LIST_LENGTH, "trx_rseg_history_len")
        .state(Transaction, "count")
        .note("undo logs not yet purged"),
    innodb(
        names::DB_INNODB_BUFFER_POOL_READ_REQUESTS,
        "buffer_pool_read_requests",
    )
    .counts(Block),
    innodb(names::DB_INNODB_BUFFER_POOL_READS, "buffer_pool_reads").counts(Block),
    innodb("db.innodb.buffer_flush_sync*", "buffer_flush_sync…").counts(Block),
    innodb(names::DB_INNODB_LOCK_DEADLOCKS, "lock_deadlocks")
        .counts(Transaction)
        .note(OF_ROW_LOCKS),
    innodb(names::DB_INNODB_LOCK_ROW_LOCK_WAITS, "lock_row_lock_waits").counts(Wait),
    innodb(names::DB_INNODB_OS_DATA_FSYNCS, "os_data_fsyncs").counts(Sync),
    innodb(names::DB_INNODB_OS_LOG_FSYNCS, "os_log_fsyncs").counts(Sync),
    innodb(
        names::DB_INNODB_OS_LOG_BYTES_WRITTEN,
        "os_log_bytes_written",
    )
    .counts(Byte),
    rocksdb(
        names::DB_ROCKSDB_BLOCK_CACHE_USAGE,
        "Rocksdb_block_cache_usage",
    )
    .state(Byte, "bytes"),
    rocksdb(
        names::DB_ROCKSDB_COMPACT_WRITE_BYTES,
        "Rocksdb_compact_write_bytes",
    )
    .counts(Byte),
    rocksdb(
        names::DB_ROCKSDB_FLUSH_WRITE_BYTES,
        "Rocksdb_flush_write_bytes",
    )
    .counts(Byte),
    rocksdb("db.rocksdb.rows_*", "Rocksdb_rows_…").counts(Row),
    rocksdb(names::DB_ROCKSDB_WAL_BYTES, "Rocksdb_wal_bytes").counts(Byte),
    rocksdb(names::DB_ROCKSDB_WAL_SYNCED, "Rocksdb_wal_synced").counts(Sync),
    Counter::new(names::DB_BINLOG_SIZE, "SHOW BINARY LOGS", BOTH).state(Byte, "bytes"),
];

/// Times of group replication, summed over all members.
const fn time_sum(series: &'static str, source: &'static str) -> Counter {
    status(series, source)
        .seconds(US)
        .note("microseconds; group replication")
        .only(GROUP)
}

const fn semi_sync(series: &'static str, source: &'static str) -> Counter {
    status(series, source)
        .seconds(US)
        .note("microseconds that commits waited for a replica, summed over all sessions")
}

/// A metric of `information_schema.INNODB_METRICS`.
const fn innodb(series: &'static str, source: &'static str) -> Counter {
    Counter::new(series, source, BOTH)
}

/// A variable of MyRocks.
const fn rocksdb(series: &'static str, source: &'static str) -> Counter {
    Counter::new(series, source, MARIADB)
}
