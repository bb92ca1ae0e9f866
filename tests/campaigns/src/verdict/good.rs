//! Runs without a fault and without findings.

use xtask::servers::Kind::{self, Mariadb, Mysql, Postgres};

use super::case::{Act, Case, On};

const fn good(kind: Kind, run: &'static str) -> Case {
    let case = Case::new(On::Server(kind), run, run);
    case.prepared("oltp_read_write --table-size 10000")
}

const fn sqlite(run: &'static str) -> Case {
    let case = Case::new(On::Sqlite, run, run);
    case.prepared("oltp_read_write --table-size 10000")
}

const fn two(kind: Kind) -> Case {
    const RUN: &str = "oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s";
    Case::new(On::Two(kind), RUN, RUN).prepared("oltp_read_write --table-size 10000")
}

/// Restored data, on a disk that another process writes to all the time.
const fn restored(kind: Kind) -> Case {
    const RUN: &str = "oltp_update_non_index --table-size 10000 -c 4 -t 30s --warmup 10s";
    let case = Case::new(On::Server(kind), RUN, RUN);
    case.prepared("oltp_read_write --table-size 10000")
        .restored()
        .while_(Act::WritesThroughout)
}

/// Work that a server's counters easily miss.
macro_rules! touching {
    ($kind:expr, $what:literal) => {{
        const RUN: &str = concat!("TOUCHES --what=", $what, " -c 4 -t 30s --warmup 3s");
        Case::new(On::Server($kind), RUN, RUN).prepared(concat!("TOUCHES --what=", $what))
    }};
}

/// All of them. New ones go to the end, so that numbers stay.
pub fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter()
}

const CASES: &[Case] = &[
    good(
        Mariadb,
        "oltp_read_only --table-size 10000 -c 1 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_read_write --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_update_non_index --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s --rate {0.3}/s",
    ),
    good(
        Mariadb,
        "oltp_read_write --table-size 10000 -c 16 -t 30s --warmup 3s --rate {0.4}/s",
    ),
    good(
        Mariadb,
        "oltp_write_only --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_update_index --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "select_random_points --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "select_random_ranges --table-size 10000 -c 2 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_point_select --table-size 10000 -c 64 -t 30s --warmup 3s",
    ),
    good(
        Mariadb,
        "oltp_read_only --table-size 10000 -c 4 -t 60s --warmup 3s --rate {0.5}/s",
    ),
    good(
        Mysql,
        "oltp_point_select --table-size 10000 -c 1 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_read_only --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_update_non_index --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_read_write --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_read_write --table-size 10000 -c 4 -t 30s --warmup 3s --rate {0.3}/s",
    ),
    good(
        Mysql,
        "oltp_point_select --table-size 10000 -c 16 -t 30s --warmup 3s --rate {0.4}/s",
    ),
    good(
        Mysql,
        "oltp_write_only --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_delete --table-size 10000 -c 2 -t 30s --warmup 3s --rate 20/s",
    ),
    good(
        Mysql,
        "select_random_points --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_point_select --table-size 10000 -c 64 -t 30s --warmup 3s",
    ),
    good(
        Mysql,
        "oltp_read_only --table-size 10000 -c 2 -t 60s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_update_non_index --table-size 10000 -c 1 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_read_write --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_point_select --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_read_only --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_read_only --table-size 10000 -c 4 -t 30s --warmup 3s --rate {0.3}/s",
    ),
    good(
        Postgres,
        "oltp_read_write --table-size 10000 -c 8 -t 30s --warmup 3s --rate {0.4}/s",
    ),
    good(
        Postgres,
        "oltp_write_only --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_update_index --table-size 10000 -c 8 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "select_random_points --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "select_random_ranges --table-size 10000 -c 4 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_point_select --table-size 10000 -c 64 -t 30s --warmup 3s",
    ),
    good(
        Postgres,
        "oltp_point_select --table-size 10000 -c 4 -t 60s --warmup 3s --rate {0.5}/s",
    ),
    sqlite("oltp_read_only --table-size 10000 -c 4 -t 30s --warmup 3s"),
    sqlite("oltp_read_write --table-size 10000 -c 1 -t 30s --warmup 3s"),
    sqlite("oltp_update_non_index --table-size 10000 -c 1 -t 30s --warmup 3s"),
    sqlite("oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s"),
    sqlite("oltp_point_select --table-size 10000 -c 8 -t 30s --warmup 3s --rate {0.3}/s"),
    touching!(Mariadb, "full_text"),
    touching!(Mysql, "full_text"),
    touching!(Mariadb, "count"),
    touching!(Mysql, "count"),
    touching!(Mariadb, "sequence"),
    touching!(Postgres, "sequence"),
    touching!(Postgres, "tablesample"),
    touching!(Postgres, "ctid"),
    touching!(Mariadb, "xa"),
    touching!(Mysql, "xa"),
    good(
        Mariadb,
        "oltp_point_select --table-size 10000 -c 4 -t 30s --warmup 3s",
    )
    .server(&[
        "--slow-query-log=ON",
        "--long-query-time=0",
        "--log-output=NONE",
    ]),
    good(
        Mariadb,
        "oltp_point_select --table-size 10000 -c 4 -t 30s --warmup 3s",
    )
    .server(&[
        "--slow-query-log=ON",
        "--long-query-time=0",
        "--min-examined-row-limit=1000000",
    ]),
    touching!(Postgres, "count"),
    touching!(Postgres, "full_text"),
    two(Mariadb),
    two(Postgres),
    good(
        Postgres,
        "oltp_read_only --table-size 200000 -c 4 -t 30s --warmup 3s --rate {0.3}/s",
    )
    .prepared("oltp_read_only --table-size 200000")
    .while_(Act::Backup(8.0)),
    restored(Mariadb),
    restored(Postgres),
];
