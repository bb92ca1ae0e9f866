//! MySQL and MariaDB: the same screens, asked in the best way that the server supports.

mod clients;
mod io;
mod statements;
mod tables;

use super::server::{Asking, one};
use crate::profile::{Ask, Figure, Latencies, Profile, Remark, Screen, Table, Values};
use crate::source::Trouble;
use clients::{CONNECTIONS, REPLICATION, REPLICATION_GALERA, REPLICATION_MARIADB};
use io::IO;
use statements::STATEMENTS;
use tables::TABLES;

/// A picosecond, the unit of the performance schema.
const PS: f64 = 1e-12;

const PROCESS: &str = "GRANT PROCESS ON *.* TO the user shows all sessions";
const READ_SCHEMA: &str = "GRANT SELECT ON performance_schema.* TO the user";
const REPLICA: &str = "GRANT REPLICATION CLIENT (MariaDB: REPLICA MONITOR) ON *.* TO the user";

/// The profile of this server.
///
/// # Errors
/// The connection was lost.
pub(crate) fn profile(
    asking: Asking<'_>,
    title: String,
    is_mariadb: bool,
    proxied: bool,
) -> Result<Profile, Trouble> {
    let schema = one(asking, "SELECT @@performance_schema")?;
    let schema = match schema.as_deref() {
        Some("1") => Ok(()),
        _ => Err(
            "performance_schema is OFF and can only be enabled at startup: restart the server with \
             performance_schema=ON"
                .to_owned(),
        ),
    };
    let mut abilities = vec![("performance_schema", schema)];
    if is_mariadb {
        let on = is_on(asking, "SELECT @@userstat")?;
        let off = "userstat is OFF: SET GLOBAL userstat = 1 enables the counters of tables and \
                   indexes";
        abilities.push(("userstat", if on { Ok(()) } else { Err(off.to_owned()) }));
        let on = is_on(asking, "SELECT @@query_response_time_stats")?;
        let off = "MariaDB keeps a histogram only with its plugin: INSTALL SONAME \
                   'query_response_time', and SET GLOBAL query_response_time_stats = 1";
        abilities.push((
            "response_time",
            if on { Ok(()) } else { Err(off.to_owned()) },
        ));
    } else {
        let none = "only MariaDB has userstat".to_owned();
        abilities.push(("userstat", Err(none)));
    }
    let mut notes = Vec::new();
    if !sees_all(asking)? {
        notes.push(format!(
            "the user lacks the PROCESS privilege: other users' sessions may be hidden; {PROCESS}"
        ));
    }
    if proxied {
        notes.push(
            "this is ProxySQL's client port, and any of its servers may answer; use the admin port \
             for ProxySQL's own screens"
                .to_owned(),
        );
    }
    Ok(Profile {
        title,
        screens: match (is_on(asking, "SELECT @@wsrep_on")?, is_mariadb) {
            (true, _) => SCREENS_GALERA,
            (false, true) => SCREENS_MARIADB,
            (false, false) => SCREENS,
        },
        values: VALUES,
        latencies: if is_mariadb { RESPONSE_TIME } else { HISTOGRAM },
        line: LINE,
        abilities,
        schema: String::new(),
        remarks: if is_mariadb { REMARKS_MARIADB } else { &[] },
        notes,
    })
}

fn is_on(asking: Asking<'_>, question: &str) -> Result<bool, Trouble> {
    Ok(one(asking, question)?.as_deref() == Some("1"))
}

/// Whether the user sees others' sessions, according to the grants, without resolving roles.
fn sees_all(asking: Asking<'_>) -> Result<bool, Trouble> {
    let grants = match asking("SHOW GRANTS") {
        Ok(grants) => grants,
        Err(lost) if lost.is_lost() => return Err(lost),
        // It does not report grants.
        Err(_) => return Ok(true),
    };
    let grants = (0..grants.rows.len()).filter_map(|row| grants.field(row, 0));
    let mut grants = grants.filter_map(|grant| grant.split_once(" ON *.*"));
    Ok(grants.any(|(what, _)| what.contains("PROCESS") || what.contains("ALL PRIVILEGES")))
}

const HISTOGRAM: Latencies = Latencies::Buckets {
    ask: Ask::needing(
        "performance_schema",
        "SELECT BUCKET_TIMER_HIGH, COUNT_BUCKET \
         FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET > 0 \
         LIMIT 1000",
    )
    .or_advise(READ_SCHEMA),
    bound: "BUCKET_TIMER_HIGH",
    count: "COUNT_BUCKET",
    scale: PS,
    coarse: false,
};

const RESPONSE_TIME: Latencies = Latencies::Buckets {
    ask: Ask::needing(
        "response_time",
        "SELECT TIME, COUNT FROM information_schema.QUERY_RESPONSE_TIME LIMIT 1000",
    )
    .or_advise(PROCESS),
    bound: "TIME",
    count: "COUNT",
    scale: 1.0,
    // Its buckets are powers of ten, unless query_response_time_range_base is set differently.
    coarse: true,
};

/// The gaps in MariaDB's digests.
const REMARKS_MARIADB: &[Remark] = &[Remark {
    screen: STATEMENTS.title,
    figure: Figure::rate("prepared/s", "Com_stmt_execute"),
    words: "{} executions of prepared statements per second are not in any digest table: MariaDB \
            keeps no digests of them",
}];

