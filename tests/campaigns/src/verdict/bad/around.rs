//! Faults around the server (a slow link, a busy disk, a backup, another node), and open loops that
//! fall behind.

use xtask::servers::Kind::{Mariadb, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const HALF_SLOW: Case = Case::new(
    On::Throttled(Mariadb),
    "half of the sessions have a slow link",
    "SHAPES --reads=1 -c 8 -t 12s --warmup 0",
)
.prepared("SHAPES")
.finds(Expect::Check("fairness", "doubt", "unevenly"))
.also(&["latency-modes"]);

pub(super) const CASES: &[Case] = &[
    HALF_SLOW,
    HALF_SLOW.on(On::Throttled(Postgres)),
    Case::new(
        On::Galera,
        "flow control pauses the node",
        "SHAPES --writes=1 --pause=0 -c 8 -t 14s --warmup 0",
    )
    .prepared("SHAPES")
    .finds(Expect::Check("flow-control", "doubt", "paused writes"))
    // The other node is another process on this host.
    .also(&["stalls", "steady-state", "other-load", "other-processes"]),
    Case::new(
        On::Server(Mariadb),
        "a backup locks the tables in mid run",
        "oltp_update_non_index --table-size 400000 -c 4 -t 14s --warmup 0",
    )
    .prepared("oltp_update_non_index --table-size 400000")
    .while_(Act::Backup(4.0))
    .finds(Expect::Check("stalls", "doubt", "lock"))
    .also(&[
        "steady-state",
        "whole-cycles",
        "other-load",
        "server-counters",
    ]),
    doubted(
        Mariadb,
        "somebody locks the table until shortly before an open loop's end",
        "SHAPES --reads=1 -c 4 --rate 500/s -t 14s --warmup 0",
        "offered-rate",
        "were achieved",
    )
    .while_(Act::Holds(6.0, 6.0, &["LOCK TABLES shape WRITE"]))
    .also(&["stalls", "steady-state", "unserved"]),
    doubted(
        Postgres,
        "the script of an open loop blocks its worker, so that it falls behind",
        "SHAPES --reads=1 --block=100 -c 8 --workers 1 --rate 300/s -t 14s --warmup 0",
        "offered-rate",
        "were achieved",
    )
    .also(&[
        "client-cpu",
        "schedule-lag",
        "stalls",
        "steady-state",
        "unserved",
    ]),
    // The server counts more transactions than the run has, but fewer than the run's statements.
    Case::new(
        On::Server(Postgres),
        "a client that is mostly idle loads the same server",
        "oltp_read_only --table-size 2000 -c 4 --rate 200/s -t 12s --warmup 0",
    )
    .prepared("oltp_read_only --table-size 2000")
    .while_(Act::OtherLoad(
        "oltp_read_only --table-size 2000 -c 1 --rate 100/s -t 20s --warmup 0",
    ))
    .finds(Expect::Check("server-counters", "doubt", "")),
];
