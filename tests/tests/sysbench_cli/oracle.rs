//! Checks what a script does to a server against sysbench: the same command line in both tools must
//! give the same schema, rows and statements.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Output, run};
use dyno_tests::log::{LoggingServer, Shapes};
use dyno_tests::{Database, Kind, Server, dyno, sysbench};

const ONE_TABLE: &[&str] = &["--tables=1", "--table-size=1000"];
const TABLES: &[&str] = &["--tables=2", "--table-size=1000"];
const COMMON: &[&str] = &["--events=50", "--time=0", "--threads=1", "--rand-seed=1"];

/// A script with its options.
struct Script {
    name: &'static str,
    options: &'static [&'static str],
    /// How many rows a run adds; `None` if that depends on random ids.
    rows_added: Option<i64>,
}

const fn script(
    name: &'static str,
    options: &'static [&'static str],
    rows_added: Option<i64>,
) -> Script {
    Script {
        name,
        options,
        rows_added,
    }
}

const SCRIPTS: &[Script] = &[
    script("oltp_read_only", TABLES, Some(0)),
    script("oltp_read_write", TABLES, Some(0)),
    script("oltp_point_select", TABLES, Some(0)),
    script("oltp_insert", TABLES, Some(50)),
    // An id that is drawn twice is only deleted once.
    script("oltp_delete", TABLES, None),
    script("oltp_update_index", TABLES, Some(0)),
    script("oltp_update_non_index", TABLES, Some(0)),
    script("oltp_write_only", TABLES, Some(0)),
    // These scripts refuse more than one table.
    script("select_random_points", ONE_TABLE, Some(0)),
    script("select_random_ranges", ONE_TABLE, Some(0)),
    // This script creates a table for each thread, and has no options for tables.
    script("bulk_insert", &[], Some(50)),
];

#[derive(Clone, Copy, Debug)]
enum Tool {
    Sysbench,
    Dyno,
}

/// What a tool does with a script.
#[derive(Debug, PartialEq, Eq)]
struct Effects {
    /// The schema after `prepare`, as the server prints it.
    schema: String,
    /// The number of rows and the smallest and largest id of each table after `prepare`.
    loaded: Vec<String>,
    /// The statements of `run`.
    statements: Shapes,
    /// The counts in the tool's report.
    report: BTreeMap<String, String>,
    /// The tables that remain after `cleanup`.
    left: Vec<String>,
}

#[test]
fn both_tools_send_mariadb_the_same_statements() {
    compare(Kind::Mariadb);
}

#[test]
fn both_tools_send_postgres_the_same_statements() {
    compare(Kind::Postgres);
}

/// Runs every script with both tools, and reports all differences at once.
fn compare(kind: Kind) {
    let logging = LoggingServer::start(kind);
    let mut differences = Vec::new();
    // With prepared statements if the server has them, and with plain text.
    for (script, mode) in SCRIPTS.iter().flat_map(|s| [(s, "auto"), (s, "disable")]) {
        let [expected, seen] = [Tool::Sysbench, Tool::Dyno].map(|tool| {
            let database = Database::on(&logging.server());
            observe(&logging, &database, script, mode, tool)
        });
        assert!(
            !expected.statements.is_empty(),
            "{}: the log is empty",
            script.name
        );
        if expected != seen {
            let name = script.name;
            let both = format!("  sysbench {expected:#?}\n  dyno {seen:#?}");
            differences.push(format!("{name} --db-ps-mode={mode}\n{both}"));
        }
    }
    let count = differences.len();
    assert!(
        count == 0,
        "{kind}: {count} runs differ\n{}",
        differences.join("\n")
    );
}

