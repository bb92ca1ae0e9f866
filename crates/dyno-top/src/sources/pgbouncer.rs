//! pgbouncer's console, which answers a few SHOW commands over PostgreSQL's protocol, in text only.

use super::server::Asking;
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};
use crate::source::Trouble;

/// A microsecond, the unit of its times.
const US: f64 = 1e-6;

const STATS_USERS: &str = "the user must be one of pgbouncer's admin_users or stats_users";

/// The profile of this pooler.
///
/// # Errors
/// The connection was lost, or it is not a console.
pub(crate) fn profile(asking: Asking<'_>, place: &str) -> Result<Profile, Trouble> {
    let version = match asking("SHOW VERSION") {
        Ok(answer) => answer.field(0, 0).unwrap_or("pgbouncer").to_owned(),
        Err(lost) if lost.is_lost() => return Err(lost),
        Err(why) => {
            return Err(Trouble::Lost(format!(
                "{place} does not answer as pgbouncer's console: {why}; the console is the \
                 database named pgbouncer, and {STATS_USERS}"
            )));
        }
    };
    Ok(Profile {
        title: format!("{version} · {place}"),
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Absent("pgbouncer only sums times; see the means in its stats"),
        line: &[
            QUERIES,
            TRANSACTIONS,
            MEAN,
            WAIT,
            ACTIVE,
            WAITING,
            BUSY,
            IDLE,
            RECEIVED,
            SENT,
        ],
        abilities: Vec::new(),
        schema: String::new(),
        remarks: &[],
        notes: Vec::new(),
    })
}

const POOLS: &str = "SHOW POOLS";
const STATS: &str = "SHOW STATS";

const VALUES: &[Values] = &[
    Values::columns(Ask::plain(STATS)),
    Values::columns(Ask::plain(POOLS)),
];

const QUERIES: Figure = Figure::rate("queries/s", "total_query_count|total_requests");
const TRANSACTIONS: Figure = Figure::rate("tx/s", "total_xact_count");
const MEAN: Figure = Figure::mean("query mean", "total_query_time", "total_query_count", US);
const WAIT: Figure = Figure::load("waiting", "total_wait_time", US);
const ACTIVE: Figure = Figure::count("cl active", "cl_active");
const WAITING: Figure = Figure::count("cl waiting", "cl_waiting");
const BUSY: Figure = Figure::count("sv active", "sv_active");
const IDLE: Figure = Figure::count("sv idle", "sv_idle");
const RECEIVED: Figure = Figure::byte_rate("received/s", "total_received");
const SENT: Figure = Figure::byte_rate("sent/s", "total_sent");

const SCREENS: &[Screen] = &[POOLS_SCREEN, STATS_SCREEN, CLIENTS, SERVERS, DATABASES];

const POOLS_SCREEN: Screen = Screen {
    title: "Pools",
    figures: &[
        QUERIES,
        TRANSACTIONS,
        MEAN,
        ACTIVE,
        WAITING,
        WAIT,
        BUSY,
        IDLE,
        RECEIVED,
    ],
    heat: false,
    tables: &[Table {
        title: "Pools",
        asks: &[Ask::plain(POOLS).or_advise(STATS_USERS)],
        columns: &[
            Figure::text("database", "database"),
            Figure::text("user", "user"),
            Figure::count("cl active", "cl_active"),
            Figure::count("cl waiting", "cl_waiting"),
            Figure::count("sv active", "sv_active"),
            Figure::count("sv idle", "sv_idle"),
            Figure::count("sv used", "sv_used"),
            Figure::count("sv login", "sv_login"),
            Figure::time("waits", "maxwait", 1.0),
            Figure::text("mode", "pool_mode"),
        ],
        key: &["database", "user"],
        sort: 2,
        empty: "no pool yet: no client has connected",
    }],
};

const STATS_SCREEN: Screen = Screen {
    title: "Stats",
    figures: &[],
    heat: false,
    tables: &[Table {
        title: "Databases by traffic",
        asks: &[Ask::plain(STATS).or_advise(STATS_USERS)],
        columns: &[
            Figure::text("database", "database"),
            Figure::rate("queries/s", "total_query_count|total_requests"),
            Figure::rate("tx/s", "total_xact_count"),
            Figure::mean("query mean", "total_query_time", "total_query_count", US),
            Figure::mean("tx mean", "total_xact_time", "total_xact_count", US),
            Figure::load("waiting", "total_wait_time", US),
            Figure::byte_rate("received/s", "total_received"),
            Figure::byte_rate("sent/s", "total_sent"),
        ],
        key: &["database"],
        sort: 1,
        empty: "no database",
    }],
};

const CLIENTS: Screen = Screen {
    title: "Clients",
    figures: &[ACTIVE, WAITING, QUERIES],
    heat: false,
    tables: &[Table {
        title: "Clients",
        asks: &[Ask::plain("SHOW CLIENTS").or_advise(STATS_USERS)],
        columns: CONNECTION,
        key: &["ptr"],
        sort: 7,
        empty: "no client",
    }],
};

const SERVERS: Screen = Screen {
    title: "Servers",
    figures: &[BUSY, IDLE, QUERIES],
    heat: false,
    tables: &[Table {
        title: "Connections to servers",
        asks: &[Ask::plain("SHOW SERVERS").or_advise(STATS_USERS)],
        columns: CONNECTION,
        key: &["ptr"],
        sort: 7,
        empty: "no connection to a server",
    }],
};

const CONNECTION: &[Figure] = &[
    Figure::text("user", "user"),
    Figure::text("database", "database"),
    Figure::text("state", "state"),
    Figure::text("address", "addr"),
    Figure::text("port", "port"),
    Figure::text("server pid", "remote_pid"),
    Figure::text("since", "connect_time"),
    Figure::time("waits", "wait", 1.0),
    Figure::text("TLS", "tls"),
    Figure::text("program", "application_name"),
];

const DATABASES: Screen = Screen {
    title: "Databases",
    figures: &[],
    heat: false,
    tables: &[Table {
        title: "Databases",
        asks: &[Ask::plain("SHOW DATABASES").or_advise(STATS_USERS)],
        columns: &[
            Figure::text("name", "name"),
            Figure::text("host", "host"),
            Figure::text("port", "port"),
            Figure::text("database", "database"),
            Figure::count("connections", "current_connections"),
            Figure::limit("limit", "max_connections"),
            Figure::count("pool size", "pool_size"),
            Figure::count("reserve", "reserve_pool_size|reserve_pool"),
            Figure::text("paused", "paused"),
            Figure::text("disabled", "disabled"),
            Figure::text("mode", "pool_mode"),
        ],
        key: &["name"],
        sort: 4,
        empty: "no database",
    }],
};
