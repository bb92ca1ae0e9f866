//! Logs of real sysbench runs.

use std::fs;
use std::process::{Child, Command, Stdio};

use dyno_tests::{Database, Kind, sysbench};
use serde_json::Value;

use crate::common::{Lab, SHORT, has, query, url_of};

/// The number behind a label of sysbench's report.
fn printed(log: &str, label: &str) -> f64 {
    let line = log.lines().find(|line| line.trim().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no '{label}' in\n{log}"));
    let number = line.trim()[label.len()..].split_whitespace().next();
    let number = number.unwrap_or_default().trim_end_matches('s');
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number in '{line}'"))
}

/// A log of sysbench on a database of the test's own.
fn log_of(lab: &Lab, database: &Database, seconds: u32) -> String {
    let options = format!("--target {} --table-size 1000", url_of(database));
    lab.dyno(&format!("prepare oltp_read_write {options}"))
        .success();
    let line = format!(
        "--table-size=1000 --threads=2 --time={seconds} --report-interval=1 --percentile=95 \
         oltp_read_write run"
    );
    let words = line.split_whitespace().map(str::to_owned);
    let words: Vec<String> = database
        .sysbench_options()
        .into_iter()
        .chain(words)
        .collect();
    // As `set -x` leaves it: nothing else in a log tells what ran.
    let command = format!("+ sysbench {}\n", words.join(" "));
    command + &sysbench(words).success().stdout
}

/// A program of the host that prints once a second into a file.
fn beside(lab: &Lab, name: &str, arguments: &[&str]) -> Child {
    let file = fs::File::create(lab.path(&format!("{name}.log"))).unwrap();
    Command::new(name)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("S_TIME_FORMAT", "ISO")
        .stdout(file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"))
}

fn near(told: &Value, expected: f64, slack: f64) {
    let told = told.as_f64().unwrap_or_else(|| panic!("no number: {told}"));
    assert!(
        (told - expected).abs() <= slack,
        "{told} instead of {expected}"
    );
}

#[test]
fn a_real_log_has_the_figures_that_were_printed() {
    let lab = Lab::new();
    for (index, kind) in [Kind::Mariadb, Kind::Postgres].into_iter().enumerate() {
        let database = Database::new(kind);
        let log = log_of(&lab, &database, 4);
        let file = lab.file("sysbench.log", &log);
        let output = lab
            .dyno(&format!("import sysbench {file} --note 'an old log'"))
            .success();
        let id = index + 1;
        has(
            &output,
            &[
                "oltp_read_write",
                "verdict",
                &format!("run {id} in dyno.db"),
            ],
        );
        assert_eq!(lab.dyno("show").success().stdout, output.stdout);
        let result = lab.json("show --json");
        let total_s = printed(&log, "total time:");
        let events = printed(&log, "transactions:");
        near(&result["totals"]["events"], events, 0.0);
        near(&result["totals"]["reads"], printed(&log, "read:"), 0.0);
        near(&result["totals"]["writes"], printed(&log, "write:"), 0.0);
        near(&result["totals"]["other"], printed(&log, "other:"), 0.0);
        near(&result["measured_s"], total_s, 0.001);
        let line = log.lines().find(|line| line.contains("transactions:"));
        let rate = line.unwrap().split(['(', ')']).nth(1).unwrap();
        let rate = rate.trim_end_matches(" per sec.").parse().unwrap();
        near(&result["rates"]["events_per_s"], rate, 0.0);
        let service = &result["service"];
        near(&service["min_ms"], printed(&log, "min:"), 0.0);
        near(&service["mean_ms"], printed(&log, "avg:"), 0.01);
        near(&service["max_ms"], printed(&log, "max:"), 0.0);
        near(
            &service["percentiles"][0]["value_ms"],
            printed(&log, "95th percentile:"),
            0.0,
        );
        assert_eq!(service["percentiles"][0]["percent"], 95.0);
        let lines = log
            .lines()
            .filter(|line| line.starts_with("[ ") && line.contains(" tps: "));
        let told = lines.count();
        assert!(told >= 3, "{log}");
        assert_eq!(result["intervals"].as_array().unwrap().len(), told);
        let listed = lab.json("list runs --json --note 'old log'");
        assert_eq!(listed[index]["source"], "sysbench");
    }
    // A run of Dyno's beside one of sysbench's, with what keeps them from being alike.
    let database = Database::new(Kind::Mariadb);
    let target = format!("--target {} --table-size 1000", url_of(&database));
    lab.dyno(&format!("prepare oltp_read_write {target}"))
        .success();
    lab.dyno(&format!("run oltp_read_write {target} {SHORT} -c 2 -q"))
        .success();
    let compared = lab.dyno("compare 1 last").success();
    has(
        &compared,
        &["run 3 (", "tool: sysbench", "dyno 0", "environments"],
    );
}

#[test]
fn host_logs_come_along() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let mut vmstat = beside(&lab, "vmstat", &["-t", "-n", "1", "9"]);
    let log = log_of(&lab, &database, 4);
    vmstat.wait().unwrap();
    let file = lab.file("sysbench.log", &log);
    lab.dyno(&format!("import sysbench {file} --vmstat vmstat.log"))
        .success();
    let cpu = lab.number("SELECT count(*) FROM what_did_the_host_do WHERE series LIKE '%cpu%'");
    assert!(cpu >= 3.0, "{cpu}");
    let text = lab.dyno("show --findings").success();
    has(&text, &["stalls:"]);
}

#[test]
fn what_a_log_does_not_tell_is_not_made_up() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let log = log_of(&lab, &database, 2);
    // Without the command line there is neither drive nor distribution.
    let (_, bare) = log.split_once('\n').unwrap();
    let file = lab.file("bare.log", bare);
    let output = lab.dyno(&format!("import sysbench {file}")).success();
    let told = crate::common::flat(&output.stdout);
    // Two seconds are too short for more.
    assert!(told.contains("doubtful – "), "{told}");
    let all = format!(" of {} checks made: ", dyno_verdict::checks().len());
    assert!(told.contains(&all), "{told}");
    let result = lab.json("show --json");
    for name in ["started_unix_s", "client", "rand"] {
        assert!(result[name].is_null(), "{name}: {result:#}");
    }
    assert!(result["service"]["stddev_ms"].is_null(), "{result:#}");
    has(&lab.dyno("list runs").success(), &["not known"]);
    assert!(lab.json("list runs --json")[0]["started_unix_s"].is_null());
    assert_eq!(lab.json("list runs --json --since 1h")[0]["id"], 1);
    lab.dyno("report 1 -o report.html").success();
    let page = fs::read_to_string(lab.path("report.html")).unwrap();
    assert!(page.contains("start not known"));
    let exported = lab.dyno("export 1 --format csv").success();
    for text in [&output.stdout, &page, &exported.stdout] {
        assert!(!text.contains("1970-"), "{text}");
    }

    // The user may know it.
    let mut other = bare.replace("Initializing", "initializing");
    other.push('\n');
    let file = lab.file("other.log", &other);
    let line = format!("import sysbench {file} --utc-offset=+02:00");
    let when = "--started '2026-11-21 14:45:12'";
    lab.dyno(&format!("{line} {when} --profile reference"))
        .success();
    let result = lab.json("show --json");
    near(&result["started_unix_s"], 1_795_265_112.0, 0.0);
    has(&lab.dyno("list runs").success(), &["2026-11-21 12:45"]);
    for (option, told) in [
        ("--started noon", "--started: 'noon' is no date with a time"),
        ("--utc-offset here", "--utc-offset: 'here' is no distance"),
        (
            "--vmstat-interval 0",
            "--vmstat-interval: a delay is longer",
        ),
        ("--iostat-interval x", "--iostat-interval"),
        ("--percentile 101", "--percentile: 101 is not above 0"),
        ("--profile odd", "--profile: 'odd' is neither"),
    ] {
        has(&lab.dyno(&format!("{line} {option}")).failure(2), &[told]);
    }
}

