//! SQL files as workloads.

use std::fs;

use dyno_tests::Kind;
use dyno_tests::command::flat;

use crate::common::{QUIET, TestDatabase, done, everywhere, on, sqlite};

/// Transfers money between accounts and queries them, in SQL that all servers accept.
const BANK: &str = r"-- A little bank.
\option accounts 100 How many accounts there are
\option first_name Ann Whose name is looked for

\prepare
CREATE TABLE acc (id INT PRIMARY KEY, balance INT NOT NULL, name VARCHAR(20));
INSERT INTO acc SELECT a.n + 10 * b.n + 1, 100, 'Ann;?:x' FROM
 (SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION
  SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) a,
 (SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION
  SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) b;

\transaction transfer 1
\set from random(1, :accounts)
\set to random(1, :accounts)
\set amount random(1, 10)
BEGIN;
UPDATE acc SET balance = balance - :amount WHERE id = :from;
UPDATE acc SET balance = balance + :amount WHERE id = :to; -- to whom it goes
COMMIT;

\transaction look 3
\set id 1 + (:client_id * 7 / 2) % :accounts
\set share 0.5
\if :id > 3 and not (:id = 5)
SELECT balance, 'a ; :x ?' /* and :more ; */ FROM acc WHERE id = :id;
\elif :id = 1
SELECT COUNT(*) FROM acc WHERE balance * 1.0 > :share;
\else
SELECT COUNT(*) FROM acc WHERE name = :first_name;
\sleep 10 us
\endif

\check
SELECT SUM(balance) - 100 * COUNT(*) FROM acc;
SELECT 'not ' || name FROM acc WHERE id = -1;

\cleanup
DROP TABLE IF EXISTS acc;
";

/// Writes the file and returns its path.
fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_file_of_sql_is_a_workload_on_every_server() {
    let folder = tempfile::tempdir().unwrap();
    let bank = file(&folder, "bank.sql", BANK);
    for place in everywhere() {
        let name = place.name();
        place.dyno(&format!("prepare {bank}")).success();
        let result = place.result(&format!("{bank} -c 4 --events 400"));
        let counts = ["transfer", "look"].map(|operation| done(&result, operation));
        assert_eq!(counts.iter().sum::<u64>(), 400, "{name}");
        // A quarter of 400, plus or minus four standard deviations.
        assert!((65..=135).contains(&counts[0]), "{name}: {counts:?}");
        let statements = counts[0] * 4 + counts[1];
        let totals = &result["totals"];
        let counted: u64 = ["reads", "writes", "other"]
            .map(|kind| totals[kind].as_u64().unwrap())
            .iter()
            .sum();
        // A try that ended in a deadlock made one change or both.
        let retries = totals["retries"].as_u64().unwrap();
        let range = statements + retries..=statements + 3 * retries;
        assert!(range.contains(&counted), "{name}: {counted} of {range:?}");
        place.dyno(&format!("check {bank}")).success();
        place.execute("UPDATE acc SET balance = balance + 1 WHERE id = 1");
        let broken = place.dyno(&format!("check {bank}"));
        assert_eq!(broken.status.code(), Some(1), "{name}");
        assert!(broken.stdout.contains("FAILED"), "{name}: {broken:?}");
        assert!(
            broken.stdout.contains("bank.sql:35: 1"),
            "{name}: {broken:?}"
        );
        let other = place.result(&format!("{bank} --first_name Bob --accounts 5 --events 10"));
        assert_eq!(other["workload"]["options"]["first_name"], "Bob", "{name}");
        place.dyno(&format!("cleanup {bank}")).success();
    }
}

#[test]
fn a_pgbench_style_script_runs_on_pgbenchs_tables() {
    let place = on(Kind::Postgres);
    place.dyno("prepare tpcb").success();
    let folder = tempfile::tempdir().unwrap();
    let script = file(
        &folder,
        "pay.sql",
        "\\set aid random(1, 100000 * :scale)\n\\set delta random_gaussian(-5000, 5000, 3.0)\n\
         BEGIN;\nUPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
         INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)\n\
         VALUES (:client_id, 1, :aid::int, :delta, CURRENT_TIMESTAMP);\nEND;\n",
    );
    let result = place.result(&format!("{script} -c 3 --events 90"));
    assert_eq!(result["totals"]["events"], 90);
    place.dyno("check tpcb").success();
    let TestDatabase::Server(database) = &place else {
        panic!("it is a server");
    };
    assert_eq!(
        database.query_one("SELECT COUNT(*) FROM pgbench_history"),
        "90"
    );
    // With the same seed, each session makes the same transactions with any number of workers. How
    // many it makes depends on the run.
    let history = |workers: u32| {
        place.execute("DELETE FROM pgbench_history");
        let line = format!("run {script} -c 4 --workers {workers} --seed 7 --events 80 {QUIET}");
        place.dyno(&line).success();
        ["0", "1", "2", "3"].map(|session| {
            database.query(&format!(
                "SELECT aid, delta FROM pgbench_history WHERE tid = {session} ORDER BY mtime"
            ))
        })
    };
    for (one, two) in history(1).iter().zip(&history(2)) {
        let common = one.len().min(two.len());
        assert!(common > 0, "{one:?} {two:?}");
        assert_eq!(one[..common], two[..common]);
    }
}

