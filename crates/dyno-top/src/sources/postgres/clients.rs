//! Replication and connections.

use super::{ACTIVE, CONNECTED, IDLE, OLDEST, WAL};
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const REPLICATION: Screen = Screen {
    title: "Replication",
    figures: &[
        Figure::text("role", "role"),
        WAL,
        Figure::count("oldest xmin", "xmin_age"),
    ],
    heat: false,
    tables: &[
        Table {
            title: "Replicas of this server",
            asks: &[Ask::plain(
                "SELECT pid, application_name, client_addr, state, sync_state, \
                 pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() \
                 ELSE pg_current_wal_lsn() END, replay_lsn) AS behind, \
                 extract(epoch FROM write_lag) AS write_lag, \
                 extract(epoch FROM flush_lag) AS flush_lag, \
                 extract(epoch FROM replay_lag) AS replay_lag \
                 FROM pg_catalog.pg_stat_replication LIMIT 100",
            )],
            columns: &[
                Figure::text("name", "application_name"),
                Figure::text("address", "client_addr"),
                Figure::text("state", "state"),
                Figure::text("sync", "sync_state"),
                Figure::bytes("behind", "behind"),
                Figure::time("write lag", "write_lag", 1.0),
                Figure::time("flush lag", "flush_lag", 1.0),
                Figure::time("replay lag", "replay_lag", 1.0),
            ],
            key: &["pid"],
            sort: 4,
            empty: "no replica is connected",
        },
        Table {
            title: "Replication slots",
            asks: &[Ask::plain(
                "SELECT slot_name, slot_type, database, active, wal_status, \
                 pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() \
                 ELSE pg_current_wal_lsn() END, restart_lsn) AS kept \
                 FROM pg_catalog.pg_replication_slots LIMIT 100",
            )],
            columns: &[
                Figure::text("slot", "slot_name"),
                Figure::text("type", "slot_type"),
                Figure::text("database", "database"),
                Figure::text("active", "active"),
                Figure::text("WAL", "wal_status"),
                Figure::bytes("WAL kept", "kept"),
            ],
            key: &["slot_name"],
            sort: 5,
            empty: "no slots",
        },
        Table {
            title: "As a replica",
            asks: &[Ask::plain(
                "SELECT status, sender_host, sender_port, slot_name, \
                 extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) \
                 AS replayed, \
                 pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) AS behind \
                 FROM pg_catalog.pg_stat_wal_receiver LIMIT 1",
            )],
            columns: &[
                Figure::text("source", "sender_host"),
                Figure::text("port", "sender_port"),
                Figure::text("status", "status"),
                Figure::bytes("to apply", "behind"),
                Figure::time("last commit", "replayed", 1.0),
                Figure::text("slot", "slot_name"),
            ],
            key: &["sender_host"],
            sort: 0,
            empty: "this server is not a replica, or receives nothing",
        },
    ],
};

pub(super) const CONNECTIONS: Screen = Screen {
    title: "Connections",
    figures: &[
        CONNECTED,
        ACTIVE,
        IDLE,
        Figure::count("limit", "max_connections"),
        OLDEST,
        Figure::rate("deadlocks/s", "deadlocks"),
    ],
    heat: false,
    tables: &[Table {
        title: "By user, database and program",
        asks: &[Ask::plain(
            // A session that this user may not see has no state.
            "SELECT usename, datname, application_name, CASE WHEN state IS NULL THEN NULL \
             ELSE coalesce(host(client_addr), '(socket)') END AS address, \
             count(*) AS sessions, CASE WHEN bool_and(state IS NOT NULL) THEN \
             count(*) FILTER (WHERE state = 'active') END AS active, \
             CASE WHEN bool_and(state IS NOT NULL) THEN \
             count(*) FILTER (WHERE state LIKE 'idle in transaction%') END \
             AS idle_in_transaction, \
             extract(epoch FROM max(clock_timestamp() - xact_start)) AS oldest \
             FROM pg_catalog.pg_stat_activity WHERE \
             (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL) \
             AND pid <> pg_backend_pid() GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT 100",
        )],
        columns: &[
            Figure::text("user", "usename"),
            Figure::text("database", "datname"),
            Figure::text("address", "address"),
            Figure::count("sessions", "sessions"),
            Figure::count("active", "active"),
            Figure::count("in tx", "idle_in_transaction"),
            Figure::time("oldest tx", "oldest", 1.0),
            Figure::text("program", "application_name"),
        ],
        key: &["usename", "datname", "application_name", "address"],
        sort: 3,
        empty: "no other session",
    }],
};
