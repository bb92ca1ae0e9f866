//! A disk that fills up during a load. Dyno reports it, no run uses the partial tables, and
//! `cleanup` frees the space.

use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::private::{start_narrow_server, start_private_server_with};
use dyno_tests::{Database, Kind, Output, PrivateServer};

use crate::common::{QUIET, TestDatabase, refused};

const LIMIT: Duration = Duration::from_secs(180);

/// An SQL file that loads more rows than there is space for.
const ROWS: &str = "\\prepare
CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000)
SELECT i, 'some words that make the rows a little longer' FROM n;
\\transaction look
SELECT * FROM t WHERE id = 7;
\\check
SELECT COUNT(*) - 900000 FROM t;
\\cleanup
DROP TABLE IF EXISTS t;
";

/// Runs a shell script in its own mount namespace with a file system of 24 MiB at `disk`, which
/// disappears when the script ends. `target` is an SQLite file on it.
fn on_small_disk(script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    std::fs::write(folder.path().join("rows.sql"), ROWS).unwrap();
    let script = format!(
        "set -u\nmount -t tmpfs -o size=24m tmpfs disk || exit 77\n\
         dyno() {{ command=$1; shift; '{}' $command \"$@\" --target sqlite:disk/data.db; }}\n\
         {script}",
        dyno_path().display()
    );
    let mut command = Command::new("unshare");
    // SAFETY: a system call without arguments.
    let flags = match unsafe { libc::geteuid() } {
        0 => "-m",
        _ => "-Urm",
    };
    command.args([flags, "sh", "-c", &script]);
    command.current_dir(folder.path()).env_remove("DYNO_TARGET");
    run(&mut command, LIMIT)
}

#[test]
fn reports_and_cleans_up_a_file_system_that_fills() {
    for (workload, options) in [
        ("tpcb", "--scale 10 -c 2"),
        ("oltp_fair", "--table_size 100000 -c 3"),
        ("linkbench", "--maxid 200001 -c 2"),
        ("many_tables", "--schemas 205 --tables 10 -c 2"),
        ("./rows.sql", ""),
    ] {
        // First free some space. SQLite needs the size of its log, to which it writes the dropped
        // pages.
        let run = match workload {
            "./rows.sql" => String::new(),
            _ => format!("dyno run {workload} {options} -t 1s {QUIET} && exit 4\n"),
        };
        let output = on_small_disk(&format!(
            "head -c 6000000 /dev/zero > disk/ballast\n\
             dyno prepare {workload} {options} && exit 3\n{run}\
             dyno check {workload} {options} && exit 5\n\
             rm disk/ballast\n\
             dyno cleanup {workload} || exit 6\n\
             dyno cleanup {workload} || exit 7"
        ))
        .success();
        for text in [
            "no space is left for the tables: free some, drop the loaded tables with `dyno cleanup",
            "database or disk is full",
        ] {
            assert!(output.stderr.contains(text), "no '{text}': {output:?}");
        }
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
}

#[test]
fn a_full_disk_of_the_results_file_does_not_affect_the_tables() {
    let output = on_small_disk(&format!(
        "echo 'function event() dyno.sleep(0.01) end' > idle.lua\n\
         head -c 40000000 /dev/zero > disk/ballast\n\
         '{}' run ./idle.lua --target sqlite:data.db -t 1s --results disk/r.db && exit 3\n\
         exit 0",
        dyno_path().display()
    ))
    .success();
    for text in [
        "disk/r.db",
        "free some space, or name a file on another disk",
    ] {
        assert!(output.stderr.contains(text), "no '{text}': {output:?}");
    }
    assert!(!output.stderr.contains("cleanup"), "{output:?}");
}

#[test]
fn tables_that_cannot_fit_are_refused_before_any_is_created() {
    let output = on_small_disk(
        "dyno prepare many_tables --schemas 400 && exit 3\n\
         dyno run many_tables --schemas 400 --phase create && exit 4\n\
         dyno prepare many_tables --schemas 200 --tables 10",
    )
    .success();
    for text in [
        "4000 tables take 32.8 MB at least, 8.19 kB each",
        "are free: make fewer",
    ] {
        assert_eq!(output.stderr.matches(text).count(), 2, "{output:?}");
    }
    assert!(output.stderr.contains("2000 of 2000 tables"), "{output:?}");
}

/// A server whose tables cannot grow to the size they need.
fn narrow(kind: Kind) -> PrivateServer {
    match kind {
        // A little more than one file of PostgreSQL's log.
        Kind::Postgres => start_narrow_server(kind, &[], 17 << 20),
        Kind::Mariadb | Kind::Mysql => {
            let arguments = [
                "--innodb-file-per-table=0",
                "--innodb-data-file-path=ibdata1:12M:autoextend:max:40M",
            ];
            start_private_server_with(kind, &arguments)
        }
    }
}

#[test]
fn reports_and_cleans_up_a_server_without_room() {
    for kind in Kind::ALL {
        let private = narrow(kind);
        let place = TestDatabase::Server(Database::on(&private.server()));
        for (workload, options) in [
            ("tpcb", "--scale 4 -c 2"),
            ("oltp_fair", "--tables 1 --table_size 300000 -c 2"),
            ("linkbench", "--maxid 200001 -c 2"),
        ] {
            let prepare = format!("prepare {workload} {options}");
            refused(&place, &prepare, "no space is left for the tables");
            let run = format!("run {workload} {options} -t 1s {QUIET}");
            refused(&place, &run, "dyno cleanup");
            let checked = place.dyno(&format!("check {workload} {options}"));
            assert_eq!(
                checked.status.code(),
                Some(1),
                "{kind} {workload}: {checked:?}"
            );
            for _ in 0..2 {
                place.dyno(&format!("cleanup {workload}")).success();
            }
        }
    }
}
