//! Servers that log each statement, with one case per kind of setting; statements that touch
//! nothing; and a purge that falls behind.

use xtask::servers::Kind::{self, Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const READS: &str = "SHAPES --reads=1 -c 4 -t 8s --warmup 0";

const fn logged(
    kind: Kind,
    what: &'static str,
    words: &'static str,
    server: &'static [&'static str],
) -> Case {
    doubted(kind, what, READS, "statement-logs", words).server(server)
}

const fn touching(
    kind: Kind,
    what: &'static str,
    prepare: &'static str,
    run: &'static str,
) -> Case {
    Case::new(On::Server(kind), what, run).prepared(prepare)
}

const NO_TABLE: Case = touching(
    Mysql,
    "statements touch no table",
    "TOUCHES --what=nothing",
    "TOUCHES --what=nothing -c 2 -t 8s --warmup 0",
)
.finds(Expect::Check("work-done", "doubt", "touch no table"));

pub(super) const CASES: &[Case] = &[
    logged(
        Mysql,
        "the slow log has every statement",
        "long_query_time",
        &["--slow-query-log=ON", "--long-query-time=0"],
    ),
    touching(
        Mariadb,
        "statements without an index are logged",
        "TOUCHES --what=scan",
        "TOUCHES --what=scan -c 2 -t 8s --warmup 0",
    )
    .server(&["--slow-query-log=ON", "--log-queries-not-using-indexes=ON"])
    .finds(Expect::Check("statement-logs", "doubt", "slow_queries"))
    .also(&["statistics"]),
    logged(
        Postgres,
        "all transactions are sampled into the log",
        "log_transaction_sample_rate",
        &["-c", "log_transaction_sample_rate=1"],
    ),
    logged(
        Postgres,
        "all statements are sampled into the log",
        "log_min_duration_sample",
        &[
            "-c",
            "log_min_duration_sample=0",
            "-c",
            "log_statement_sample_rate=1",
        ],
    ),
    logged(
        Postgres,
        "the executor's statistics are logged",
        "log_executor_stats",
        &["-c", "log_executor_stats=on"],
    ),
    logged(
        Postgres,
        "the parser's statistics are logged",
        "log_parser_stats",
        &["-c", "log_parser_stats=on"],
    ),
    logged(
        Postgres,
        "plans are logged",
        "debug_print_plan",
        &["-c", "debug_print_plan=on"],
    ),
    NO_TABLE,
    NO_TABLE.on(On::Server(Postgres)),
    doubted(
        Mariadb,
        "a transaction left open keeps purge behind",
        "SHAPES --writes=1 --pause=0 -c 4 -t 15s --warmup 0",
        "growth",
        "purge fell behind",
    )
    .while_(Act::Holds(
        1.0,
        13.0,
        &["START TRANSACTION WITH CONSISTENT SNAPSHOT"],
    ))
    .also(&["steady-state", "warm-up", "server-counters"]),
];
