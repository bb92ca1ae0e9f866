//! Runs that look good but measure something other than intended.

use xtask::servers::Kind::{Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const READS: &str = "SHAPES --reads=1 -c 4 -t 12s --warmup 0";

const NO_TABLE: Case = doubted(
    Mariadb,
    "no statement touches a table",
    "SHAPES -c 4 -t 6s --warmup 0",
    "work-done",
    "touch no table",
);

pub(super) const CASES: &[Case] = &[
    doubted(
        Mariadb,
        "two fifths of the statements are 20 ms slower",
        "SHAPES --reads=1 --pause=0 --slow-share=0.4 -c 4 -t 6s --warmup 0",
        "latency-modes",
        "have two modes",
    ),
    doubted(
        Postgres,
        "a fifth of the statements are 20 ms slower",
        "SHAPES --reads=1 --pause=0 --slow-share=0.2 -c 4 -t 6s --warmup 0",
        "latency-modes",
        "have two modes",
    ),
    NO_TABLE,
    NO_TABLE.on(On::Server(Mysql)),
    NO_TABLE.on(On::Server(Postgres)),
    doubted(
        Mysql,
        "it is always the same row",
        "SHAPES --reads=1 --same-key=1 -c 4 -t 6s --warmup 0",
        "key-distribution",
        "only 1 differed",
    ),
    doubted(
        Postgres,
        "it is always the same row that is changed",
        "SHAPES --writes=1 --same-key=1 -c 4 -t 6s --warmup 0",
        "key-distribution",
        "only 1 differed",
    ),
    doubted(
        Mariadb,
        "the query cache answers",
        READS,
        "query-cache",
        "query_cache_type = ON",
    )
    .server(&["--query-cache-type=ON", "--query-cache-size=16M"]),
    doubted(
        Mariadb,
        "the general log is on",
        READS,
        "statement-logs",
        "general_log = ON",
    )
    .server(&["--general-log=1"]),
    doubted(
        Postgres,
        "every statement is logged",
        READS,
        "statement-logs",
        "log_statement = all",
    )
    .server(&["-c", "log_statement=all"]),
    doubted(
        Mysql,
        "a setting is moved and moved back",
        READS,
        "moved-settings",
        "innodb_io_capacity went from",
    )
    .while_(Act::Between(
        3.0,
        2.5,
        [
            "SET GLOBAL innodb_io_capacity = 333",
            "SET GLOBAL innodb_io_capacity = DEFAULT",
        ],
    )),
    doubted(
        Mariadb,
        "the rate falls by two fifths at 12 s of 20",
        "SHAPES --reads=1 --step-at=12 --step=1.7 -c 4 -t 20s --warmup 0",
        "steady-state",
        "the rate steps by",
    ),
    Case::new(
        On::Server(Postgres),
        "a quarter of the keys are not there",
        "oltp_point_select --table-size 2000 -c 2 -t 3s --warmup 0 --force",
    )
    .prepared("oltp_point_select --table-size 2000")
    .before(&["DELETE FROM sbtest1 WHERE id % 4 = 1"])
    .finds(Expect::Check("misses", "doubt", "found no row"))
    .also(&["row-counts"]),
    Case::new(
        On::Server(Mariadb),
        "the table has no index",
        "oltp_point_select --table-size 5000 -c 2 -t 12s --warmup 0",
    )
    .prepared("oltp_point_select --table-size 5000")
    .before(&["ALTER TABLE sbtest1 MODIFY id INTEGER NOT NULL, DROP PRIMARY KEY, DROP INDEX k_1"])
    .finds(Expect::Check(
        "statistics",
        "doubt",
        "without any index: sbtest1",
    )),
];
