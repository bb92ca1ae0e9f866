//! The record of runs of `dyno sysbench`.

use std::os::unix::fs::symlink;
use std::process::Command;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::{Database, Kind, Output};

use crate::common::{LIMIT, Lab, finding, has, sound};

const LINE: &str = "--table-size=1000 --threads=2 --time=3 --report-interval=1 \
                    --percentile=99 oltp_point_select run";

fn sysbench(lab: &Lab, database: &Database, results: Option<&str>) -> Output {
    let mut command = lab.command("sysbench");
    command.args(database.sysbench_options());
    command.args(LINE.split_whitespace());
    if let Some(results) = results {
        command.env("DYNO_RESULTS", results);
    }
    sound(run(&mut command, LIMIT)).success()
}

/// A report with its figures removed.
fn shape(text: &str) -> String {
    let figures = regex::Regex::new(r" *[0-9]+(\.[0-9]+)? *").unwrap();
    figures.replace_all(text, " N").into_owned()
}

#[test]
fn recording_does_not_change_the_report() {
    let lab = Lab::new();
    for (index, kind) in Kind::ALL.into_iter().enumerate() {
        let database = Database::new(kind);
        let target = format!("--target {} --table-size 1000", database.url());
        lab.dyno(&format!("prepare oltp_point_select {target}"))
            .success();
        let bare = sysbench(&lab, &database, Some("none"));
        assert_eq!(lab.path("dyno.db").exists(), index > 0);
        assert!(!bare.stderr.contains("dyno:"), "{}", bare.stderr);
        let recorded = sysbench(&lab, &database, None);
        assert_eq!(shape(&recorded.stdout), shape(&bare.stdout), "{kind}");
        let lines: Vec<&str> = recorded.stderr.lines().collect();
        let own: Vec<&&str> = lines.iter().filter(|line| line.contains("dyno")).collect();
        assert_eq!(own.len(), 1, "{}", recorded.stderr);
        let id = index + 1;
        assert!(own[0].starts_with(&format!("dyno: run {id} in dyno.db is ")));
        let result = lab.json("show --json");
        assert!(
            own[0].contains(result["verdict"].as_str().unwrap()),
            "{}",
            own[0]
        );
        let events = result["totals"]["events"].as_u64().unwrap();
        let line = recorded
            .stdout
            .lines()
            .find(|line| line.contains("transactions:"));
        let counted = line.unwrap().split_whitespace().nth(1).unwrap();
        assert_eq!(counted, events.to_string(), "{}", recorded.stdout);
        assert_ne!(finding(&result, "observers")["outcome"], "not_checked");
        has(
            &lab.dyno("show").success(),
            &["oltp_point_select on", "p99"],
        );
    }
}

#[test]
fn a_run_without_a_writable_record_continues_with_advice() {
    let lab = Lab::new();
    let script = lab.file("empty.lua", "function event() end");
    let mut command = lab.command("sysbench");
    command.args([script.as_str(), "--time=1", "run"]);
    command.env("DYNO_RESULTS", "/proc/nope/x.db");
    let output = sound(run(&mut command, LIMIT)).success();
    has(&output, &["this run is not recorded", "/proc/nope/x.db"]);
    has(&output, &["it runs anyway", "DYNO_RESULTS names another"]);
    has(&output, &["total number of events:"]);
    for lie in ["did not start", "--results"] {
        assert!(!output.stderr.contains(lie), "{}", output.stderr);
    }
}

#[test]
fn a_binary_called_sysbench_records_where_it_should() {
    let lab = Lab::new();
    symlink(dyno_path(), lab.path("sysbench")).unwrap();
    let script = lab.file("empty.lua", "function event() end");
    let line = [script.as_str(), "--time=1", "run"];
    let called = |results: Option<&str>| {
        let mut command = Command::new(lab.path("sysbench"));
        lab.prepare(command.args(line));
        if let Some(results) = results {
            command.env("DYNO_RESULTS", results);
        }
        sound(run(&mut command, LIMIT)).success()
    };
    let quiet = called(None);
    assert_eq!(quiet.stderr, "");
    assert!(!lab.path("dyno.db").exists());
    has(&called(Some("kept.db")), &["dyno: run 1 in kept.db is"]);
    // If the record cannot be written, only the record is missing.
    lab.file("text.db", "notes");
    let output = called(Some("text.db"));
    has(
        &output,
        &[
            "this run is not recorded",
            "text.db",
            "total number of events",
        ],
    );
}
