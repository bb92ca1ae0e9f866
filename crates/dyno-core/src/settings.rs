//! Settings of servers.

/// Server settings that change by themselves: log positions, clocks, and values of the querying
/// session.
const OWN: [&str; 22] = [
    "gtid_",
    "timestamp",
    "last_insert_id",
    "insert_id",
    "identity",
    "rand_seed",
    "pseudo_",
    "error_count",
    "warning_count",
    "in_transaction",
    "last_gtid",
    "server_audit_current",
    "external_user",
    "proxy_user",
    "transaction_timestamp",
    "in_hot_standby",
    "session_authorization",
    "wsrep_last",
    "rocksdb_last",
    "page_count",
    "freelist_count",
    "data_version",
];

/// Settings that sessions can change themselves and that affect the durability or the logging of
/// their statements.
pub const OF_SESSIONS: [&str; 30] = [
    "autocommit",
    "synchronous_commit",
    "sql_log_bin",
    "rocksdb_write_disable_wal",
    "synchronous",
    "journal_mode",
    "sql_log_off",
    "slow_query_log",
    "long_query_time",
    "min_examined_row_limit",
    "log_slow_rate_limit",
    "log_slow_filter",
    "log_min_messages",
    "log_statement",
    "log_min_duration_statement",
    "log_duration",
    "log_min_duration_sample",
    "log_statement_sample_rate",
    "log_transaction_sample_rate",
    "log_statement_stats",
    "log_parser_stats",
    "log_planner_stats",
    "log_executor_stats",
    "debug_print_raw_parse",
    "debug_print_parse",
    "debug_print_rewritten",
    "debug_print_plan",
    "auto_explain.log_min_duration",
    "auto_explain.sample_rate",
    "pgaudit.log",
];

/// Recorded if sessions set a value that their statements do not contain, such as a parameter.
pub const UNKNOWN: &str = "unknown";

/// Whether a setting changes by itself.
pub fn is_servers_own(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OWN.iter().any(|own| name.starts_with(own))
}