/// Invalid files, the line of the error, and the message.
const WRONG: [(&str, u32, &str); 21] = [
    ("SELECT 1", 1, "no ; at its end"),
    (
        "SELECT 1;\nSELECT 2\n\\set x 1\nSELECT 3;",
        2,
        "no ; at its end",
    ),
    ("\\set x random(1 10)\nSELECT :x;", 1, "',' is expected"),
    ("\\set x 1 +\nSELECT :x;", 1, "ends too early"),
    ("\\set x 1 ^ 2\nSELECT :x;", 1, "'^' makes no sense"),
    ("\\set x noise(1)\nSELECT :x;", 1, "noise() is not known"),
    ("\\set end 1\nSELECT :end;", 1, "cannot be the name"),
    ("SELECT 1;\nSELECT :y;", 2, ":y has no value here"),
    ("SELECT ?;", 1, "variables are written :name"),
    ("\\gset\nSELECT 1;", 1, "stands behind a statement"),
    ("SELECT 1 \\gset a b\n", 1, "\\gset [PREFIX] is expected"),
    ("\\gets\nSELECT 1;", 1, "\\gets is not known"),
    ("\\startpipeline\nSELECT 1;", 1, "has no \\endpipeline"),
    (
        "\\startpipeline\n\\startpipeline\n",
        2,
        "has begun in line 1",
    ),
    ("SELECT 1;\n\\endpipeline\n", 2, "no pipeline has begun"),
    (
        "\\startpipeline\nSELECT 1 \\gset\n\\endpipeline\n",
        2,
        "cannot stand in a pipeline",
    ),
    ("SELECT 1;\n\\if 1\nSELECT 2;", 1, "has no \\endif"),
    ("SELECT 1;\n\\endif", 2, "no \\if before it"),
    (
        "\\transaction a\nSELECT 1;\n\\transaction a\nSELECT 2;",
        3,
        "two transactions",
    ),
    ("\\transaction a x y\nSELECT 1;", 1, "NAME [WEIGHT]"),
    ("\\sleep 5 weeks\nSELECT 1;", 1, "NUMBER [us|ms|s]"),
];

#[test]
fn reports_mistakes_in_a_file_with_their_line() {
    let place = sqlite();
    let folder = tempfile::tempdir().unwrap();
    for (number, (text, line, why)) in WRONG.iter().enumerate() {
        let path = file(&folder, &format!("{number}.sql"), text);
        let output = place.dyno(&format!("run {path} -t 1s {QUIET}"));
        assert!(!output.status.success(), "{text}: {output:?}");
        assert!(output.stderr.contains(why), "{text}: {output:?}");
        assert!(
            output.stderr.contains(&format!("{number}.sql:{line}: ")),
            "{text}: {output:?}"
        );
    }
    let empty = file(&folder, "empty.sql", "-- nothing\n");
    let output = place.dyno(&format!("run {empty} -t 1s {QUIET}"));
    assert!(output.stderr.contains("no statement to run"), "{output:?}");
    let wrong = file(
        &folder,
        "wrong.sql",
        "\\set low 5\n\\set x random(:low, 1)\nSELECT :x;",
    );
    let output = place.dyno(&format!("run {wrong} -t 1s {QUIET}"));
    assert!(!output.status.success(), "{output:?}");
    let printed = flat(&output.stdout);
    assert!(
        printed.contains("wrong.sql:2: random(): the lower bound"),
        "{output:?}"
    );
    // The message of the server has the line of the statement in the file.
    let absent = file(&folder, "absent.sql", "SELECT 1;\nSELECT 2 FROM absent;");
    let output = place.dyno(&format!("run {absent} -t 1s {QUIET}"));
    let printed = flat(&output.stdout);
    assert!(printed.contains("absent.sql:2: SQL error"), "{output:?}");
    assert!(printed.contains("no such table: absent"), "{output:?}");
}
