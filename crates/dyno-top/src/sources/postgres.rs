//! PostgreSQL.

mod clients;
mod io;
mod statements;
mod tables;

use dyno_core::catalogue::names;
use dyno_core::counters::{Also, Counts, Server, includes, meaning};

use super::server::{Asking, one};
use crate::profile::{Ask, Figure, Latencies, Profile, Remark, Screen, Table, Values};
use crate::source::Trouble;
use clients::{CONNECTIONS, REPLICATION};
use io::IO;
use statements::STATEMENTS;
use tables::TABLES;

const MONITOR: &str = "GRANT pg_monitor TO the user";
/// A millisecond, the unit of its times.
const MS: f64 = 1e-3;

/// Values that the user may not see are NULL: then the number of sessions per state is unknown,
/// rather than 0. Their databases are visible, which distinguishes them from the server's own
/// processes.
///
/// The profile of this server.
///
/// # Errors
/// The connection was lost.
pub(crate) fn profile(asking: Asking<'_>, title: String) -> Result<Profile, Trouble> {
    let schema = one(
        asking,
        "SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = 'pg_stat_statements'",
    )?;
    let statements = match &schema {
        Some(_) => Ok(()),
        None => Err(
            "counting statements needs the extension pg_stat_statements, which is not in this \
             database: add it to shared_preload_libraries, restart, and run CREATE EXTENSION \
             pg_stat_statements here"
                .to_owned(),
        ),
    };
    let version = one(asking, "SELECT current_setting('server_version_num')")?;
    let version: u32 = version.and_then(|text| text.parse().ok()).unwrap_or(0);
    let since = |first: u32, what: &str| match version / 10_000 >= first {
        true => Ok(()),
        false => Err(format!("{what} exists since PostgreSQL {first}")),
    };
    let major = u16::try_from(version / 10_000).unwrap_or(u16::MAX);
    let requests = match meaning("pg_stat_io", Server::Postgres, (major, 0)) {
        Some(io) if io.counts == Counts::Operation => Ok(()),
        Some(_) => Err("pg_stat_io counts blocks before PostgreSQL 18".to_owned()),
        None => since(16, "pg_stat_io"),
    };
    let has_new_pages = version > 0 && {
        let read = names::DB_DATABASE_BLKS_READ;
        includes(read, Server::Postgres, (major, 0), Also::NewBlocks)
    };
    let mut notes = Vec::new();
    let monitors = one(
        asking,
        "SELECT pg_has_role(current_user, 'pg_monitor', 'USAGE')",
    )?;
    if monitors.as_deref() == Some("f") {
        notes.push(format!("other users' sessions are hidden: {MONITOR}"));
    }
    Ok(Profile {
        title,
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Absent(
            "PostgreSQL keeps no histogram; the Statements screen shows the means from \
             pg_stat_statements",
        ),
        line: LINE,
        abilities: vec![
            ("pg_stat_statements", statements),
            ("pg_stat_io", since(16, "pg_stat_io")),
            ("pg_stat_io of requests", requests),
            ("pg_stat_checkpointer", since(17, "pg_stat_checkpointer")),
            ("pg_stat_wal", since(14, "pg_stat_wal")),
            ("pg_shmem_allocations", since(13, "pg_shmem_allocations")),
        ],
        schema: schema.unwrap_or_default(),
        remarks: if has_new_pages { NEW_PAGES } else { &[] },
        notes,
    })
}

/// The views of tables and indexes count as `pg_stat_database` does; since version 12,
/// `pg_stat_statements` counts new pages as written.
const NEW_PAGES: &[Remark] = &[
    Remark {
        screen: OVERVIEW.title,
        figure: BLOCKS_READ,
        words: "buffer hits count new pages as misses before version 16",
    },
    Remark {
        screen: TABLES.title,
        figure: BLOCKS_READ,
        words: "blocks read/s includes new pages before version 16",
    },
    Remark {
        screen: IO.title,
        figure: BLOCKS_READ,
        words: "blocks read/s includes new pages before version 16; hits count them as misses",
    },
];

