//! Dyno refuses what cannot work, with the reason and a suggestion.

use std::fs;

use dyno_tests::{Database, Kind, kinds};

use crate::common::{dyno, has};

const SHORT: &str = "-t 1s --warmup 0";

fn refused(line: &str, status: i32, texts: &[&str]) {
    let output = dyno(line).failure(status);
    has(&output, texts);
}

#[test]
fn refuses_unreachable_servers() {
    for scheme in ["mysql", "postgres"] {
        let run = |url: &str| format!("run oltp_point_select --target {url} {SHORT}");
        refused(
            &run(&format!("{scheme}://u@127.0.0.1:1/d")),
            1,
            &["cannot connect to 127.0.0.1:1", "is the server running"],
        );
        refused(
            &run(&format!("{scheme}://u@no-such-host.invalid/d")),
            1,
            &["cannot find the address of host 'no-such-host.invalid'"],
        );
    }
    refused(
        "sysbench oltp_point_select --mysql-host=127.0.0.1 --mysql-port=1 run",
        1,
        &["FATAL: ", "cannot connect to 127.0.0.1:1"],
    );
}

#[test]
fn refuses_missing_accounts_and_databases() {
    for kind in kinds() {
        let database = Database::new(kind);
        let server = &database.server;
        let run = |url: &str| format!("run oltp_point_select --target {url} {SHORT}");
        refused(&run(&server.url("no_such_db")), 1, &["no_such_db"]);
        let name = &database.name;
        let stranger = format!(
            "{}://no_such_user:hunter2@127.0.0.1:{}/{name}",
            kind.scheme(),
            server.port
        );
        let output = dyno(&run(&stranger)).failure(1);
        has(&output, &["no_such_user", "cannot use the target"]);
        assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
    }
}

#[test]
fn refuses_missing_and_existing_tables() {
    for kind in kinds() {
        let database = Database::new(kind);
        let line = |command: &str, more: &str| {
            let url = database.url();
            format!("{command} oltp_point_select --target {url} --table-size 100 {more}")
        };
        for ps_mode in ["auto", "disable"] {
            refused(
                &line("run", &format!("{SHORT} --ps-mode {ps_mode}")),
                1,
                &[
                    "sbtest1",
                    "tables are missing: try `dyno prepare oltp_point_select --target",
                    "--table-size 100` first",
                ],
            );
        }
        for sessions in [1, 4] {
            let sessions = format!("-c {sessions} --tables 4");
            dyno(&line("prepare", &sessions)).success();
            // The other sessions must not wait for a session that has failed.
            refused(
                &line("prepare", &sessions),
                1,
                &["sbtest1", "already exists", "`dyno cleanup"],
            );
            dyno(&line("cleanup", &sessions)).success();
            dyno(&line("cleanup", &sessions)).success();
            assert!(database.tables().is_empty());
        }
    }
}

#[test]
fn foreign_tables_are_neither_dropped_nor_written_into() {
    const MINE: &str = "(mine INT PRIMARY KEY, note VARCHAR(20))";
    for kind in kinds() {
        for (workload, name) in [
            ("oltp_read_write --tables 3 --table-size 10", "sbtest2"),
            ("tpcc --shrink 60", "order_line1"),
            ("tpcb", "pgbench_dataset"),
            ("linkbench --maxid 301", "nodetable"),
            ("oltp_fair --tables 2 --table-size 200", "fair2"),
            ("insert_benchmark -c 2", "pi2"),
            ("insert_benchmark", "insert_benchmark_dataset"),
            ("bulk_insert -c 2", "sbtest2"),
            ("many_tables --schemas 1 --tables 1", "many_tables_settings"),
        ] {
            let database = Database::new(kind);
            database.execute(&format!("CREATE TABLE {name} {MINE}"));
            database.execute(&format!("INSERT INTO {name} VALUES (1, 'x')"));
            for (command, nothing) in [("prepare", "created"), ("cleanup", "dropped")] {
                let line = format!("{command} {workload} --target {}", database.url());
                let words = format!("Nothing was {nothing}");
                refused(&line, 1, &[name, "is not the workload's", &words]);
                assert_eq!(database.tables(), [name], "{line}");
                let rows = database.query_one(&format!("SELECT note FROM {name}"));
                assert_eq!(rows, "x", "{line}");
            }
        }
        // A view, and a table that has an additional column.
        let database = Database::new(kind);
        let line = format!("cleanup oltp_point_select --target {}", database.url());
        database.execute("CREATE VIEW sbtest1 AS SELECT 1 AS id, 2 AS k, 3 AS c, 4 AS pad");
        refused(&line, 1, &["sbtest1", "it is not a table"]);
        database.execute("DROP VIEW sbtest1");
        database.execute("CREATE TABLE sbtest1 (id INT, k INT, c INT, pad INT, mine INT)");
        refused(&line, 1, &["sbtest1", "it has a column mine"]);
    }
}