#[test]
fn what_is_no_log_changes_nothing() {
    let lab = Lab::new();
    let garbage = lab.file("garbage.log", "lorem ipsum\n\u{0}dolor\n");
    let empty = lab.file("empty.log", "");
    let database = Database::new(Kind::Mariadb);
    let good = lab.file("good.log", &log_of(&lab, &database, 2));
    let absent = lab.path("absent.log").display().to_string();
    let bad = [
        format!("import sysbench {garbage}"),
        format!("import sysbench {empty}"),
        format!("import sysbench {absent}"),
        format!("import sysbench {}", lab.path("").display()),
        format!("import sysbench {good} {garbage}"),
        format!("import sysbench {good} {absent}"),
        format!("import sysbench {good} --vmstat {absent}"),
        format!("import sysbench {good} --vmstat {garbage}"),
        format!("import sysbench {good} --iostat {garbage}"),
    ];
    let refused = |line: &str| {
        let output = lab.dyno(line).failure(1);
        let named = line.split_whitespace().last().unwrap();
        has(&output, &[named.trim_end_matches('/')]);
    };
    for line in &bad {
        refused(line);
        assert!(!lab.path("dyno.db").exists(), "{line}");
    }
    lab.dyno(&format!("import sysbench {good}")).success();
    let before = fs::read(lab.path("dyno.db")).unwrap();
    for line in &bad {
        refused(line);
        assert_eq!(fs::read(lab.path("dyno.db")).unwrap(), before, "{line}");
    }
    assert_eq!(query(&lab.path("dyno.db"), "SELECT id FROM run"), [["1"]]);
    for (line, told) in [
        ("import", "what is to be imported?"),
        ("import pgbench x", "what is to be imported?"),
        ("import sysbench", "no file to import"),
    ] {
        has(&lab.dyno(line).failure(2), &[told]);
    }
}
