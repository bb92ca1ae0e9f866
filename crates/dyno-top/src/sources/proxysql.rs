//! ProxySQL's admin interface, which answers SQLite's SQL over MySQL's protocol.

use super::server::Asking;
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};
use crate::source::Trouble;

/// A microsecond, the unit of its times.
const US: f64 = 1e-6;

const ADMIN: &str = "is this the admin interface (port 6032), and the user one of its \
                     admin-admin_credentials or admin-stats_credentials?";

/// The profile of this proxy.
///
/// # Errors
/// The connection was lost, or it is not an admin interface.
pub(crate) fn profile(asking: Asking<'_>, place: &str) -> Result<Profile, Trouble> {
    let version = "SELECT variable_value FROM global_variables \
                   WHERE variable_name = 'admin-version'";
    let version = match asking(version) {
        Ok(answer) => answer.field(0, 0).unwrap_or_default().to_owned(),
        Err(lost) if lost.is_lost() => return Err(lost),
        // Users who may only read statistics cannot see it.
        Err(_) => String::new(),
    };
    if let Err(why) = asking(GLOBAL) {
        return Err(Trouble::Lost(format!(
            "{place} does not answer as ProxySQL: {why}; {ADMIN}"
        )));
    }
    let title = format!("ProxySQL {version} · {place}").replace("  ", " ");
    Ok(Profile {
        title,
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Columns {
            ask: Ask::plain(COMMANDS),
            of: BUCKETS,
        },
        line: &[
            QUESTIONS,
            SLOW,
            CLIENTS,
            BUSY_CLIENTS,
            SERVERS,
            ABORTED,
            SENT,
            RECEIVED,
        ],
        abilities: Vec::new(),
        schema: String::new(),
        remarks: &[],
        notes: Vec::new(),
    })
}

const GLOBAL: &str = "SELECT * FROM stats_mysql_global LIMIT 1000";
const COMMANDS: &str = "SELECT * FROM stats_mysql_commands_counters LIMIT 200";

const VALUES: &[Values] = &[Values::rows(Ask::plain(GLOBAL))];

/// Each counts operations up to this bound and above the previous one.
const BUCKETS: &[(&str, f64)] = &[
    ("cnt_100us", 100e-6),
    ("cnt_500us", 500e-6),
    ("cnt_1ms", 1e-3),
    ("cnt_5ms", 5e-3),
    ("cnt_10ms", 10e-3),
    ("cnt_50ms", 50e-3),
    ("cnt_100ms", 100e-3),
    ("cnt_500ms", 500e-3),
    ("cnt_1s", 1.0),
    ("cnt_5s", 5.0),
    ("cnt_10s", 10.0),
    ("cnt_INFs", f64::MAX),
];

const QUESTIONS: Figure = Figure::rate("queries/s", "Questions");
const SLOW: Figure = Figure::rate("slow/s", "Slow_queries");
const CLIENTS: Figure = Figure::count("clients", "Client_Connections_connected");
const BUSY_CLIENTS: Figure = Figure::count("busy", "Client_Connections_non_idle");
const SERVERS: Figure = Figure::count("to servers", "Server_Connections_connected");
const ABORTED: Figure = Figure::rate("aborted/s", "Client_Connections_aborted");
const SENT: Figure = Figure::byte_rate("to servers/s", "Queries_backends_bytes_sent");
const RECEIVED: Figure = Figure::byte_rate("from them/s", "Queries_backends_bytes_recv");

const SCREENS: &[Screen] = &[POOL, RULES, STATUS, PROCESSES, COUNTERS];

const POOL: Screen = Screen {
    title: "Pool",
    figures: &[
        QUESTIONS,
        CLIENTS,
        BUSY_CLIENTS,
        SERVERS,
        ABORTED,
        SENT,
        RECEIVED,
        SLOW,
    ],
    heat: false,
    tables: &[Table {
        title: "Connection pool",
        asks: &[Ask::plain("SELECT * FROM stats_mysql_connection_pool LIMIT 500").or_advise(ADMIN)],
        columns: &[
            Figure::text("hg", "hostgroup"),
            Figure::text("server", "srv_host"),
            Figure::text("port", "srv_port"),
            Figure::text("status", "status"),
            Figure::count("used", "ConnUsed"),
            Figure::count("free", "ConnFree"),
            Figure::rate("made/s", "ConnOK"),
            Figure::rate("failed/s", "ConnERR"),
            Figure::count("most used", "MaxConnUsed"),
            Figure::rate("queries/s", "Queries"),
            Figure::byte_rate("sent/s", "Bytes_data_sent"),
            Figure::byte_rate("received/s", "Bytes_data_recv"),
            Figure::time("latency", "Latency_us|Latency_ms", US),
        ],
        key: &["hostgroup", "srv_host", "srv_port"],
        sort: 9,
        empty: "no server is configured: see mysql_servers, and LOAD MYSQL SERVERS TO RUNTIME",
    }],
};