#[test]
fn tables_of_another_schema_are_not_dropped() {
    let database = Database::new(Kind::Postgres);
    let name = &database.name;
    database.execute("CREATE SCHEMA other");
    database.execute("CREATE TABLE other.sbtest1 (id INT, k INT, c CHAR(120), pad CHAR(60))");
    database.execute(&format!(
        "ALTER DATABASE \"{name}\" SET search_path = public, other"
    ));
    let line = format!("cleanup oltp_point_select --target {}", database.url());
    refused(
        &line,
        1,
        &["sbtest1", "not in the schema where new tables are created"],
    );
    assert_eq!(
        database.query_one("SELECT count(*) FROM other.sbtest1"),
        "0"
    );
}

#[test]
fn refuses_scripts_that_cannot_run() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    refused(
        "run oltp_point_selct",
        2,
        &["oltp_point_selct", "did you mean 'oltp_point_select'"],
    );
    let syntax = script("syntax.lua", "function event(\n  foo bar\n");
    let init = script(
        "init.lua",
        "function thread_init() error('boom') end function event() end",
    );
    let event = script(
        "event.lua",
        "local n = 0 function event() n = n + 1 if n > 7 then error('boom') end end",
    );
    let none = script("none.lua", "function prepare() end");
    for (script, texts) in [
        (&syntax, &["syntax.lua:2:", "near 'bar'"]),
        (&init, &["init.lua:1: boom", "initialis"]),
        (&event, &["event.lua:1: boom", "7"]),
        (&none, &["cannot find the event() function", "none.lua"]),
    ] {
        let line = format!("run {script} {SHORT}");
        refused(&line, 1, texts);
        let first = &texts[..1];
        refused(&format!("sysbench {script} --time=1 run"), 1, first);
    }
    // The script works before it reports the error.
    let output = dyno(&format!("run {event} {SHORT} --json -q")).failure(1);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result["totals"]["events"], 7, "{result}");
    // The temporary database of the run must be dropped in any case.
    let mut temporary = crate::common::command(&format!("run {event} {SHORT}"));
    let home = tempfile::tempdir().unwrap();
    temporary.env("TMPDIR", home.path());
    dyno_tests::command::run(&mut temporary, crate::common::LIMIT).failure(1);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn reports_missing_tables_before_a_calibration() {
    let cache = tempfile::tempdir().unwrap();
    for kind in kinds() {
        let database = Database::new(kind);
        for workload in ["oltp_read_write", "oltp_insert", "tpcc", "linkbench"] {
            let url = database.url();
            let line = format!("run {workload} --target {url} -t 1s --warmup 0 --calibrate auto");
            let mut command = crate::common::command(&line);
            command.env("XDG_CACHE_HOME", cache.path());
            let output = dyno_tests::command::run(&mut command, crate::common::LIMIT).failure(1);
            crate::common::has(&output, &["tables are missing: try `dyno prepare"]);
            assert!(!output.stderr.contains("Calibrating"), "{output:?}");
        }
    }
}

