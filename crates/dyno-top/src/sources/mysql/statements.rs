//! Sessions and statements.

use super::{PS, READ_SCHEMA};
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const STATEMENTS: Screen = Screen {
    title: "Statements",
    figures: &[],
    heat: false,
    tables: &[
        Table {
            title: "Processes",
            asks: &[
                Ask::needing(
                    "performance_schema",
                    "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 300) AS INFO \
                     FROM performance_schema.processlist WHERE ID <> CONNECTION_ID() \
                     ORDER BY COMMAND = 'Sleep', TIME DESC LIMIT 200",
                ),
                Ask::plain(
                    "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 300) AS INFO \
                     FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() \
                     ORDER BY COMMAND = 'Sleep', TIME DESC LIMIT 200",
                ),
            ],
            columns: &[
                Figure::text("id", "ID"),
                Figure::text("command", "COMMAND"),
                Figure::time("time", "TIME", 1.0),
                Figure::text("state", "STATE"),
                Figure::statement("statement", "INFO"),
                Figure::text("user", "USER"),
                Figure::text("db", "DB"),
            ],
            key: &["ID"],
            sort: 1,
            empty: "no other session visible to this user",
        },
        Table {
            title: "Statements by digest (the 100 with the most time since the start)",
            asks: &[Ask::needing(
                "performance_schema",
                "SELECT SCHEMA_NAME, DIGEST, LEFT(DIGEST_TEXT, 300) AS DIGEST_TEXT, COUNT_STAR, \
                 SUM_TIMER_WAIT, SUM_LOCK_TIME, SUM_ROWS_SENT, SUM_ROWS_AFFECTED, \
                 SUM_ROWS_EXAMINED, SUM_NO_INDEX_USED, SUM_ERRORS, SUM_CREATED_TMP_DISK_TABLES \
                 FROM performance_schema.events_statements_summary_by_digest \
                 ORDER BY SUM_TIMER_WAIT DESC LIMIT 100",
            )
            .or_advise(READ_SCHEMA)],
            columns: &[
                Figure::load("time/s", "SUM_TIMER_WAIT", PS),
                Figure::rate("calls/s", "COUNT_STAR"),
                Figure::mean("mean", "SUM_TIMER_WAIT", "COUNT_STAR", PS),
                Figure::rate("rows/s", "SUM_ROWS_SENT+SUM_ROWS_AFFECTED"),
                Figure::rate("exam./s", "SUM_ROWS_EXAMINED"),
                Figure::time("total", "SUM_TIMER_WAIT", PS),
                Figure::statement("statement", "DIGEST_TEXT"),
                Figure::rate("no index/s", "SUM_NO_INDEX_USED"),
                Figure::rate("disk tmp/s", "SUM_CREATED_TMP_DISK_TABLES"),
                Figure::rate("errors/s", "SUM_ERRORS"),
                Figure::text("schema", "SCHEMA_NAME"),
            ],
            key: &["SCHEMA_NAME", "DIGEST"],
            sort: 0,
            empty: "no digests: is the consumer statements_digest on in \
                    performance_schema.setup_consumers?",
        },
    ],
};
