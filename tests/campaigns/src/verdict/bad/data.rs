//! Wrong tables, and wrong claims about caches.

use xtask::servers::Kind::{Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, doubted};

const SELECTS: &str = "oltp_point_select --table-size 2000 -c 2 -t 3s --warmup 0";
const BEFORE: &str = "oltp_point_select --table-size 2000";
const UPDATES: &str = "oltp_update_non_index --table-size 2000 -c 2 -t 8s --warmup 0";

const fn point_selects(kind: xtask::servers::Kind, what: &'static str) -> Case {
    Case::new(On::Server(kind), what, SELECTS).prepared(BEFORE)
}

const fn updates(on: On, what: &'static str, words: &'static str) -> Case {
    Case::new(on, what, UPDATES)
        .prepared(BEFORE)
        .finds(Expect::Check("durability", "doubt", words))
}

const ROLLED_BACK: Case = doubted(
    Mariadb,
    "every transaction is rolled back",
    "SHAPES --writes=1 --rolls-back=1 -c 2 -t 4s --warmup 0",
    "durability",
    "",
);

pub(super) const CASES: &[Case] = &[
    point_selects(Mariadb, "the table is empty")
        .before(&["DELETE FROM sbtest1"])
        .finds(Expect::Before("sbtest1 has 0 rows")),
    point_selects(Postgres, "half of the rows are missing")
        .before(&["DELETE FROM sbtest1 WHERE id > 1000"])
        .finds(Expect::Before("sbtest1 has 1,000 rows")),
    point_selects(Mysql, "the table is missing")
        .before(&["DROP TABLE sbtest1"])
        .finds(Expect::Failure("tables are missing")),
    Case::new(
        On::Server(Mariadb),
        "the table is empty, and --force",
        "oltp_point_select --table-size 2000 -c 2 -t 3s --warmup 0 --force",
    )
    .prepared(BEFORE)
    .before(&["DELETE FROM sbtest1"])
    .finds(Expect::Check("row-counts", "refuse", "sbtest1 has 0 rows"))
    .also(&["work-done", "misses"]),
    Case::new(
        On::Server(Postgres),
        "more rows are asked for than there are",
        "oltp_point_select --table-size 5000 -c 2 -t 3s --warmup 0",
    )
    .prepared(BEFORE)
    .finds(Expect::Before("instead of 5,000")),
    Case::new(
        On::Server(Mariadb),
        "data that does not fit is claimed to be in memory",
        "oltp_point_select --table-size 100000 -c 2 -t 5s --warmup 0 --claim in-memory",
    )
    .prepared("oltp_point_select --table-size 100000")
    .server(&["--innodb-buffer-pool-size=6M"])
    .finds(Expect::Check("cache", "doubt", "claimed to be in memory"))
    .also(&["cold-or-warm"]),
    Case::new(
        On::Server(Postgres),
        "data that does not fit is claimed to be in memory",
        "oltp_point_select --table-size 100000 -c 2 -t 5s --warmup 0 --claim in-memory",
    )
    .prepared("oltp_point_select --table-size 100000")
    .server(&["-c", "shared_buffers=1MB"])
    .finds(Expect::Check("cache", "doubt", "claimed to be in memory"))
    .also(&["cold-or-warm"]),
    Case::new(
        On::Server(Mysql),
        "data that fits is claimed to be on disk",
        "oltp_point_select --table-size 20000 -c 2 -t 5s --warmup 0 --claim on-disk",
    )
    .prepared("oltp_point_select --table-size 20000")
    .finds(Expect::Check("cache", "doubt", "claimed to be on disk")),
    updates(On::Server(Postgres), "the tables are unlogged", "unlogged")
        .before(&["ALTER TABLE sbtest1 SET UNLOGGED"]),
    updates(On::Server(Mariadb), "the tables are MyISAM's", "MyISAM")
        .before(&["ALTER TABLE sbtest1 ENGINE = MyISAM"]),
    updates(On::Server(Mariadb), "the tables are Aria's", "Aria")
        .before(&["ALTER TABLE sbtest1 ENGINE = Aria TRANSACTIONAL = 0"]),
    updates(On::Server(Mysql), "the tables are in memory", "MEMORY").before(&[
        "SET GLOBAL max_heap_table_size = 67108864",
        "ALTER TABLE sbtest1 ENGINE = MEMORY",
    ]),
    // Its lock for writing is not fair.
    updates(On::SqliteInMemory, "the file is in memory", "tmpfs").also(&["fairness"]),
    ROLLED_BACK,
    ROLLED_BACK.on(On::Server(Postgres)),
    doubted(
        Mysql,
        "the server commits nothing by itself",
        "SHAPES --writes=1 -c 1 -t 4s --warmup 0",
        "durability",
        "",
    )
    // On a separate server, into which the rows are loaded first.
    .server(&["--autocommit=1"])
    .before(&["SET GLOBAL autocommit = 0"]),
    doubted(
        Mariadb,
        "the caches are claimed to be cold, which they are not",
        "SHAPES --reads=1 -c 2 -t 11s --warmup 0 --claim cold",
        "cold-or-warm",
        "claimed to be cold",
    ),
    Case::new(
        On::Server(Postgres),
        "a client with twice as many sessions loads the server beside it",
        "oltp_read_only --table-size 2000 -c 4 -t 12s --warmup 0",
    )
    .prepared(BEFORE)
    .while_(Act::OtherLoad(
        "oltp_read_only --table-size 2000 -c 8 -t 20s --warmup 0",
    ))
    .finds(Expect::Check("server-counters", "doubt", "")),
];