#[test]
fn refuses_meaningless_options() {
    for (line, texts) in [
        ("rnu oltp_point_select", &["did you mean 'run'"][..]),
        ("run", &["needs a workload"]),
        (
            "run oltp_point_select --tabel-size 5",
            &["did you mean --table-size"],
        ),
        (
            "run oltp_point_select --sesions 5",
            &["did you mean --sessions"],
        ),
        ("run --thraeds 4 cpu", &["did you mean --threads?"]),
        (
            "run oltp_point_select --time abc",
            &["--time: 'abc'", "for example"],
        ),
        (
            "run oltp_point_select --time -5",
            &["--time: '-5'", "negative"],
        ),
        (
            "run oltp_point_select --rate 9/fortnight",
            &["--rate: '9/fortnight'"],
        ),
        ("run oltp_point_select --tables abc", &["'abc'", "--tables"]),
        (
            "run oltp_point_select --sessions 0",
            &["--sessions: 0 is not between 1 and"],
        ),
        (
            "run oltp_point_select --percentiles 101",
            &["--percentiles: '101'"],
        ),
        (
            "run oltp_point_select --target foo",
            &["bad target URL", "for example"],
        ),
        (
            "run oltp_point_select extra",
            &["unexpected argument 'extra'"],
        ),
        ("run oltp_point_select --json x.json", &["--json=x.json"]),
        (
            "run oltp_point_select --ps-mode maybe",
            &["neither auto nor disable"],
        ),
        ("prepare oltp_point_select", &["needs a --target"]),
    ] {
        refused(line, 2, texts);
    }
    // A script that declares no options accepts any; a typo must be reported anyway.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("any.lua");
    fs::write(&script, "function event() end").unwrap();
    let line = format!("run {} --events 1 --warmup 0 --targt=x", script.display());
    let output = dyno(&line).success();
    has(
        &output,
        &["warning: --targt goes to the script; did you mean --target?"],
    );
    refused(
        "sysbench oltp_point_select --tabel-size=5 run",
        1,
        &["did you mean --table-size"],
    );
}

#[test]
fn refuses_a_server_without_the_required_tls() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        // Start a server without a certificate.
        let private = dyno_tests::start_private_server(kind);
        let database = if kind == Kind::Postgres {
            "postgres"
        } else {
            "mysql"
        };
        let url = private.server().url(database);
        refused(
            &format!("run oltp_point_select --target {url}?sslmode=require {SHORT}"),
            1,
            &["the server does not offer", "sslmode=prefer"],
        );
    }
}

#[test]
fn reports_numbers_that_are_too_large_with_their_bound() {
    for (options, most) in [
        ("run oltp_point_select -c 99999999999", 1 << 20),
        ("run oltp_point_select -c 4294967298", 1 << 20),
        (
            "run oltp_point_select --rand-spec-iter 4294967297",
            u32::MAX,
        ),
        (
            "sysbench oltp_point_select --threads=4294967298 run",
            1 << 20,
        ),
        ("sysbench threads --thread-locks=4294967298 run", 1 << 24),
        ("sysbench mutex --mutex-num=4294967298 run", 1 << 24),
        (
            "sysbench fileio --file-test-mode=rndrd --file-num=4294967297 run",
            u32::MAX,
        ),
    ] {
        let output = dyno(options);
        assert!(!output.status.success(), "{output:?}");
        let printed = output.stdout + &output.stderr;
        let given = options
            .split([' ', '='])
            .find(|word| word.len() > 9 && word.parse::<u64>().is_ok());
        for part in [given.unwrap(), &most.to_string()] {
            assert!(printed.contains(part), "{options}: {printed}");
        }
    }
}

#[test]
fn a_denied_statement_ends_its_session_and_is_not_ignored() {
    let database = Database::new(Kind::Mariadb);
    let name = &database.name;
    database.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)");
    database.execute("INSERT INTO a VALUES (1, 0)");
    let user = format!("few_{name}");
    database.execute(&format!("CREATE USER {user}@'127.0.0.1'"));
    database.execute(&format!(
        "GRANT SELECT, UPDATE ON {name}.* TO {user}@'127.0.0.1'"
    ));
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("denied.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
        function event(tid)\n\
          con:query('UPDATE a SET v = v + 1 WHERE id = 1')\n\
          con:query('CREATE TABLE x' .. tid .. ' (id INT)')\n\
        end\n";
    fs::write(&script, text).unwrap();
    let target = format!("mysql://{user}@127.0.0.1:{}/{name}", database.server.port);
    let line = format!(
        "run {} --target {target} -t 3s --warmup 0 --calibrate never",
        script.display()
    );
    let output = dyno(&line).failure(1);
    has(
        &output,
        &["CREATE command denied", "1 refusal", "0 were ignored"],
    );
    assert!(!output.stdout.contains("committed"), "{output:?}");
    database.execute(&format!("DROP USER {user}@'127.0.0.1'"));
}
