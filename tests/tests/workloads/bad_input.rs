//! User errors with each workload on each server. Dyno refuses clearly, and `cleanup` works in any
//! state of the tables.

use crate::common::{QUIET, TestDatabase, everywhere, refused};

/// A workload, and what a user may do wrong with it.
struct Case {
    /// The workload with valid options, for `prepare`.
    fits: &'static str,
    /// Options with a size of zero, and the message.
    zero: (&'static str, &'static str),
    /// Options for more tables than were prepared, or for others, and the message.
    other: &'static [(&'static str, &'static str)],
    /// A table to drop, and the message of `run` without it.
    lost: (&'static str, &'static str),
    /// A statement that makes the load look interrupted, and the message of `run` then.
    stopped: (&'static str, &'static str),
}

const CASES: &[Case] = &[
    Case {
        fits: "tpcb --scale 1",
        zero: (
            "--scale 0",
            "--scale must be a whole number from 1 to 200000, not 0",
        ),
        other: &[("--scale 2", "the tables have 1 branches instead of 2")],
        lost: ("pgbench_branches", "dyno prepare tpcb"),
        stopped: (
            "DELETE FROM pgbench_accounts WHERE aid > 60000",
            "not completely loaded: dyno cleanup tpcb",
        ),
    },
    Case {
        fits: "oltp_fair --tables 2 --table_size 30000",
        zero: ("--tables 0", "--tables must be a whole number from 1"),
        other: &[
            (
                "--tables 3",
                "there are 2 tables instead of 3: give the --tables",
            ),
            (
                "--table_size 40000",
                "ids up to 30000, not 40000: give the --table-size",
            ),
        ],
        lost: ("fair2", "there are 1 tables instead of 2"),
        stopped: (
            "DELETE FROM fair2 WHERE id BETWEEN 20000 AND 25000",
            "fair2 is not completely loaded: dyno cleanup oltp_fair",
        ),
    },
    Case {
        fits: "linkbench --maxid 301",
        zero: ("--maxid 0", "--maxid must be a whole number from 2"),
        other: &[
            ("--maxid 401", "were prepared with --startid 1 --maxid 301"),
            ("--profile reference", "--profile standard, not with"),
            ("--link_types 5", "were prepared with"),
        ],
        lost: ("linkbench_settings", "dyno prepare linkbench"),
        stopped: (
            "DELETE FROM linkbench_settings",
            "not completely loaded: dyno cleanup linkbench",
        ),
    },
];

fn with(case: &Case, options: &str) -> String {
    format!("{} {options}", case.fits)
}

#[test]
fn reports_wrong_sizes_and_missing_tables_on_every_server() {
    for case in CASES {
        for place in everywhere() {
            let run = |options: &str| format!("run {} -t 1s {QUIET}", with(case, options));
            let (zero, why) = case.zero;
            refused(&place, &format!("prepare {}", with(case, zero)), why);
            refused(&place, &run(""), "dyno prepare");
            place.dyno(&format!("prepare {}", case.fits)).success();
            refused(&place, &format!("prepare {}", case.fits), "dyno cleanup");
            for (options, why) in case.other {
                refused(&place, &run(options), why);
            }
            let (table, why) = case.lost;
            place.execute(&format!("DROP TABLE {table}"));
            refused(&place, &run(""), why);
            clean(&place, case);
            place.dyno(&format!("prepare {}", case.fits)).success();
            let (stop, why) = case.stopped;
            place.execute(stop);
            refused(&place, &run(""), why);
            clean(&place, case);
        }
    }
}

/// Cleans up twice with only the name of the workload. Nothing may remain.
fn clean(place: &TestDatabase, case: &Case) {
    let workload = case.fits.split(' ').next().unwrap();
    for _ in 0..2 {
        place.dyno(&format!("cleanup {workload}")).success();
    }
    if let TestDatabase::Server(database) = place {
        assert_eq!(database.tables(), [""; 0], "{workload} on {}", place.name());
    }
}

#[test]
fn reports_schemas_that_differ_from_the_options_on_every_server() {
    for place in everywhere() {
        let prefix = match &place {
            TestDatabase::Server(database) => format!("{}_", database.name),
            TestDatabase::Sqlite(_) => "many_".to_owned(),
        };
        let sizes = format!("many_tables --schemas 4 --tables 5 --schema_prefix {prefix}");
        let run = |options: &str| format!("run {sizes} {options} --events 20 {QUIET}");
        let zero = "--schemas must be a whole number from 1 to 1000000, not 0";
        refused(&place, &format!("prepare {sizes} --schemas 0"), zero);
        refused(&place, &run(""), "dyno prepare");
        place.dyno(&format!("prepare {sizes}")).success();
        refused(&place, &format!("prepare {sizes}"), "dyno cleanup");
        for other in ["--schemas 5", "--tables 6", "--schema_prefix other_"] {
            refused(
                &place,
                &run(other),
                "were prepared with --schemas 4 --tables 5",
            );
        }
        let dot = if place.family() == "sqlite" { '_' } else { '.' };
        place.execute(&format!("DROP TABLE {prefix}3{dot}t4"));
        refused(&place, &run(""), "there are 19 tables instead of 20");
        refused(
            &place,
            &run("--phase drop").replace("--events 20", ""),
            "19 tables instead of 20",
        );
        // An interrupted load leaves fewer tables, and may not have created any yet.
        let cascade = if place.family() == "postgres" {
            " CASCADE"
        } else {
            ""
        };
        if place.family() != "sqlite" {
            place.execute(&format!("DROP SCHEMA {prefix}1{cascade}"));
        }
        for _ in 0..2 {
            place.dyno("cleanup many_tables").success();
        }
        place.dyno(&format!("prepare {sizes}")).success();
        place.execute("DELETE FROM many_tables_settings");
        refused(
            &place,
            &format!("check {sizes}"),
            "dyno cleanup many_tables",
        );
        place.execute(&format!(
            "INSERT INTO many_tables_settings (prefix, asked_count, schema_count, table_count, \
             share, present, row_count) VALUES ('{prefix}', 4, 4, 5, 0, 4, NULL)"
        ));
        place.dyno("cleanup many_tables").success();
        place.dyno(&format!("prepare {sizes}")).success();
        place.dyno("cleanup many_tables").success();
    }
}
