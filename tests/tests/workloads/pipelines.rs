//! Pipelines, and variables set from rows, compared with pgbench on the same file.

use std::fs;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::run;
use dyno_tests::server::variable;
use dyno_tests::{Database, Kind};
use serde_json::Value;

use crate::common::{QUIET, TestDatabase, everywhere, on};

/// Sends at once statements that set variables from a row and statements that use them.
const PIPED: &str = r"\set id random(1, 50)
SELECT v, 'n' || id AS label FROM src WHERE id = :id \gset r_
\startpipeline
INSERT INTO seen VALUES (:r_v, :r_label, :r_v::int + 1);
UPDATE src SET hits = hits + 1 WHERE id = :id;
SELECT v FROM src WHERE id = :id;
\endpipeline
";

/// Sends several statements as one text. The rows of each of them set variables.
const COMBINED: &str = r"SELECT count(*) AS n FROM src \;
SELECT max(v) AS top, 7 AS seven FROM src \aset
INSERT INTO seen VALUES (:n, 'all', :top + :seven);
";

fn tables(place: &TestDatabase) {
    place.execute("CREATE TABLE src (id INT PRIMARY KEY, v BIGINT, hits INT)");
    place.execute("CREATE TABLE seen (a BIGINT, b VARCHAR(20), c BIGINT)");
    let rows: Vec<String> = (1..=50)
        .map(|id| format!("({id}, {}, 0)", id * 10))
        .collect();
    place.execute(&format!("INSERT INTO src VALUES {}", rows.join(", ")));
}

fn database(place: &TestDatabase) -> &Database {
    match place {
        TestDatabase::Server(database) => database,
        TestDatabase::Sqlite(_) => panic!("it is a server"),
    }
}

fn pgbench(database: &Database, file: &str, mode: &str, each: u32) {
    let mut pgbench = Command::new(format!("{}/pgbench", variable("DYNO_TEST_PG_BIN")));
    pgbench.args([
        "-n",
        "-M",
        mode,
        "-f",
        file,
        "-c",
        "2",
        "-t",
        &each.to_string(),
    ]);
    let port = database.server.port.to_string();
    pgbench.args(["-h", "127.0.0.1", "-p", &port, "-U", database.server.user()]);
    run(pgbench.arg(&database.name), Duration::from_secs(60)).success();
}

/// The rows that a tool left in the tables.
fn left(database: &Database) -> Vec<Vec<String>> {
    database.query(
        "SELECT (SELECT count(*) FROM seen), (SELECT sum(hits) FROM src), \
         (SELECT bool_and(CASE b WHEN 'all' THEN a = 50 AND c = 507 \
         ELSE c = a + 1 AND b = 'n' || a / 10 END) FROM seen)",
    )
}

fn totals(result: &Value) -> [u64; 4] {
    ["reads", "writes", "other", "errors"].map(|kind| result["totals"][kind].as_u64().unwrap())
}

#[test]
fn a_file_has_the_same_effect_as_in_pgbench() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, mode, [reads, writes]) in [
        ("piped.sql", PIPED, "prepared", [2, 2]),
        ("combined.sql", COMBINED, "simple", [1, 1]),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let file = path.display().to_string();
        let mut found = Vec::new();
        for by_pgbench in [true, false] {
            let place = on(Kind::Postgres);
            tables(&place);
            if by_pgbench {
                pgbench(database(&place), &file, mode, 50);
            } else {
                let result = place.result(&format!("{file} -c 2 --events 100"));
                assert_eq!(totals(&result), [100 * reads, 100 * writes, 0, 0], "{name}");
            }
            found.push(left(database(&place)));
        }
        assert_eq!(found[0], found[1], "{name}");
        assert_eq!(found[0][0][0], "100", "{name}");
    }
}