const RULES: Screen = Screen {
    title: "Rules",
    figures: &[],
    heat: false,
    tables: &[Table {
        title: "Query rules",
        asks: &[
            Ask::plain(
                "SELECT r.*, s.hits FROM stats_mysql_query_rules s \
                 LEFT JOIN mysql_query_rules r ON r.rule_id = s.rule_id \
                 ORDER BY s.rule_id LIMIT 500",
            )
            .or_advise(
                "only hits are shown: a user of admin-stats_credentials cannot see the rules",
            ),
            Ask::plain("SELECT * FROM stats_mysql_query_rules LIMIT 500").or_advise(ADMIN),
        ],
        columns: &[
            Figure::text("rule", "rule_id"),
            Figure::rate("hits/s", "hits"),
            Figure::count("hits", "hits"),
            Figure::text("active", "active"),
            Figure::text("to hg", "destination_hostgroup"),
            Figure::text("user", "username"),
            Figure::text("schema", "schemaname"),
            Figure::count("cache ttl", "cache_ttl"),
            Figure::text("apply", "apply"),
            Figure::statement("digest", "match_digest"),
            Figure::statement("pattern", "match_pattern"),
        ],
        key: &["rule_id"],
        sort: 1,
        empty: "no rules at runtime: see mysql_query_rules, and LOAD MYSQL QUERY RULES TO RUNTIME",
    }],
};

const STATUS: Screen = Screen {
    title: "Status",
    figures: &[
        QUESTIONS,
        Figure::time("uptime", "ProxySQL_Uptime", 1.0),
        Figure::count("transactions", "Active_Transactions"),
        Figure::rate("new clients/s", "Client_Connections_created"),
        Figure::bytes("SQLite memory", "SQLite3_memory_bytes"),
        Figure::bytes("cache memory", "Query_Cache_Memory_bytes"),
        Figure::hits(
            "cache misses",
            "Query_Cache_count_GET_OK",
            "Query_Cache_count_GET",
        ),
        Figure::count("prepared", "Stmt_Cached"),
    ],
    heat: false,
    tables: &[Table {
        title: "Global status",
        asks: &[Ask::plain(GLOBAL).or_advise(ADMIN)],
        columns: &[
            Figure::text("variable", "Variable_Name"),
            Figure::count("value", "Variable_Value"),
            Figure::rate("change/s", "Variable_Value"),
        ],
        key: &["Variable_Name"],
        sort: 0,
        empty: "nothing",
    }],
};

const PROCESSES: Screen = Screen {
    title: "Processes",
    figures: &[CLIENTS, BUSY_CLIENTS, SERVERS],
    heat: false,
    tables: &[Table {
        title: "Process list",
        asks: &[Ask::plain(
            "SELECT * FROM stats_mysql_processlist ORDER BY time_ms DESC LIMIT 200",
        )
        .or_advise(ADMIN)],
        columns: &[
            Figure::text("session", "SessionID"),
            Figure::text("user", "user"),
            Figure::text("db", "db"),
            Figure::text("client", "cli_host"),
            Figure::text("hg", "hostgroup"),
            Figure::text("server", "srv_host"),
            Figure::text("command", "command"),
            Figure::time("time", "time_ms", 1e-3),
            Figure::statement("statement", "info"),
        ],
        key: &["SessionID"],
        sort: 6,
        empty: "no client",
    }],
};

const COUNTERS: Screen = Screen {
    title: "Commands",
    figures: &[],
    heat: true,
    tables: &[Table {
        title: "Commands per second by duration",
        asks: &[Ask::plain(COMMANDS).or_advise(ADMIN)],
        columns: &[
            Figure::text("command", "Command"),
            Figure::rate("calls/s", "Total_cnt"),
            Figure::mean("mean", "Total_Time_us", "Total_cnt", US),
            Figure::rate("100us", "cnt_100us"),
            Figure::rate("500us", "cnt_500us"),
            Figure::rate("1ms", "cnt_1ms"),
            Figure::rate("5ms", "cnt_5ms"),
            Figure::rate("10ms", "cnt_10ms"),
            Figure::rate("50ms", "cnt_50ms"),
            Figure::rate("100ms", "cnt_100ms"),
            Figure::rate("500ms", "cnt_500ms"),
            Figure::rate("1s", "cnt_1s"),
            Figure::rate("5s", "cnt_5s"),
            Figure::rate("10s", "cnt_10s"),
            Figure::rate("more", "cnt_INFs"),
        ],
        key: &["Command"],
        sort: 1,
        empty: "no command was counted: see mysql-commands_stats",
    }],
};
