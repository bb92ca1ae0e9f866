//! Short stalls that add up to much of the run.

use xtask::servers::Kind::{self, Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};
use super::rates::stops;

pub(super) const CASES: &[Case] = &[
    doubted(
        Mariadb,
        "the server stands still for 170 of every 350 ms",
        "SHAPES --reads=1 --pause=0.001 -c 4 -t 12s --warmup 0",
        "stalls",
        "stalls of",
    )
    .while_(Act::ServerStops(stops(26, 170, 180))),
    doubted(
        Mysql,
        "the server stands still for 120 of every 500 ms",
        "SHAPES --reads=1 --pause=0.001 -c 4 -t 12s --warmup 0",
        "stalls",
        "stalls of",
    )
    .while_(Act::ServerStops(stops(20, 120, 380))),
    doubted(
        Mariadb,
        "the generator is frozen for 300 of every 600 ms",
        "SHAPES --reads=1 -c 4 -t 12s --warmup 0",
        "client-cpu",
        "paused",
    )
    .while_(Act::DynoStops(stops(16, 300, 300)))
    .also(&["schedule-lag"]),
    doubted(
        Postgres,
        "the generator is frozen for 200 ms each second",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "client-cpu",
        "paused",
    )
    .while_(Act::DynoStops(stops(11, 200, 800)))
    .also(&["schedule-lag"]),
    emptied(Mariadb),
    emptied(Postgres),
    Case::new(
        On::Server(Mariadb),
        "an index is dropped in mid run",
        "select_random_points --table-size 20000 -c 2 -t 14s --warmup 0",
    )
    .prepared("select_random_points --table-size 20000")
    .while_(Act::Between(
        4.0,
        0.5,
        ["ALTER TABLE sbtest1 DROP INDEX k_1", "SELECT 1"],
    ))
    .finds(Expect::Check("statistics", "doubt", "whole tables"))
    .also(&["schema"]),
];

/// Reads before and after the rows are deleted. TRUNCATE waits for locks, and reads wait for
/// TRUNCATE.
const fn emptied(kind: Kind) -> Case {
    Case::new(
        On::Server(kind),
        "the tables are emptied in mid run",
        "oltp_read_only --table-size 20000 -c 2 -t 14s --warmup 0",
    )
    .prepared("oltp_read_only --table-size 20000")
    .while_(Act::Between(
        3.0,
        0.5,
        ["TRUNCATE TABLE sbtest1", "SELECT 1"],
    ))
    .finds(Expect::Check("misses", "doubt", "found no row"))
    .also(&["stalls"])
}
