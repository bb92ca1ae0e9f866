//! Servers without autocommit: the rows that `prepare` loads must still be committed.

use dyno_tests::private::start_private_server_with;
use dyno_tests::{Database, Kind};

use crate::common::{QUIET, TestDatabase};

/// A table, and how many rows it must have.
type Rows = (&'static str, &'static str);

/// A workload, its tables after `prepare`, and whether it has a `check`.
const WORKLOADS: &[(&str, &[Rows], bool)] = &[
    (
        "oltp_read_write --tables 2 --table_size 1000",
        &[("sbtest1", "1000"), ("sbtest2", "1000")],
        false,
    ),
    ("oltp_fair --table_size 1000", &[("fair1", "1000")], true),
    (
        "tpcb --scale 1",
        &[("pgbench_accounts", "100000"), ("pgbench_tellers", "10")],
        true,
    ),
    (
        "tpcc --shrink 100 --scale 1",
        &[("item1", "1000"), ("customer1", "300")],
        true,
    ),
    (
        "linkbench --maxid 2001",
        &[("nodetable", "2000"), ("linkbench_settings", "1")],
        true,
    ),
    (
        "many_tables --schemas 3 --tables 2",
        &[("many_tables_settings", "1")],
        true,
    ),
];

#[test]
fn loaded_rows_are_committed() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let private = start_private_server_with(kind, &["--autocommit=0"]);
        let place = TestDatabase::Server(Database::on(&private.server()));
        assert_eq!(place.query_one("SELECT @@GLOBAL.autocommit"), "0", "{kind}");
        for (workload, tables, has_check) in WORKLOADS {
            let name = workload.split(' ').next().unwrap();
            place.dyno(&format!("prepare {workload} -c 2")).success();
            for (table, rows) in *tables {
                let count = place.query_one(&format!("SELECT COUNT(*) FROM {table}"));
                assert_eq!(count, *rows, "{kind}, {name}: {table}");
            }
            let run = format!("run {workload} -c 2 --events 40 {QUIET}");
            place.dyno(&run).success();
            if *has_check {
                place.dyno(&format!("check {workload} -c 2")).success();
            }
            place.dyno(&format!("cleanup {workload}")).success();
        }
    }
}
