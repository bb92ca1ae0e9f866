//! A schema per customer: tables that are created and dropped at a given rate, files, and disk
//! space.

use dyno_tests::Kind;

use crate::common::{QUIET, done, on, sqlite};
use crate::many_tables::{Tables, all};

#[test]
fn creates_and_drops_tables_at_a_pace_during_the_touches() {
    for tables in all() {
        let name = tables.place.name();
        tables.dyno("prepare", "").success();
        let result = tables.run("--churn_every 0.2 -c 2 -t 3s");
        // Fifteen are due, but a busy machine may not reach the last one.
        let [made, dropped] = ["create_table", "drop_table"].map(|work| done(&result, work));
        assert!((8..=17).contains(&made), "{name}: {made}");
        assert!(dropped <= made && made <= dropped + 1, "{name}: {dropped}");
        let touched = done(&result, "first_touch") + done(&result, "touch_again");
        // They do not count as events.
        assert_eq!(result["totals"]["events"].as_u64(), Some(touched), "{name}");
        tables.dyno("check", "").success();
    }
    let tables = Tables::at(sqlite());
    let negative = "--churn_every must be a number from 0 to 86400, not -1";
    tables.refused("prepare", "--churn_every -1", negative);
    tables.dyno("prepare", "").success();
    let drop = format!("--phase drop --churn_every 1 {QUIET}");
    tables.refused(
        "run",
        &drop,
        "--churn_every is for --phase touch, ladder or all",
    );
}

#[test]
fn files_are_counted_where_tables_have_some() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let tables = Tables::at(on(kind));
        tables.dyno("prepare", "").success();
        let checked = tables.dyno("check", "").success().stdout;
        assert!(
            checked.contains("ok      tablespace files: 120, expected 120"),
            "{kind}: {checked}"
        );
        tables.run("--phase drop --keep 5 -c 2");
        let checked = tables.dyno("check", "").success().stdout;
        assert!(
            checked.contains("ok      tablespace files: 50, expected 50"),
            "{kind}: {checked}"
        );
        tables.place.dyno("cleanup many_tables").success();
        let myisam = "--mysql_storage_engine myisam";
        tables.dyno("prepare", myisam).success();
        let checked = tables.dyno("check", myisam).success().stdout;
        let why = "tablespace files: not checked, because the tables have none of their own";
        assert!(checked.contains(why), "{kind}: {checked}");
        tables.place.dyno("cleanup many_tables").success();
    }
}

/// The bytes after and before, from a line such as `disk: tables 9.83 MB, before 0 B`.
fn disk_bytes(text: &str) -> [f64; 2] {
    let line = text.lines().find(|line| line.starts_with("disk: tables"));
    let line = line.unwrap_or_else(|| panic!("no disk in {text}"));
    let words: Vec<&str> = line
        .split([' ', ',', ';'])
        .filter(|w| !w.is_empty())
        .collect();
    let size = |at: usize| {
        let unit = match words[at + 1] {
            "B" => 1.0,
            "kB" => 1e3,
            "MB" => 1e6,
            other => panic!("{other} in {line}"),
        };
        words[at].parse::<f64>().unwrap() * unit
    };
    assert_eq!(words[4], "before", "{line}");
    [size(2), size(5)]
}

#[test]
fn reports_disk_space_before_and_after() {
    for tables in all() {
        let name = tables.place.name();
        let prepared = tables.dyno("prepare", "").success();
        let [full, empty] = disk_bytes(&prepared.stderr);
        // At least two pages per table, wherever the table is stored.
        assert!(
            full >= 120.0 * 8192.0 && empty < 50_000.0,
            "{name}: {full} {empty}"
        );
        let line = format!("--phase drop --keep 2 {QUIET}");
        let dropped = tables.dyno("run", &line).success();
        let [after, before] = disk_bytes(&dropped.stderr);
        assert!((before / full - 1.0).abs() < 0.01, "{name}: {before}");
        // SQLite keeps free pages for later use.
        let freed = if name == "SQLite" {
            before
        } else {
            before / 4.0
        };
        assert!(after <= freed * 1.01, "{name}: {after} of {before}");
    }
}
