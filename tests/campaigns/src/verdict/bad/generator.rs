//! Load generators short of CPU, scripts that block their workers, hosts with other load, and
//! offered load beyond the capacity.

use xtask::servers::Kind::{Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const NO_STATEMENT: Case = Case::new(
    On::Server(Mariadb),
    "a script that sends no statement",
    "SHAPES --statements=0 -c 2 -t 3s --warmup 0",
)
.prepared("SHAPES")
.finds(Expect::Check("work-done", "refuse", "no statement"));

pub(super) const CASES: &[Case] = &[
    doubted(
        Mariadb,
        "every other session is served a twentieth",
        "SHAPES --reads=1 --uneven=20 -c 4 -t 3s --warmup 0",
        "fairness",
        "unevenly",
    ),
    doubted(
        Postgres,
        "every other session is served a tenth",
        "SHAPES --reads=1 --uneven=10 -c 8 -t 3s --warmup 0",
        "fairness",
        "unevenly",
    ),
    doubted(
        Mariadb,
        "the script computes without a pause",
        "SHAPES --reads=1 --cpu=0.004 --pause=0 -c 1 -t 4s --warmup 0",
        "client-cpu",
        "no CPU time to spare",
    )
    .also(&["generator-ceiling", "same-host"]),
    Case::new(
        On::Server(Postgres),
        "the generator is at its ceiling",
        "SHAPES --reads=1 --cpu=0.004 --pause=0 -c 1 -t 4s --warmup 0 --calibrate always",
    )
    .prepared("SHAPES")
    .finds(Expect::Check("generator-ceiling", "refuse", "% of the"))
    .also(&["client-cpu", "same-host"]),
    doubted(
        Mysql,
        "the generator shares one CPU with eight processes",
        "SHAPES --reads=1 --cpu=0.002 --pause=0.003 -c 1 -t 6s --warmup 0",
        "other-processes",
        "rocesses used",
    )
    .while_(Act::Pinned(8))
    .also(&["client-cpu", "other-load"]),
    doubted(
        Mariadb,
        "the script occasionally blocks its worker for 0.3 s",
        "SHAPES --reads=1 --block=500 -c 8 --workers 1 -t 12s --warmup 0",
        "client-cpu",
        "a script blocked its worker for",
    )
    .also(&["steady-state", "stalls"]),
    doubted(
        Mariadb,
        "others take the CPUs in the second half",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "other-load",
        "in a row from",
    )
    .while_(Act::Burners(7.0, 2))
    .also(&["other-processes", "steady-state", "client-cpu", "warm-up"]),
    doubted(
        Postgres,
        "others take the CPUs all the time",
        "SHAPES --reads=1 -c 4 -t 12s --warmup 0",
        "other-processes",
        "sh (",
    )
    .while_(Act::Burners(0.0, 2))
    .also(&["other-load", "client-cpu", "warm-up", "steady-state"]),
    Case::new(
        On::Sqlite,
        "others take the CPUs all the time",
        "SHAPES --reads=1 -c 2 -t 12s --warmup 0",
    )
    .prepared("SHAPES")
    .while_(Act::Burners(0.0, 2))
    .finds(Expect::Check("other-processes", "doubt", "sh ("))
    .also(&["other-load", "client-cpu", "warm-up", "steady-state"]),
    doubted(
        Mariadb,
        "five times as much is offered as can be served",
        "SHAPES --reads=1 --pause=0.01 -c 4 -t 6s --warmup 0 --rate 2000/s",
        "offered-rate",
        "growing from second to second",
    )
    .also(&["unserved"]),
    doubted(
        Postgres,
        "five times as much is offered as can be served, from the warm-up on",
        "SHAPES --reads=1 --pause=0.01 -c 4 -t 6s --warmup 2s --rate 2000/s",
        "offered-rate",
        "growing from second to second",
    )
    .also(&["unserved"]),
    doubted(
        Mysql,
        "a tenth more is offered than can be served",
        "SHAPES --reads=1 --pause=0.01 -c 4 -t 20s --warmup 0 --rate {1.1}/s",
        "offered-rate",
        "",
    )
    .also(&["unserved"]),
    doubted(
        Mariadb,
        "events of 2 s are cut at the end of the run",
        "SHAPES --slow-all=2 --pause=0 -c 50 -t 11s --warmup 0 --grace 0.1s",
        "unserved",
        "started but did not end",
    )
    .also(&["samples", "steady-state", "stalls", "length", "work-done"]),
    NO_STATEMENT,
    NO_STATEMENT.on(On::Server(Postgres)),
];
