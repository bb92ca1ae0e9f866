//! Servers that fail, restart, answer with errors, or are not the intended ones.

use xtask::servers::Kind::{Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const READS: &str = "SHAPES --reads=1 -c 4 -t 12s --warmup 0";

/// Like `doubted`, for a run that is refused.
const fn refused(
    kind: xtask::servers::Kind,
    what: &'static str,
    run: &'static str,
    check: &'static str,
    words: &'static str,
) -> Case {
    doubted(kind, what, run, check, words).finds(Expect::Check(check, "refuse", words))
}

const FOURTH_FAILS: Case = refused(
    Mariadb,
    "every fourth event fails",
    "SHAPES --reads=1 --fail-every=4 -c 4 -t 3s --warmup 0",
    "errors",
    "1146",
);

const CRASH: Case = refused(
    Mariadb,
    "the server crashes and comes back",
    READS,
    "restarts",
    "the server was restarted",
)
.while_(Act::Crash(3.0))
.also(&["stalls", "steady-state", "observers", "errors"]);

const RESTART: Case = refused(
    Mysql,
    "the server is restarted",
    READS,
    "restarts",
    "the server was restarted",
)
.while_(Act::Restart(3.0))
.also(&["stalls", "steady-state", "observers", "errors"]);

const SESSIONS_ENDED: Case = doubted(
    Mariadb,
    "all sessions are ended again and again",
    "SHAPES --reads=1 -c 4 -t 12s --warmup 0 --pause=0.05",
    "restarts",
    "the server was not restarted",
)
.while_(Act::KillsSessions(0.3, 25))
.also(&["observers", "errors", "stalls", "steady-state"]);

const OTHER_LOAD: Case = doubted(
    Mariadb,
    "somebody else loads the same server",
    READS,
    "server-counters",
    "",
)
.while_(Act::OtherLoad("SHAPES --reads=1 -c 8 -t 16s --warmup 0"));

pub(super) const CASES: &[Case] = &[
    FOURTH_FAILS,
    FOURTH_FAILS.on(On::Server(Mysql)),
    refused(
        Postgres,
        "every fourth event fails",
        "SHAPES --reads=1 --fail-every=4 -c 4 -t 3s --warmup 0",
        "errors",
        "42P01",
    ),
    doubted(
        Mariadb,
        "every thirtieth event fails",
        "SHAPES --reads=1 --fail-every=30 -c 4 -t 3s --warmup 0",
        "errors",
        "1146",
    ),
    doubted(
        Postgres,
        "every fiftieth event fails",
        "SHAPES --reads=1 --fail-every=50 -c 4 -t 3s --warmup 0",
        "errors",
        "42P01",
    ),
    CRASH,
    CRASH.on(On::Server(Postgres)),
    RESTART,
    RESTART.on(On::Server(Mariadb)),
    SESSIONS_ENDED,
    SESSIONS_ENDED.on(On::Server(Postgres)),
    doubted(
        Postgres,
        "the observer's connection is ended",
        READS,
        "observers",
        "no connection",
    )
    .while_(Act::KillsObserver(2.0))
    .also(&["restarts"]),
    doubted(
        Mariadb,
        "a setting is moved",
        READS,
        "moved-settings",
        "innodb_io_capacity",
    )
    .while_(Act::Between(
        3.0,
        0.5,
        ["SET GLOBAL innodb_io_capacity = 300", "SELECT 1"],
    )),
    doubted(
        Postgres,
        "a setting is moved",
        READS,
        "moved-settings",
        "checkpoint_timeout",
    )
    .while_(Act::Between(
        3.0,
        0.5,
        [
            "ALTER SYSTEM SET checkpoint_timeout = '7min'",
            "SELECT pg_reload_conf()",
        ],
    )),
    Case::new(
        On::Server(Mysql),
        "a setting is not as it was asked for",
        "SHAPES --reads=1 -c 2 -t 2s --warmup 0 --expect innodb_flush_log_at_trx_commit=2",
    )
    .prepared("SHAPES")
    .finds(Expect::Before("innodb_flush_log_at_trx_commit")),
    Case::new(
        On::Server(Postgres),
        "a setting that was asked for does not exist",
        "SHAPES --reads=1 -c 2 -t 2s --warmup 0 --expect no_such_setting=on",
    )
    .prepared("SHAPES")
    .finds(Expect::Before("no_such_setting")),
    refused(
        Mariadb,
        "a setting is not as it was asked for, and --force",
        "SHAPES --reads=1 -c 2 -t 2s --warmup 0 --force --expect max_connections=7",
        "requested-settings",
        "max_connections",
    ),
    doubted(
        Postgres,
        "nothing is synced",
        "SHAPES --writes=1 -c 2 -t 2s --warmup 0",
        "durability",
        "fsync = off",
    )
    .server(&["-c", "fsync=off", "-c", "full_page_writes=off"]),
    doubted(
        Mysql,
        "the doublewrite buffer is off",
        "SHAPES --writes=1 -c 2 -t 2s --warmup 0",
        "durability",
        "innodb_doublewrite",
    )
    .server(&["--innodb-doublewrite=OFF"]),
    OTHER_LOAD,
    OTHER_LOAD.on(On::Server(Postgres)),
    OTHER_LOAD.on(On::Server(Mysql)),
];
