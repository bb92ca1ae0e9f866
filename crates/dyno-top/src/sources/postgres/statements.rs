//! Sessions and statements.

use super::MS;
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const STATEMENTS: Screen = Screen {
    title: "Statements",
    figures: &[],
    heat: false,
    tables: &[
        Table {
            title: "Processes",
            asks: &[Ask::plain(
                "SELECT pid, usename, datname, \
                 replace(state, 'idle in transaction', 'idle in tx') AS state, \
                 concat_ws(':', wait_event_type, wait_event) AS wait, \
                 extract(epoch FROM clock_timestamp() - CASE state WHEN 'active' THEN query_start \
                 ELSE state_change END) AS time, \
                 CASE WHEN wait_event_type = 'Lock' THEN \
                 cardinality(pg_blocking_pids(pid)) END AS blockers, left(query, 300) AS query \
                 FROM pg_catalog.pg_stat_activity WHERE \
             (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL) \
                 AND pid <> pg_backend_pid() \
                 ORDER BY state = 'active' DESC, state_change LIMIT 200",
            )],
            columns: &[
                Figure::text("pid", "pid"),
                Figure::text("state", "state"),
                Figure::text("waits for", "wait"),
                Figure::time("since", "time", 1.0),
                Figure::count("blockers", "blockers").if_any(),
                Figure::statement("statement", "query"),
                Figure::text("user", "usename"),
                Figure::text("db", "datname"),
            ],
            key: &["pid"],
            sort: 1,
            empty: "no other session",
        },
        Table {
            title: "Statements (the 100 with the most time since the reset)",
            asks: &[
                Ask::needing(
                    "pg_stat_statements",
                    "SELECT userid, dbid, queryid, calls, total_exec_time, rows, \
                     shared_blks_read, shared_blks_hit, temp_blks_written, \
                     left(query, 300) AS query FROM {schema}.pg_stat_statements \
                     ORDER BY total_exec_time DESC LIMIT 100",
                ),
                Ask::needing(
                    "pg_stat_statements",
                    "SELECT userid, dbid, queryid, calls, total_time AS total_exec_time, rows, \
                     shared_blks_read, shared_blks_hit, temp_blks_written, \
                     left(query, 300) AS query FROM {schema}.pg_stat_statements \
                     ORDER BY total_time DESC LIMIT 100",
                )
                .or_advise("is it in shared_preload_libraries?"),
            ],
            columns: &[
                Figure::load("time/s", "total_exec_time", MS),
                Figure::rate("calls/s", "calls"),
                Figure::mean("mean", "total_exec_time", "calls", MS),
                Figure::rate("rows/s", "rows"),
                Figure::rate("read/s", "shared_blks_read"),
                Figure::time("total", "total_exec_time", MS),
                Figure::statement("statement", "query"),
                Figure::rate("hits/s", "shared_blks_hit"),
                Figure::rate("temp/s", "temp_blks_written"),
            ],
            key: &["userid", "dbid", "queryid"],
            sort: 0,
            empty: "no statement was counted: see pg_stat_statements.track",
        },
    ],
};