const VALUES: &[Values] = &[
    Values::rows(Ask::plain("SHOW GLOBAL STATUS")),
    Values::rows(Ask::plain(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', \
             'innodb_buffer_pool_size', 'innodb_page_size', 'read_only')",
    )),
];

const QUERIES: Figure = Figure::rate("queries/s", "Queries|Questions");
const READS: Figure = Figure::rate("reads/s", "Com_select");
const WRITES: Figure = Figure::rate(
    "writes/s",
    "Com_insert+Com_update+Com_delete+Com_replace+Com_insert_select+Com_replace_select\
     +Com_update_multi+Com_delete_multi+Com_load",
);
const COMMITS: Figure = Figure::rate("commits/s", "Com_commit");
const RUNNING: Figure = Figure::others("running", "Threads_running");
const CONNECTED: Figure = Figure::others("connected", "Threads_connected");
const HITS: Figure = Figure::hits(
    "pool hits",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_read_requests",
);
const SENT: Figure = Figure::byte_rate("sent/s", "Bytes_sent");
const DATA_READ: Figure = Figure::byte_rate("data read/s", "Innodb_data_read");
const DATA_WRITTEN: Figure = Figure::byte_rate("data writ./s", "Innodb_data_written");
const REDO: Figure = Figure::byte_rate("redo/s", "Innodb_os_log_written");
const LOCK_WAITS: Figure = Figure::count("lock waits", "Innodb_row_lock_current_waits");

const LINE: &[Figure] = &[
    QUERIES, READS, WRITES, COMMITS, RUNNING, CONNECTED, HITS, DATA_READ, REDO, SENT,
];

const SCREENS: &[Screen] = &[OVERVIEW, STATEMENTS, TABLES, IO, REPLICATION, CONNECTIONS];

const SCREENS_MARIADB: &[Screen] = &[
    OVERVIEW,
    STATEMENTS,
    TABLES,
    IO,
    REPLICATION_MARIADB,
    CONNECTIONS,
];

const SCREENS_GALERA: &[Screen] = &[
    OVERVIEW,
    STATEMENTS,
    TABLES,
    IO,
    REPLICATION_GALERA,
    CONNECTIONS,
];

const OVERVIEW: Screen = Screen {
    title: "Overview",
    figures: &[
        QUERIES,
        READS,
        WRITES,
        COMMITS,
        RUNNING,
        CONNECTED,
        LOCK_WAITS,
        Figure::rate("slow/s", "Slow_queries"),
        HITS,
        DATA_READ,
        REDO,
        Figure::time("uptime", "Uptime", 1.0),
    ],
    heat: true,
    tables: &[Table {
        title: "Sessions by state",
        asks: &[
            Ask::needing(
                "performance_schema",
                "SELECT PROCESSLIST_COMMAND AS command, COUNT(*) AS sessions, \
                 MAX(PROCESSLIST_TIME) AS longest, COALESCE(PROCESSLIST_STATE, '') AS state \
                 FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' \
                 AND PROCESSLIST_ID IS NOT NULL AND PROCESSLIST_ID <> CONNECTION_ID() \
                 GROUP BY PROCESSLIST_COMMAND, COALESCE(PROCESSLIST_STATE, '') \
                 ORDER BY sessions DESC LIMIT 100",
            ),
            Ask::plain(
                "SELECT COMMAND AS command, COUNT(*) AS sessions, MAX(TIME) AS longest, \
                 COALESCE(STATE, '') AS state FROM information_schema.PROCESSLIST \
                 WHERE ID <> CONNECTION_ID() GROUP BY COMMAND, COALESCE(STATE, '') \
                 ORDER BY sessions DESC LIMIT 100",
            ),
        ],
        columns: &[
            Figure::text("command", "command"),
            Figure::count("sessions", "sessions"),
            Figure::time("longest", "longest", 1.0),
            Figure::text("state", "state"),
        ],
        key: &["command", "state"],
        sort: 1,
        empty: "no other session visible to this user",
    }],
};

#[cfg(test)]
mod tests {
    use dyno_core::counters::{Class, status};

    use super::*;
    use crate::profile::{Kind, Take};

    #[test]
    fn status_figures_match_the_table_of_counters() {
        let screens = [SCREENS, SCREENS_MARIADB, SCREENS_GALERA].concat();
        let figures = screens.iter().flat_map(|screen| screen.figures);
        for figure in figures.chain(LINE).filter(|one| one.kind != Kind::Text) {
            for name in figure.from.split(['|', '+']) {
                // Settings, and values that depend on the server's age.
                let is_setting = !name.starts_with(char::is_uppercase) && !name.contains("wsrep");
                if is_setting || name == "Uptime" {
                    continue;
                }
                let counter = status(&name.to_lowercase());
                let counter = counter.unwrap_or_else(|| panic!("{name} is not in the table"));
                let rate = matches!(counter.class, Class::Rate(..));
                let shown_as_rate = match figure.take {
                    Take::Now | Take::Limit | Take::Others => false,
                    Take::Rate | Take::SlowRate(_) | Take::Per(_) | Take::Less(_) => true,
                };
                // Galera's failure counts are shown as totals since the start.
                assert!(rate == shown_as_rate || name.starts_with("wsrep"), "{name}");
            }
        }
    }
}
