//! Classifies the status variables of MySQL and MariaDB: counters, states, or not a series.

use dyno_core::catalogue::names;
pub(super) use dyno_core::counters::Class;
use dyno_core::counters::{of, status};

/// Prefixes of names that are not series: settings negotiated by the observer's session, settings,
/// identities, features ever used, sizes of the privilege tables.
const IGNORED: [&str; 16] = [
    "acl_",
    "caching_sha2_",
    "current_tls_",
    "deprecated_",
    "feature_",
    "innodb_have_",
    "innodb_page_size",
    "last_query_cost",
    "option_tracker_",
    "rsa_",
    "ssl_",
    "stack_usage",
    "tc_log_page_size",
    "telemetry_",
    "uptime",
    "innodb_redo_log_uuid",
];

/// Exceptions to [`IGNORED`] that are useful.
const KEPT: [&str; 3] = [
    "ssl_accepts",
    "ssl_finished_accepts",
    "ssl_session_cache_hits",
];

/// Gauges, in lower case, except those in the table of counters and those that [`is_state`]
/// recognizes by words in their names.
const STATES: [&str; 43] = [
    "aria_pagecache_blocks_not_flushed",
    "aria_pagecache_blocks_unused",
    "binlog_snapshot_position",
    "delayed_insert_threads",
    "error_log_buffered_bytes",
    "error_log_buffered_events",
    "error_log_latest_write",
    "global_connection_memory",
    "innodb_available_undo_logs",
    "innodb_buffer_pool_pages_free",
    "innodb_buffer_pool_pages_latched",
    "innodb_buffer_pool_pages_misc",
    "innodb_buffer_pool_pages_old",
    "innodb_buffer_pool_resize_status_code",
    "innodb_buffer_pool_resize_status_progress",
    "innodb_encryption_rotation_estimated_iops",
    "innodb_history_list_length",
    "innodb_ibuf_free_list",
    "innodb_ibuf_segment_size",
    "innodb_ibuf_size",
    "innodb_num_open_files",
    "innodb_onlineddl_pct_progress",
    "innodb_onlineddl_rowlog_pct_used",
    "innodb_redo_log_capacity_resized",
    "innodb_redo_log_physical_size",
    "key_blocks_not_flushed",
    "key_blocks_unused",
    "key_blocks_warm",
    "not_flushed_delayed_rows",
    "open_files",
    "open_streams",
    "open_table_definitions",
    "open_tables",
    "performance_schema_session_connect_attrs_longest_seen",
    "qcache_free_blocks",
    "qcache_queries_in_cache",
    "qcache_total_blocks",
    "replica_open_temp_tables",
    "slave_heartbeat_period",
    "slave_open_temp_tables",
    "slaves_connected",
    "slaves_running",
    "tc_log_max_pages_used",
];

/// Byte counters whose names do not say so, including positions in the redo log.
const BYTES: [&str; 6] = [
    "innodb_lsn_current",
    "innodb_lsn_flushed",
    "innodb_lsn_last_checkpoint",
    "innodb_redo_log_checkpoint_lsn",
    "innodb_redo_log_current_lsn",
    "innodb_redo_log_flushed_to_disk_lsn",
];

/// The class of a status variable by its name in lower case: from the table of counters, else from
/// the words in its name.
pub(super) fn class_of(name: &str) -> Class {
    if let Some(counter) = status(name) {
        return counter.class;
    }
    // A mean since the server's start does not describe a run.
    if name.ends_with("_avg") || name.contains("_avg_") {
        return Class::Ignored;
    }
    let ignored = IGNORED.iter().any(|beginning| name.starts_with(beginning));
    if ignored && !KEPT.contains(&name) {
        return Class::Ignored;
    }
    if is_state(name) {
        let bytes = [
            "memory",
            "_mem_",
            "_bytes_",
            "_bytes",
            "redo_log_physical_size",
        ];
        let bytes = bytes.iter().any(|part| name.contains(part));
        return match () {
            () if bytes => Class::Gauge("bytes"),
            () if name.starts_with("innodb_row_lock_time") => Class::Gauge("ms"),
            () => Class::Gauge("count"),
        };
    }
    match BYTES.contains(&name) || name.contains("bytes") {
        true => Class::Rate("bytes/s", 1.0),
        false => Class::Rate("count/s", 1.0),
    }
}

