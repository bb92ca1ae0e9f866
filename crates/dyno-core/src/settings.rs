//! Settings of servers.

/// What servers list among their settings and move by themselves: positions in logs, clocks,
/// and what belongs to the asking session.
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

/// Whether a setting moves by itself.
pub fn is_servers_own(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OWN.iter().any(|own| name.starts_with(own))
}