const VALUES: &[Values] = &[
    Values::columns(Ask::plain(
        "SELECT sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback, \
             sum(blks_read) AS blks_read, sum(blks_hit) AS blks_hit, \
             sum(blks_read) + sum(blks_hit) AS blks, sum(tup_returned) AS tup_returned, \
             sum(tup_fetched) AS tup_fetched, sum(tup_inserted) AS tup_inserted, \
             sum(tup_updated) AS tup_updated, sum(tup_deleted) AS tup_deleted, \
             sum(temp_files) AS temp_files, sum(temp_bytes) AS temp_bytes, \
             sum(deadlocks) AS deadlocks, sum(conflicts) AS conflicts, \
             extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) AS uptime, \
             current_setting('max_connections') AS max_connections, \
             pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers, \
             CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END AS role \
             FROM pg_catalog.pg_stat_database",
    )),
    Values::columns(Ask::plain(
        "SELECT count(*) AS connected, \
             CASE WHEN coalesce(bool_and(state IS NOT NULL), true) THEN \
             count(*) FILTER (WHERE state = 'active') END AS active, \
             CASE WHEN coalesce(bool_and(state IS NOT NULL), true) THEN count(*) FILTER \
             (WHERE state = 'active' AND wait_event_type IS NOT NULL) END AS waiting, \
             CASE WHEN coalesce(bool_and(state IS NOT NULL), true) THEN \
             count(*) FILTER (WHERE wait_event_type = 'Lock') END AS locked, \
             CASE WHEN coalesce(bool_and(state IS NOT NULL), true) THEN count(*) FILTER \
             (WHERE state LIKE 'idle in transaction%') END AS idle_in_transaction, \
             extract(epoch FROM max(clock_timestamp() - xact_start)) AS oldest_transaction, \
             max(age(backend_xmin)) AS xmin_age \
             FROM pg_catalog.pg_stat_activity WHERE \
             (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL) \
             AND pid <> pg_backend_pid()",
    )),
    Values::columns(Ask::needing(
        "pg_stat_wal",
        "SELECT wal_records, wal_fpi, wal_bytes FROM pg_catalog.pg_stat_wal",
    )),
    Values::columns(Ask::plain("SELECT * FROM pg_catalog.pg_stat_bgwriter")),
    Values::columns(Ask::needing(
        "pg_stat_checkpointer",
        "SELECT * FROM pg_catalog.pg_stat_checkpointer",
    )),
];

const COMMITS: Figure = Figure::rate("commits/s", "xact_commit");
const ROLLBACKS: Figure = Figure::rate("rollbacks/s", "xact_rollback");
const READ: Figure = Figure::rate("rows read/s", "tup_returned");
const FETCHED: Figure = Figure::rate("fetched/s", "tup_fetched");
const WRITTEN: Figure = Figure::rate("written/s", "tup_inserted+tup_updated+tup_deleted");
const ACTIVE: Figure = Figure::count("active", "active");
const WAITING: Figure = Figure::count("waiting", "waiting");
const LOCKED: Figure = Figure::count("for locks", "locked");
const CONNECTED: Figure = Figure::count("connected", "connected");
const HITS: Figure = Figure::hits("buffer hits", "blks_read", "blks");
const BLOCKS_READ: Figure = Figure::rate("blocks read/s", "blks_read");
const WAL: Figure = Figure::byte_rate("WAL/s", "wal_bytes");
const IDLE: Figure = Figure::count("idle in tx", "idle_in_transaction");
const OLDEST: Figure = Figure::time("oldest tx", "oldest_transaction", 1.0);

const LINE: &[Figure] = &[
    COMMITS, ROLLBACKS, FETCHED, WRITTEN, ACTIVE, WAITING, LOCKED, CONNECTED, HITS, WAL,
];

const SCREENS: &[Screen] = &[OVERVIEW, STATEMENTS, TABLES, IO, REPLICATION, CONNECTIONS];

const OVERVIEW: Screen = Screen {
    title: "Overview",
    figures: &[
        COMMITS,
        ROLLBACKS,
        READ,
        WRITTEN,
        ACTIVE,
        WAITING,
        LOCKED,
        IDLE,
        HITS,
        WAL,
        OLDEST,
        Figure::time("uptime", "uptime", 1.0),
    ],
    heat: true,
    tables: &[Table {
        title: "Sessions by wait event",
        asks: &[Ask::plain(
            "SELECT coalesce(state, '(hidden)') AS state, \
             CASE WHEN state = 'active' THEN coalesce(wait_event_type, '(running)') \
             ELSE coalesce(wait_event_type, '') END AS type, coalesce(wait_event, '') AS event, \
             count(*) AS sessions, \
             extract(epoch FROM max(clock_timestamp() - state_change)) AS longest \
             FROM pg_catalog.pg_stat_activity WHERE \
             (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL) \
             AND pid <> pg_backend_pid() GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 100",
        )],
        columns: &[
            Figure::count("sessions", "sessions"),
            Figure::text("state", "state"),
            Figure::text("waits for", "type"),
            Figure::time("longest", "longest", 1.0),
            Figure::text("event", "event"),
        ],
        key: &["state", "type", "event"],
        sort: 0,
        empty: "no other session",
    }],
};