fn is_state(name: &str) -> bool {
    if STATES.binary_search(&name).is_ok() || name.starts_with("wsrep_") && !is_wsrep_count(name) {
        return true;
    }
    let parts = [
        "_pending_",
        "_current_waits",
        "_mem_",
        "undo_tablespaces_",
        "free_memory",
    ];
    let beginnings = ["threadpool_", "memory_used", "max_memory_used", "ongoing_"];
    let threads = name.starts_with("threads_") && name != "threads_created";
    let endings = ["_max", "_usage"];
    threads
        || name.starts_with("rpl_semi_sync_") && is_semi_sync_state(name)
        || parts.iter().any(|part| name.contains(part))
        || endings.iter().any(|ending| name.ends_with(ending))
        || beginnings
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

fn is_semi_sync_state(name: &str) -> bool {
    let endings = ["_clients", "_wait_sessions", "_status"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Galera's counters; its other variables are states or identities.
fn is_wsrep_count(name: &str) -> bool {
    let counts = [
        "wsrep_replicated",
        "wsrep_received",
        "wsrep_local_replays",
        "wsrep_repl_",
    ];
    counts.iter().any(|count| name.starts_with(count))
}

/// MyRocks' variables, without `rocksdb_`.
pub(super) fn rocksdb_class(name: &str) -> Class {
    if let Some(counter) = of(&names::DB_ROCKSDB_EACH.of(name)) {
        return counter.class;
    }
    let states = [
        "memtable_",
        "block_cache_usage",
        "pending",
        "num_",
        "estimate_",
        "manual_compaction",
    ];
    let is_state = states.iter().any(|state| name.contains(state))
        && !name.contains("memtable_hit")
        && !name.contains("memtable_miss");
    match (
        is_state,
        name.contains("bytes") || name.starts_with("memtable_"),
    ) {
        (true, true) => Class::Gauge("bytes"),
        (true, false) => Class::Gauge("count"),
        (false, true) if name.contains("bytes") => Class::Rate("bytes/s", 1.0),
        (false, _) => Class::Rate("count/s", 1.0),
    }
}

/// A metric of InnoDB by its name and its type in `information_schema.INNODB_METRICS`.
pub(super) fn metric_class(name: &str, kind: &str) -> Class {
    let bytes =
        name.contains("bytes") || matches!(name, "buffer_data_reads" | "buffer_data_written");
    match (kind, bytes) {
        // MariaDB gives these counters the type value.
        ("value", _) if matches!(name, "lock_deadlocks" | "lock_timeouts") => {
            Class::Rate("count/s", 1.0)
        }
        ("value", true) => Class::Gauge("bytes"),
        ("value", false) if name.contains("time_") => Class::Gauge("ms"),
        ("value", false) if name.contains("page_size") => Class::Ignored,
        ("value", false) => Class::Gauge("count"),
        (_, true) => Class::Rate("bytes/s", 1.0),
        // Some are states although the server calls them counters.
        _ if name.contains("pending") || name.contains("current_waits") => Class::Gauge("count"),
        _ if name == "ibuf_size" => Class::Gauge("count"),
        _ if name == "lock_row_lock_time" => Class::Rate("ratio", 1e-3),
        _ => Class::Rate("count/s", 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_has_nothing_of_the_table() {
        assert!(STATES.is_sorted());
        for name in STATES.iter().chain(&BYTES) {
            assert_eq!(status(name), None, "{name}");
        }
    }

    #[test]
    fn times_are_seconds_per_second_whatever_the_unit_of_their_counter() {
        for (name, scale) in [
            ("wsrep_flow_control_paused_ns", 1e-9),
            ("gr_all_consensus_time_sum", 1e-6),
            ("gr_flow_control_throttle_time_sum", 1e-6),
            ("rpl_semi_sync_master_tx_wait_time", 1e-6),
            ("innodb_row_lock_time", 1e-3),
            ("query_time", 1.0),
        ] {
            assert_eq!(class_of(name), Class::Rate("ratio", scale), "{name}");
        }
    }

    #[test]
    fn means_and_shares_since_the_last_reset_are_not_recorded() {
        for name in [
            "wsrep_flow_control_paused",
            "wsrep_local_recv_queue_avg",
            "wsrep_cert_deps_distance",
            "innodb_row_lock_time_avg",
            "rpl_semi_sync_master_net_avg_wait_time",
        ] {
            assert_eq!(class_of(name), Class::Ignored, "{name}");
        }
        // A maximum is a gauge.
        assert_eq!(
            class_of("wsrep_local_recv_queue_max"),
            Class::Gauge("count")
        );
        assert_eq!(class_of("wsrep_local_commits"), Class::Rate("count/s", 1.0));
    }

    #[test]
    fn distinguishes_counters_from_states() {
        let count = Class::Rate("count/s", 1.0);
        let bytes = Class::Rate("bytes/s", 1.0);
        for (name, expected) in [
            ("questions", count),
            ("com_select", count),
            ("aborted_clients", count),
            ("threads_created", count),
            ("handler_read_rnd_next", count),
            ("innodb_buffer_pool_read_requests", count),
            ("innodb_buffer_pool_pages_flushed", count),
            ("innodb_row_lock_waits", count),
            ("innodb_lsn_current", bytes),
            ("innodb_data_written", bytes),
            ("bytes_sent", bytes),
            ("binlog_bytes_written", bytes),
            ("rpl_semi_sync_master_yes_tx", count),
            ("wsrep_replicated_bytes", bytes),
            ("ssl_accepts", count),
            ("innodb_row_lock_time", Class::Rate("ratio", 1e-3)),
            ("busy_time", Class::Rate("ratio", 1.0)),
            ("threads_running", Class::Gauge("count")),
            ("threads_connected", Class::Gauge("count")),
            ("innodb_buffer_pool_pages_dirty", Class::Gauge("count")),
            ("innodb_buffer_pool_bytes_dirty", Class::Gauge("bytes")),
            ("innodb_row_lock_current_waits", Class::Gauge("count")),
            ("innodb_row_lock_time_max", Class::Gauge("ms")),
            ("innodb_checkpoint_age", Class::Gauge("bytes")),
            ("innodb_data_pending_fsyncs", Class::Gauge("count")),
            ("memory_used", Class::Gauge("bytes")),
            ("qcache_free_memory", Class::Gauge("bytes")),
            ("wsrep_cluster_size", Class::Gauge("count")),
            ("rpl_semi_sync_master_clients", Class::Gauge("count")),
            ("uptime", Class::Ignored),
            ("ssl_verify_depth", Class::Ignored),
            ("feature_json", Class::Ignored),
        ] {
            assert_eq!(class_of(name), expected, "{name}");
        }
        assert_eq!(rocksdb_class("bytes_written"), bytes);
        assert_eq!(rocksdb_class("block_cache_usage"), Class::Gauge("bytes"));
        assert_eq!(rocksdb_class("memtable_total"), Class::Gauge("bytes"));
        assert_eq!(rocksdb_class("memtable_hit"), count);
        assert_eq!(
            metric_class("trx_rseg_history_len", "value"),
            Class::Gauge("count")
        );
        assert_eq!(metric_class("lock_deadlocks", "counter"), count);
        assert_eq!(
            metric_class("os_log_bytes_written", "status_counter"),
            bytes
        );
    }
}
