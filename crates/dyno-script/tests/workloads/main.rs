//! The built-in workloads on SQLite, from prepare to cleanup: the contents of their tables, and the
//! statements of an event.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use dyno_core::session::{Counter, Entry};
use dyno_script::LoadProgress;

use crate::worker::Workload;

mod golden;
mod tpcc;
mod worker;

fn query<T: rusqlite::types::FromSql>(file: &Path, sql: &str) -> Vec<T> {
    let database = rusqlite::Connection::open(file).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn table_names(file: &Path) -> Vec<String> {
    query(
        file,
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    )
}

const SMALL: &[(&str, &str)] = &[("tables", "2"), ("table_size", "200")];

#[test]
fn the_rows_are_the_same_whatever_the_number_of_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let mut contents = Vec::new();
    for sessions in [1, 3, 7] {
        let file = folder.path().join(format!("{sessions}.db"));
        let workload = Workload {
            name: "oltp_read_write",
            sessions,
            options: &[("tables", "2"), ("table_size", "4500")],
        };
        let progress = Arc::new(LoadProgress::default());
        let entries = [Entry::Command("prepare".to_owned())];
        workload
            .try_enter(&file, 0, &entries, sessions, Arc::clone(&progress))
            .unwrap();
        assert_eq!(progress.read(), (9_000, 9_000));

        let mut tables = Vec::new();
        for t in 1..=2 {
            let all = format!("SELECT id||' '||k||' '||c||' '||pad FROM sbtest{t} ORDER BY id");
            tables.push(query::<String>(&file, &all));
        }
        contents.push(tables);
    }
    assert_eq!(contents[0][0].len(), 4_500);
    assert_ne!(
        contents[0][0], contents[0][1],
        "tables hold rows of their own"
    );
    assert!(contents[0] == contents[1] && contents[0] == contents[2]);
}

#[test]
fn tables_match_the_options() {
    let folder = tempfile::tempdir().unwrap();
    for (n, (options, indexes)) in [
        (&[][..], vec!["k_1"]),
        (&[("create_secondary", "off")], vec![]),
        (&[("secondary", "on")], vec!["k_1", "xid_1"]),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path().join(format!("{n}.db"));
        let workload = Workload {
            name: "oltp_read_only",
            sessions: 1,
            options,
        };
        workload.command(&file, "prepare");
        let found: Vec<String> = query(
            &file,
            "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name",
        );
        assert_eq!(found, indexes, "{options:?}");
        let shape: Vec<i64> = query(
            &file,
            "SELECT COUNT(*) FROM sbtest1 WHERE id BETWEEN 1 AND 10000 AND k BETWEEN 1 AND 10000 \
             AND length(c) = 119 AND length(pad) = 59",
        );
        assert_eq!(shape, [10_000]);
    }
}

