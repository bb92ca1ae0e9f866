//! Runs without a fault, which must have no findings.

use xtask::servers::Kind::{self, Mariadb, Mysql, Postgres};

use super::case::{Act, Case, On};

const MARIADB: On = On::Server(Mariadb);
const MYSQL: On = On::Server(Mysql);
const POSTGRES: On = On::Server(Postgres);
const SQLITE: On = On::Sqlite;

/// sysbench's workloads: the place, the script, the sessions, the time, and the rate of an open
/// loop.
macro_rules! good {
    ($on:expr, $script:literal, $load:literal $(, $rate:literal)?) => {{
        const RUN: &str = concat!(
            $script, " --table-size 10000 ", $load, " --warmup 3s" $(, " --rate ", $rate)?
        );
        Case::new($on, RUN, RUN).prepared("oltp_read_write --table-size 10000")
    }};
}

const fn two(kind: Kind) -> Case {
    const RUN: &str = "oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s";
    Case::new(On::Two(kind), RUN, RUN).prepared("oltp_read_write --table-size 10000")
}

/// Restored data, on a disk to which another process writes all the time. Such a disk may stand
/// still for a second, which is a stall of the run.
const fn restored(kind: Kind) -> Case {
    const RUN: &str = "oltp_update_non_index --table-size 10000 -c 4 -t 30s --warmup 10s";
    let case = Case::new(On::Server(kind), RUN, RUN);
    case.prepared("oltp_read_write --table-size 10000")
        .restored()
        .while_(Act::WritesThroughout)
        .also(&["stalls"])
}

const fn backed_up() -> Case {
    const RUN: &str = "oltp_read_only --table-size 200000 -c 4 -t 30s --warmup 3s --rate {0.3}/s";
    let case = Case::new(POSTGRES, RUN, RUN);
    case.prepared("oltp_read_only --table-size 200000")
        .while_(Act::Backup(8.0))
}

/// Work that the counters of a server easily miss.
macro_rules! touching {
    ($on:expr, $what:literal) => {{
        const RUN: &str = concat!("TOUCHES --what=", $what, " -c 4 -t 30s --warmup 3s");
        Case::new($on, RUN, RUN).prepared(concat!("TOUCHES --what=", $what))
    }};
}

/// All cases. Append new ones, so that the numbers of the others do not change.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter()
}

const CASES: &[Case] = &[
    good!(MARIADB, "oltp_read_only", "-c 1 -t 30s"),
    good!(MARIADB, "oltp_read_write", "-c 4 -t 30s"),
    good!(MARIADB, "oltp_update_non_index", "-c 8 -t 30s"),
    good!(MARIADB, "oltp_point_select", "-c 8 -t 30s"),
    good!(MARIADB, "oltp_point_select", "-c 8 -t 30s", "{0.3}/s"),
    good!(MARIADB, "oltp_read_write", "-c 16 -t 30s", "{0.4}/s"),
    good!(MARIADB, "oltp_write_only", "-c 4 -t 30s"),
    good!(MARIADB, "oltp_update_index", "-c 4 -t 30s"),
    good!(MARIADB, "select_random_points", "-c 4 -t 30s"),
    good!(MARIADB, "select_random_ranges", "-c 2 -t 30s"),
    good!(MARIADB, "oltp_point_select", "-c 64 -t 30s"),
    good!(MARIADB, "oltp_read_only", "-c 4 -t 60s", "{0.5}/s"),
    good!(MYSQL, "oltp_point_select", "-c 1 -t 30s"),
    good!(MYSQL, "oltp_read_only", "-c 8 -t 30s"),
    good!(MYSQL, "oltp_update_non_index", "-c 4 -t 30s"),
    good!(MYSQL, "oltp_read_write", "-c 4 -t 30s"),
    good!(MYSQL, "oltp_read_write", "-c 4 -t 30s", "{0.3}/s"),
    good!(MYSQL, "oltp_point_select", "-c 16 -t 30s", "{0.4}/s"),
    good!(MYSQL, "oltp_write_only", "-c 8 -t 30s"),
    good!(MYSQL, "oltp_delete", "-c 2 -t 30s", "20/s"),
    good!(MYSQL, "select_random_points", "-c 4 -t 30s"),
    good!(MYSQL, "oltp_point_select", "-c 64 -t 30s"),
    good!(MYSQL, "oltp_read_only", "-c 2 -t 60s"),
    good!(POSTGRES, "oltp_update_non_index", "-c 1 -t 30s"),
    good!(POSTGRES, "oltp_read_write", "-c 8 -t 30s"),
    good!(POSTGRES, "oltp_point_select", "-c 4 -t 30s"),
    good!(POSTGRES, "oltp_read_only", "-c 4 -t 30s"),
    good!(POSTGRES, "oltp_read_only", "-c 4 -t 30s", "{0.3}/s"),
    good!(POSTGRES, "oltp_read_write", "-c 8 -t 30s", "{0.4}/s"),
    good!(POSTGRES, "oltp_write_only", "-c 4 -t 30s"),
    good!(POSTGRES, "oltp_update_index", "-c 8 -t 30s"),
    good!(POSTGRES, "select_random_points", "-c 4 -t 30s"),
    good!(POSTGRES, "select_random_ranges", "-c 4 -t 30s"),
    good!(POSTGRES, "oltp_point_select", "-c 64 -t 30s"),
    good!(POSTGRES, "oltp_point_select", "-c 4 -t 60s", "{0.5}/s"),
    good!(SQLITE, "oltp_read_only", "-c 4 -t 30s"),
    good!(SQLITE, "oltp_read_write", "-c 1 -t 30s"),
    good!(SQLITE, "oltp_update_non_index", "-c 1 -t 30s"),
    good!(SQLITE, "oltp_point_select", "-c 8 -t 30s"),
    good!(SQLITE, "oltp_point_select", "-c 8 -t 30s", "{0.3}/s"),
    touching!(MARIADB, "full_text"),
    touching!(MYSQL, "full_text"),
    touching!(MARIADB, "count"),
    touching!(MYSQL, "count"),
    touching!(MARIADB, "sequence"),
    touching!(POSTGRES, "sequence"),
    touching!(POSTGRES, "tablesample"),
    touching!(POSTGRES, "ctid"),
    touching!(MARIADB, "xa"),
    touching!(MYSQL, "xa"),
    good!(MARIADB, "oltp_point_select", "-c 4 -t 30s").server(&[
        "--slow-query-log=ON",
        "--long-query-time=0",
        "--log-output=NONE",
    ]),
    good!(MARIADB, "oltp_point_select", "-c 4 -t 30s").server(&[
        "--slow-query-log=ON",
        "--long-query-time=0",
        "--min-examined-row-limit=1000000",
    ]),
    touching!(POSTGRES, "count"),
    touching!(POSTGRES, "full_text"),
    two(Mariadb),
    two(Postgres),
    backed_up(),
    restored(Mariadb),
    restored(Postgres),
];