/// Prepares, runs and cleans up, and records the statements at the server.
fn observe(
    logging: &LoggingServer,
    database: &Database,
    script: &Script,
    mode: &str,
    tool: Tool,
) -> Effects {
    let mode = format!("--db-ps-mode={mode}");
    let call = |command: &str| {
        let mut line = database
            .server
            .sysbench_options(LoggingServer::USER, &database.name);
        let words = [script.name, &mode, command].into_iter();
        let words = words.chain(COMMON.iter().chain(script.options).copied());
        line.extend(words.map(str::to_owned));
        call(tool, line)
    };
    call("prepare");
    let schema = schema(database);
    let loaded = loaded(database);
    let rows_before = rows(database);

    let mut output = None;
    let statements = logging.shapes_of(|| output = Some(call("run")));
    let mut report = report(&output.expect("it ran").stdout);
    let added = rows(database) - rows_before;
    match script.rows_added {
        Some(rows) => assert_eq!(added, rows, "{tool:?} {}", script.name),
        None => {
            assert!(
                (-50..0).contains(&added),
                "{tool:?} {}: {added}",
                script.name
            );
            // Only the number of statements that changed a row may differ, not the total.
            report.remove("write");
            report.remove("other");
        }
    }
    call("cleanup");
    Effects {
        schema,
        loaded,
        statements,
        report,
        left: database.tables(),
    }
}

fn call(tool: Tool, line: Vec<String>) -> Output {
    match tool {
        Tool::Sysbench => sysbench(line),
        Tool::Dyno => dyno(["sysbench".to_owned()].into_iter().chain(line)),
    }
    .success()
}

/// The schema as the server prints it.
fn schema(database: &Database) -> String {
    match database.server.kind {
        Kind::Mariadb | Kind::Mysql => {
            let tables = database.tables();
            let create = |table: &String| {
                let row = database.query(&format!("SHOW CREATE TABLE {table}"));
                without_counter(&row[0][1])
            };
            tables.iter().map(create).collect::<Vec<_>>().join("\n")
        }
        Kind::Postgres => postgres_schema(&database.server, &database.name),
    }
}

/// Removes the counter of generated keys, which depends on how rows were inserted.
fn without_counter(create: &str) -> String {
    let words = create.split(' ');
    let kept = words.filter(|word| !word.starts_with("AUTO_INCREMENT="));
    kept.collect::<Vec<_>>().join(" ")
}

fn postgres_schema(server: &Server, name: &str) -> String {
    let bin = dyno_tests::server::variable("DYNO_TEST_PG_BIN");
    let mut dump = Command::new(format!("{bin}/pg_dump"));
    let folder = server.socket.parent().expect("a socket lies in a folder");
    dump.arg("--schema-only")
        .arg("--no-owner")
        .arg("-h")
        .arg(folder);
    dump.args(["-p", &server.port.to_string(), "-U", server.user(), name]);
    let output = run(&mut dump, Duration::from_secs(60)).success();
    // Comments contain versions, and `\restrict` contains a random key.
    let kept = |line: &&str| !line.is_empty() && !line.starts_with("--") && !line.starts_with('\\');
    let lines: Vec<&str> = output.stdout.lines().filter(kept).collect();
    lines.join("\n")
}

fn loaded(database: &Database) -> Vec<String> {
    let tables = database.tables();
    let row = |table: &String| {
        let sql = format!("SELECT count(*), min(id), max(id) FROM {table}");
        format!("{table}: {}", database.query(&sql)[0].join(" "))
    };
    tables.iter().map(row).collect()
}

fn rows(database: &Database) -> i64 {
    let tables = database.tables();
    let count = |table: &String| database.query_one(&format!("SELECT count(*) FROM {table}"));
    let counts = tables.iter().map(count);
    counts
        .map(|count| count.parse::<i64>().expect("a number"))
        .sum()
}

/// The counts in a report, except those that depend on time.
fn report(text: &str) -> BTreeMap<String, String> {
    let names = [
        "read",
        "write",
        "other",
        "total",
        "transactions",
        "queries",
        "ignored errors",
        "reconnects",
        "total number of events",
    ];
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.trim().split_once(':') else {
            continue;
        };
        if let (true, Some(value)) = (names.contains(&name), value.split_whitespace().next()) {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    assert_eq!(
        found.len(),
        names.len(),
        "the report lacks a count:\n{text}"
    );
    found
}