#[test]
fn events_consist_of_their_statements() {
    let folder = tempfile::tempdir().unwrap();
    // Reads, writes and others of an event; deletes that find nothing are others.
    for (name, [reads, writes, others]) in [
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
        ("oltp_update_index", [0, 1, 0]),
        ("oltp_update_non_index", [0, 1, 0]),
        ("oltp_insert", [0, 1, 0]),
        ("select_random_points", [1, 0, 0]),
        ("select_random_ranges", [1, 0, 0]),
    ] {
        let file = folder.path().join(format!("{name}.db"));
        let workload = Workload {
            name,
            sessions: 3,
            options: match name.starts_with("select_random") {
                // They refuse several tables.
                true => &SMALL[1..],
                false => SMALL,
            },
        };
        workload.command(&file, "prepare");
        workload.command(&file, "warmup");
        let port = workload.run(&file, 50);
        assert_eq!(port.counters[Counter::Event as usize], 50, "{name}");
        assert_eq!(
            port.statements(),
            [50 * reads, 50 * writes, 50 * others],
            "{name}"
        );
        assert!(
            port.connections.is_empty(),
            "{name} leaves connections open"
        );
        workload.cleanup(&file);
        let left = table_names(&file)
            .into_iter()
            .filter(|t| t.starts_with("sbtest"));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn options_change_the_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    Workload {
        name: "oltp_read_write",
        sessions: 1,
        options: SMALL,
    }
    .command(&file, "prepare");
    for (options, expected) in [
        (&[("skip_trx", "on")][..], [14, 4, 0]),
        (&[("range_selects", "off")], [10, 4, 2]),
        (&[("point_selects", "3")], [7, 4, 2]),
        (&[("simple_ranges", "0"), ("sum_ranges", "3")], [15, 4, 2]),
        (
            &[("order_ranges", "2"), ("distinct_ranges", "2")],
            [16, 4, 2],
        ),
        (
            &[("index_updates", "2"), ("non_index_updates", "3")],
            [14, 7, 2],
        ),
        (&[("delete_inserts", "5")], [14, 12, 2]),
        (&[("pgsql_variant", "redshift")], [14, 2, 2]),
        (&[("reconnect", "1")], [14, 4, 2]),
    ] {
        let all: Vec<(&str, &str)> = SMALL.iter().chain(options).copied().collect();
        let workload = Workload {
            name: "oltp_read_write",
            sessions: 1,
            options: &all,
        };
        let port = workload.run(&file, 10);
        assert_eq!(
            port.statements(),
            expected.map(|n: u64| n * 10),
            "{options:?}"
        );
        let connections = if options[0].0 == "reconnect" { 11 } else { 1 };
        assert_eq!(port.opened, connections, "{options:?}");
    }
}

#[test]
fn auto_inc_decides_the_ids() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("on.db");
    let numbered = Workload {
        name: "oltp_insert",
        sessions: 2,
        options: SMALL,
    };
    numbered.command(&file, "prepare");
    numbered.run(&file, 100);
    let ids = "SELECT COUNT(*) FROM (SELECT id FROM sbtest1 UNION ALL SELECT id FROM sbtest2) \
               WHERE id > 200";
    assert_eq!(query::<i64>(&file, ids), [100]);

    let file = folder.path().join("off.db");
    let options = [("auto_inc", "off"), ("table_size", "200")];
    let drawn = Workload {
        name: "oltp_insert",
        sessions: 2,
        options: &options,
    };
    drawn.command(&file, "prepare");
    assert_eq!(query::<i64>(&file, "SELECT COUNT(*) FROM sbtest1"), [0]);
    drawn.run(&file, 100);
    assert_eq!(
        query::<i64>(
            &file,
            "SELECT COUNT(*) FROM sbtest1 WHERE id < 0 OR id > 200"
        ),
        [100]
    );
}

#[test]
fn deletes_count_the_rows_they_remove() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let workload = Workload {
        name: "oltp_delete",
        sessions: 2,
        options: SMALL,
    };
    workload.command(&file, "prepare");
    let [reads, writes, others] = workload.run(&file, 300).statements();
    assert_eq!((reads, writes + others), (0, 300));
    let left: i64 = query::<i64>(&file, "SELECT COUNT(*) FROM sbtest1")[0]
        + query::<i64>(&file, "SELECT COUNT(*) FROM sbtest2")[0];
    assert_eq!(400 - left, writes as i64);
}

#[test]
fn bulk_insert_sends_many_rows_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let workload = Workload {
        name: "bulk_insert",
        sessions: 2,
        options: &[],
    };
    workload.enter(&file, 0, &[Entry::Command("prepare".to_owned())], 1);
    let port = workload.run(&file, 1_000);
    let [_, writes, _] = port.statements();
    assert!((1..=2).contains(&writes), "{writes} statements");
    let rows = query::<i64>(&file, "SELECT COUNT(*) FROM sbtest1")[0]
        + query::<i64>(&file, "SELECT COUNT(*) FROM sbtest2")[0];
    assert_eq!(rows, 1_000);
    workload.cleanup(&file);
    assert!(table_names(&file).is_empty());
}

#[test]
fn reports_why_a_workload_cannot_work() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let fails = |name, options: &[(&str, &str)], entries: &[Entry]| {
        let workload = Workload {
            name,
            sessions: 1,
            options,
        };
        workload
            .try_enter(&file, 1, entries, 1, Arc::default())
            .err()
            .unwrap()
    };
    let message = fails("oltp_insert", &[("secondary", "on")], &[Entry::Init]);
    assert!(
        message.contains("use --secondary=off or --auto-inc=off"),
        "{message}"
    );
    let prepare = [Entry::Command("prepare".to_owned())];
    let message = fails("oltp_insert", &[("pgsql_variant", "citus")], &prepare);
    assert!(
        message.contains("must be 'redshift', not 'citus'"),
        "{message}"
    );

    let workload = Workload {
        name: "oltp_insert",
        sessions: 1,
        options: SMALL,
    };
    workload.command(&file, "prepare");
    let message = fails("oltp_insert", SMALL, &prepare);
    assert!(message.contains("already exists"), "{message}");
}
