//! Replication and connections.

use super::{CONNECTED, READ_SCHEMA, REPLICA, RUNNING, SENT};
use crate::profile::{Ask, Figure, Screen, Table};

const REPLICATION_SLAVE: &str = "GRANT REPLICATION SLAVE (MariaDB: REPLICATION MASTER ADMIN) ON \
                                 *.* TO the user";

/// MySQL without Galera.
pub(super) const REPLICATION: Screen = Screen {
    title: "Replication",
    figures: &[READ_ONLY],
    heat: false,
    tables: &[AS_REPLICA, REPLICAS, GROUP],
};

/// MariaDB without Galera. It has no group replication.
pub(super) const REPLICATION_MARIADB: Screen = Screen {
    tables: &[AS_REPLICA, REPLICAS],
    ..REPLICATION
};

/// Either with Galera, which replaces group replication.
pub(super) const REPLICATION_GALERA: Screen = Screen {
    figures: &[
        Figure::count("cluster size", "wsrep_cluster_size"),
        Figure::text("cluster", "wsrep_cluster_status"),
        Figure::text("node", "wsrep_local_state_comment"),
        Figure::count("recv queue", "wsrep_local_recv_queue"),
        Figure::rate(
            "conflicts/s",
            "wsrep_local_bf_aborts+wsrep_local_cert_failures",
        ),
        READ_ONLY,
    ],
    ..REPLICATION_MARIADB
};

const READ_ONLY: Figure = Figure::text("read only", "read_only");

const AS_REPLICA: Table = Table {
    title: "As a replica",
    asks: &[
        Ask::plain("SHOW ALL REPLICAS STATUS").or_advise(REPLICA),
        Ask::plain("SHOW REPLICA STATUS").or_advise(REPLICA),
        Ask::plain("SHOW SLAVE STATUS").or_advise(REPLICA),
    ],
    columns: &[
        Figure::text("channel", "Connection_name|Channel_Name"),
        Figure::text("source", "Source_Host|Master_Host"),
        Figure::text("I/O", "Replica_IO_Running|Slave_IO_Running"),
        Figure::text("SQL", "Replica_SQL_Running|Slave_SQL_Running"),
        Figure::time("behind", "Seconds_Behind_Source|Seconds_Behind_Master", 1.0),
        Figure::bytes("relay log", "Relay_Log_Space"),
        Figure::text("state", "Replica_SQL_Running_State|Slave_SQL_Running_State"),
        Figure::text("error", "Last_SQL_Error"),
    ],
    key: &["Connection_name|Channel_Name"],
    sort: 4,
    empty: "this server is not a replica",
};

const REPLICAS: Table = Table {
    title: "Replicas of this server",
    asks: &[
        Ask::plain("SHOW REPLICAS").or_advise(REPLICATION_SLAVE),
        Ask::plain("SHOW SLAVE HOSTS").or_advise(REPLICATION_SLAVE),
    ],
    columns: &[
        Figure::text("id", "Server_Id|Server_id"),
        Figure::text("host", "Host"),
        Figure::text("port", "Port"),
        Figure::text("source", "Source_Id|Master_id"),
    ],
    key: &["Server_Id"],
    sort: 0,
    empty: "no replica has registered (report_host)",
};

const GROUP: Table = Table {
    title: "Group replication",
    asks: &[Ask::needing(
        "performance_schema",
        "SELECT MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE \
         FROM performance_schema.replication_group_members LIMIT 50",
    )
    .or_advise(READ_SCHEMA)],
    columns: &[
        Figure::text("host", "MEMBER_HOST"),
        Figure::text("port", "MEMBER_PORT"),
        Figure::text("state", "MEMBER_STATE"),
        Figure::text("role", "MEMBER_ROLE"),
    ],
    key: &["MEMBER_HOST", "MEMBER_PORT"],
    sort: 0,
    empty: "no group",
};

pub(super) const CONNECTIONS: Screen = Screen {
    title: "Connections",
    figures: &[
        CONNECTED,
        RUNNING,
        Figure::count("most ever", "Max_used_connections"),
        Figure::count("limit", "max_connections"),
        Figure::rate("new/s", "Connections"),
        Figure::rate("new threads/s", "Threads_created"),
        Figure::rate("refused/s", "Aborted_connects"),
        Figure::rate("aborted/s", "Aborted_clients"),
        Figure::byte_rate("received/s", "Bytes_received"),
        SENT,
        Figure::count("cached", "Threads_cached"),
        Figure::rate("limit hit/s", "Connection_errors_max_connections"),
    ],
    heat: false,
    tables: &[
        Table {
            title: "By user, host and database",
            asks: &[
                Ask::needing(
                    "performance_schema",
                    "SELECT PROCESSLIST_USER AS user, PROCESSLIST_HOST AS host, \
                     PROCESSLIST_DB AS db, COUNT(*) AS sessions, \
                     SUM(PROCESSLIST_COMMAND <> 'Sleep') AS active, \
                     MAX(PROCESSLIST_TIME) AS longest FROM performance_schema.threads \
                     WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL \
                     AND PROCESSLIST_ID <> CONNECTION_ID() \
                     GROUP BY PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_DB \
                     ORDER BY sessions DESC LIMIT 100",
                ),
                Ask::plain(
                    "SELECT USER AS user, SUBSTRING_INDEX(HOST, ':', 1) AS host, DB AS db, \
                     COUNT(*) AS sessions, SUM(COMMAND <> 'Sleep') AS active, \
                     MAX(TIME) AS longest FROM information_schema.PROCESSLIST \
                     WHERE ID <> CONNECTION_ID() \
                     GROUP BY USER, SUBSTRING_INDEX(HOST, ':', 1), DB \
                     ORDER BY sessions DESC LIMIT 100",
                ),
            ],
            columns: &[
                Figure::text("user", "user"),
                Figure::text("host", "host"),
                Figure::count("sessions", "sessions"),
                Figure::count("active", "active"),
                Figure::time("longest", "longest", 1.0),
                Figure::text("database", "db"),
            ],
            key: &["user", "host", "db"],
            sort: 2,
            empty: "no session visible to this user",
        },
        Table {
            title: "By program",
            asks: &[Ask::needing(
                "performance_schema",
                "SELECT ATTR_VALUE AS program, COUNT(*) AS sessions \
                 FROM performance_schema.session_connect_attrs \
                 WHERE ATTR_NAME = 'program_name' \
                 AND PROCESSLIST_ID <> CONNECTION_ID() GROUP BY ATTR_VALUE \
                 ORDER BY sessions DESC LIMIT 50",
            )
            .or_advise(READ_SCHEMA)],
            columns: &[
                Figure::count("sessions", "sessions"),
                Figure::text("program", "program"),
            ],
            key: &["program"],
            sort: 0,
            empty: "no client reports its program's name",
        },
    ],
};
