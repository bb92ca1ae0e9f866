//! The names that scripts may replace in `oltp_common.lua` and the files next to it. For each name
//! of `docs/oltp-scripts.md`, a script replaces it, and both sysbench and Dyno run that script. The
//! server must receive the same statements and end up with the same data.

mod cases;
mod stock;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Output, dyno_path, run};
use dyno_tests::log::{LoggingServer, Shapes};
use dyno_tests::server::variable;
use dyno_tests::{Database, Kind};

use cases::{CASES, Case, MASTER_ONLY};

const LIMIT: Duration = Duration::from_secs(120);
const ROWS: &str = "--table-size=120";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Sysbench,
    Dyno,
}

impl Tool {
    fn call(self, folder: &Path, line: &[String]) -> Output {
        let mut command = match self {
            Self::Sysbench => Command::new(variable("DYNO_TEST_SYSBENCH")),
            Self::Dyno => Command::new(dyno_path()),
        };
        if self == Self::Dyno {
            command.arg("sysbench");
        }
        run(command.current_dir(folder).args(line), LIMIT)
    }
}

/// What a tool does with a script.
#[derive(Debug, PartialEq, Eq)]
struct Effects {
    /// The columns of the tables after `prepare`.
    columns: Vec<Vec<String>>,
    /// Rows, ids, and the number of rows with the values of the script.
    rows: Vec<String>,
    /// The statements of `run`, of the additional command of the case, and of `cleanup`.
    statements: Shapes,
    /// The statements of `prepare` that have the script's mark. The others come from the loader.
    marks: Shapes,
    /// The counts in the report.
    report: BTreeMap<String, String>,
    /// Exit statuses of the commands.
    statuses: Vec<Option<i32>>,
}

impl Effects {
    /// One line for each item that is compared.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("statuses {:?}", self.statuses)];
        lines.extend(self.columns.iter().map(|column| column.join(" ")));
        lines.extend(self.rows.iter().cloned());
        for (statement, count) in self.statements.iter().chain(&self.marks) {
            lines.push(format!("{count} x {statement}"));
        }
        for (name, count) in &self.report {
            lines.push(format!("{name}: {count}"));
        }
        lines
    }
}

#[test]
fn scripts_replace_functions_on_mariadb() {
    compare(Kind::Mariadb);
}

#[test]
fn scripts_replace_functions_on_postgres() {
    compare(Kind::Postgres);
}

/// Runs every case with both tools, and reports all differences at once.
fn compare(kind: Kind) {
    let logging = LoggingServer::start(kind);
    let mut differences = Vec::new();
    for case in CASES {
        let [expected, seen] =
            [Tool::Sysbench, Tool::Dyno].map(|tool| observe(&logging, case, tool));
        let marked = expected.statements.keys().chain(expected.marks.keys());
        assert!(
            case.silent || marked.into_iter().any(|shape| shape.contains("mark")),
            "{kind} {}: the case shows nothing: {expected:#?}",
            case.name
        );
        if expected != seen {
            let lines = expected.lines();
            let own = seen.lines();
            let lost = lines.iter().filter(|line| !own.contains(line));
            let new = own.iter().filter(|line| !lines.contains(line));
            let lost = lost.map(|line| format!("  sysbench  {line}\n"));
            let new = new.map(|line| format!("  dyno      {line}\n"));
            let both: String = lost.chain(new).collect();
            differences.push(format!("{} in {}\n{both}", case.name, case.base));
        }
    }
    assert!(
        differences.is_empty(),
        "{kind}: {} cases differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// There is no oracle for what 1.1 added, so only look for the mark.
#[test]
fn functions_of_later_versions_can_be_replaced() {
    let logging = LoggingServer::start(Kind::Mariadb);
    for case in MASTER_ONLY {
        let effects = observe(&logging, case, Tool::Dyno);
        let marked = effects
            .statements
            .keys()
            .any(|shape| shape.contains("mark"));
        assert!(marked, "{}: {effects:#?}", case.name);
        assert!(effects.statuses.iter().all(|status| *status == Some(0)));
    }
}

#[test]
fn the_guide_lists_every_tested_name() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/oltp-scripts.md");
    let guide = std::fs::read_to_string(guide).expect("the guide is there");
    let (_, tables) = guide
        .split_once("<!-- names -->")
        .expect("the tables of names are marked");
    let mut listed: Vec<&str> = tables
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split('`').next())
        .collect();
    let mut tested: Vec<&str> = CASES.iter().chain(MASTER_ONLY).map(|c| c.name).collect();
    for names in [&mut listed, &mut tested] {
        names.sort_unstable();
        names.dedup();
    }
    assert_eq!(listed, tested);
}

/// Prepares, runs and cleans up, and records the statements at the server.
fn observe(logging: &LoggingServer, case: &Case, tool: Tool) -> Effects {
    let database = Database::on(&logging.server());
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("require(\"{}\")\n{}\n", case.base, case.text);
    std::fs::write(folder.path().join("own.lua"), text).expect("the script is written");
    let mut statuses = Vec::new();
    let mut outputs = Vec::new();
    let mut call = |command: &str| {
        let mut line = database
            .server
            .sysbench_options(LoggingServer::USER, &database.name);
        let words = ["own.lua", "--events=6", "--time=0", "--rand-seed=1"];
        line.extend(words.map(str::to_owned));
        if case.base != "bulk_insert" {
            line.push(ROWS.to_owned());
        }
        line.extend(case.options.iter().map(|option| (*option).to_owned()));
        line.push(command.to_owned());
        let output = tool.call(folder.path(), &line);
        statuses.push(output.status.code());
        outputs.push(output);
    };
    let mut marks = logging.shapes_of(|| call("prepare"));
    marks.retain(|shape, _| shape.contains("mark"));
    let columns = columns(&database);
    let rows = rows(&database);
    let statements = logging.shapes_of(|| {
        call("run");
        if let (Some(command), Kind::Mariadb) = (case.command, database.server.kind) {
            call(command);
        }
        call("cleanup");
    });
    // sysbench prints no report after an error.
    let report = match outputs[1].status.success() {
        true => report(&outputs[1].stdout),
        false => BTreeMap::new(),
    };
    Effects {
        columns,
        rows,
        statements,
        marks,
        report,
        statuses,
    }
}

fn columns(database: &Database) -> Vec<Vec<String>> {
    let schema = match database.server.kind {
        Kind::Mariadb | Kind::Mysql => database.name.as_str(),
        Kind::Postgres => "public",
    };
    database.query(&format!(
        "SELECT table_name, column_name, data_type FROM information_schema.columns \
         WHERE table_schema = '{schema}' ORDER BY table_name, ordinal_position"
    ))
}

fn rows(database: &Database) -> Vec<String> {
    let tables = database.tables();
    let row = |table: &String| {
        let own = if table == "sbtest1" && columns(database).len() >= 4 {
            "COUNT(CASE WHEN c = 'own' THEN 1 END), COUNT(CASE WHEN pad = 'own' THEN 1 END)"
        } else {
            "0, 0"
        };
        let sql = format!("SELECT COUNT(*), MIN(id), MAX(id), {own} FROM {table}");
        format!("{table}: {}", database.query(&sql)[0].join(" "))
    };
    tables.iter().map(row).collect()
}

/// The counts in a report, except those that depend on time.
fn report(text: &str) -> BTreeMap<String, String> {
    let names = [
        "read",
        "write",
        "other",
        "total",
        "transactions",
        "ignored errors",
    ];
    let lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    lines
        .filter(|(name, _)| names.contains(name))
        .filter_map(|(name, rest)| {
            let value = rest.split_whitespace().next()?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}
