//! Tables and indexes.

use super::{PS, READ_SCHEMA};
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const TABLES: Screen = Screen {
    title: "Tables",
    figures: &[],
    heat: false,
    tables: &[
        Table {
            title: "Tables by reads and writes",
            asks: &[
                Ask::needing(
                    "performance_schema",
                    "SELECT OBJECT_SCHEMA AS TABLE_SCHEMA, OBJECT_NAME AS TABLE_NAME, COUNT_READ, \
                     COUNT_WRITE, SUM_TIMER_READ, SUM_TIMER_WRITE \
                     FROM performance_schema.table_io_waits_summary_by_table \
                     WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN ('mysql', \
                     'performance_schema', 'sys') ORDER BY COUNT_STAR DESC LIMIT 200",
                )
                .or_advise(READ_SCHEMA),
                Ask::needing(
                    "userstat",
                    "SELECT TABLE_SCHEMA, TABLE_NAME, ROWS_READ, ROWS_CHANGED \
                     FROM information_schema.TABLE_STATISTICS ORDER BY ROWS_READ DESC LIMIT 200",
                ),
            ],
            columns: &[
                Figure::text("schema", "TABLE_SCHEMA"),
                Figure::text("table", "TABLE_NAME"),
                Figure::rate("reads/s", "COUNT_READ|ROWS_READ"),
                Figure::rate("writes/s", "COUNT_WRITE|ROWS_CHANGED"),
                Figure::load("reading", "SUM_TIMER_READ", PS),
                Figure::load("writing", "SUM_TIMER_WRITE", PS),
            ],
            key: &["TABLE_SCHEMA", "TABLE_NAME"],
            sort: 2,
            empty: "no table was used since the start",
        },
        Table {
            title: "Indexes by use",
            asks: &[
                Ask::needing(
                    "performance_schema",
                    "SELECT OBJECT_SCHEMA AS TABLE_SCHEMA, OBJECT_NAME AS TABLE_NAME, INDEX_NAME, \
                     COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE, SUM_TIMER_WAIT \
                     FROM performance_schema.table_io_waits_summary_by_index_usage \
                     WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN ('mysql', \
                     'performance_schema', 'sys') ORDER BY COUNT_STAR DESC LIMIT 200",
                )
                .or_advise(READ_SCHEMA),
                Ask::needing(
                    "userstat",
                    "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ \
                     FROM information_schema.INDEX_STATISTICS ORDER BY ROWS_READ DESC LIMIT 200",
                ),
            ],
            columns: &[
                Figure::text("table", "TABLE_NAME"),
                Figure::text("index", "INDEX_NAME"),
                Figure::rate("fetches/s", "COUNT_FETCH|ROWS_READ"),
                Figure::rate("updates/s", "COUNT_UPDATE"),
                Figure::rate("deletes/s", "COUNT_DELETE"),
                Figure::load("time/s", "SUM_TIMER_WAIT", PS),
                Figure::text("schema", "TABLE_SCHEMA"),
            ],
            key: &["TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME"],
            sort: 2,
            empty: "no index was used since the start (rows without an index name are table scans)",
        },
        Table {
            title: "Sizes, estimated by the server",
            asks: &[Ask::plain(
                "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, \
                 DATA_FREE FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' \
                 AND TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', \
                 'information_schema') ORDER BY DATA_LENGTH + INDEX_LENGTH DESC LIMIT 100",
            )],
            columns: &[
                Figure::text("schema", "TABLE_SCHEMA"),
                Figure::text("table", "TABLE_NAME"),
                Figure::text("engine", "ENGINE"),
                Figure::count("rows", "TABLE_ROWS"),
                Figure::bytes("data", "DATA_LENGTH"),
                Figure::bytes("indexes", "INDEX_LENGTH"),
                Figure::bytes("free", "DATA_FREE"),
            ],
            key: &["TABLE_SCHEMA", "TABLE_NAME"],
            sort: 4,
            empty: "no table visible to this user",
        },
    ],
};