#[test]
fn variables_come_from_rows_on_every_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gset.sql");
    let text = "\\set id random(1, 50)\nSELECT v, 'x' AS label, NULL AS none FROM src WHERE id = \
                :id \\gset r_\nINSERT INTO seen VALUES (:r_v, :r_label || :r_none, :id * 10);\n";
    for place in everywhere() {
        tables(&place);
        let text = match place.family() {
            "mysql" => text.replace(":r_label || :r_none", "CONCAT(:r_label, :r_none)"),
            _ => text.to_owned(),
        };
        fs::write(&file, text).unwrap();
        let line = format!("{} -c 2 --events 60", file.display());
        let counted = totals(&place.result(&line));
        assert_eq!(counted, [60, 60, 0, 0], "{}", place.name());
        let wrong = "SELECT COUNT(*) FROM seen WHERE a <> c OR b <> 'x'";
        assert_eq!(place.query_one(wrong), "0", "{}", place.name());
        assert_eq!(place.query_one("SELECT COUNT(*) FROM seen"), "60");
        fs::write(&file, "SELECT v FROM src WHERE id > 3 \\gset\nSELECT :v;\n").unwrap();
        let output = place.dyno(&format!("run {} --events 3 {QUIET}", file.display()));
        assert!(!output.status.success(), "{output:?}");
        let expected = "gset.sql:1: \\gset expects one row, and there are 47";
        let words: Vec<&str> = output.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(expected), "{output:?}");
    }
}

/// Requests and answers are larger than the socket buffers. A client that only writes, while the
/// server waits for it to read, hangs forever.
const LARGE: &str = r#"
function thread_init()
  con = sysbench.sql.driver():connect()
  text = "SELECT repeat('y', 3000), '" .. ("x"):rep(2000) .. "'"
end
function event()
  local result = con:pipeline(function()
    for _ = 1, 2000 do con:query(text) end
  end)
  local count = 0
  repeat
    local row = result:fetch_row()
    assert(#row[1] == 3000 and #row[2] == 2000)
    count = count + 1
    result = con:more_results() and con:next_result()
  until not result
  assert(count == 2000, count)
end
"#;

/// The second of three statements fails. The first has run, and is rolled back with the others.
const FAILING: &str = r#"
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local done, err = pcall(con.pipeline, con, function()
    con:query("UPDATE src SET hits = hits + 1 WHERE id = 1")
    con:query("SELECT 1 / 0")
    con:query("UPDATE src SET hits = hits + 1 WHERE id = 2")
  end)
  assert(not done and tostring(err.sql_errmsg or err):find("division by zero"), err)
  assert(con:query_row("SELECT sum(hits) FROM src") == "0")
  -- What the script leaves in the middle is forgotten.
  assert(not pcall(con.pipeline, con, function() con:query("SELECT 1") error("no") end))
  assert(con:query_row("SELECT 5") == "5")
end
"#;

#[test]
fn large_pipelines_and_failing_ones_end() {
    let folder = tempfile::tempdir().unwrap();
    let place = on(Kind::Postgres);
    tables(&place);
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let large = script("large.lua", LARGE);
    let result = place.result(&format!("{large} -c 2 --events 6"));
    assert_eq!(totals(&result), [12_000, 0, 0, 0]);
    let failing = script("failing.lua", FAILING);
    let result = place.result(&format!("{failing} -c 1 --events 4"));
    let [reads, writes, other, errors] = totals(&result);
    // In each event: the UPDATE before the failure, two reads, and the error.
    assert_eq!((reads, writes, errors), (8, 4, 4), "{other}");
}

#[test]
fn other_databases_have_no_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("piped.sql");
    fs::write(&file, "\\startpipeline\nSELECT 1;\n\\endpipeline\n").unwrap();
    for place in everywhere() {
        let line = format!("run {} --events 3 {QUIET}", file.display());
        let output = place.dyno(&line);
        if place.family() == "postgres" {
            output.success();
            continue;
        }
        assert!(!output.status.success(), "{output:?}");
        assert!(
            output.stdout.contains("only PostgreSQL supports pipelines"),
            "{output:?}"
        );
    }
}
