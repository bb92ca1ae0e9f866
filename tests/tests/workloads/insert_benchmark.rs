//! The Insert Benchmark. Each of its steps is a recorded run, and the tables keep their size.

use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{Inserting, QUIET, TestDatabase, done, everywhere, fails, on, outcome, sqlite};

const SMALL: &str = "-c 2 --rows 3000 --write_rows 2000 --settle 0";

fn steps(place: &TestDatabase, line: &str) -> Vec<Value> {
    let result = place.result(&format!("insert_benchmark {SMALL} {line}"));
    result.as_array().unwrap().clone()
}

fn role<'a>(run: &'a Value, name: &str) -> &'a Value {
    let roles = run["roles"].as_array().unwrap();
    roles.iter().find(|role| role["name"] == name).unwrap()
}

#[test]
fn every_step_has_a_matching_ledger_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        place
            .dyno(&format!("prepare insert_benchmark {SMALL}"))
            .success();
        let runs = steps(&place, "-t 2s --steps i0,x,i1,i2,qr100,qp500");
        let names: Vec<&str> = (runs.iter())
            .map(|run| run["phase"]["name"].as_str().unwrap())
            .collect();
        let expected = ["l.i0", "l.x", "l.i1", "l.i2", "qr100.L1", "qp500.L2"];
        assert_eq!(names, expected, "{name}");
        for run in &runs {
            assert_eq!(outcome(run, "consistency"), "pass", "{name}: {run:#}");
            assert_eq!(
                run["phase"]["sequence"], runs[0]["phase"]["sequence"],
                "{name}"
            );
            assert_eq!(run["end"]["how"], "completed", "{name}");
        }
        // The rows of both clients divided by the rows per statement.
        let statements = [(0, 3000 / 100), (2, 1600 / 50), (3, 400 / 5)];
        for (step, each) in statements {
            let inserter = role(&runs[step], "inserter");
            assert_eq!(inserter["events"], 2 * each, "{name}, step {step}");
            assert_eq!(inserter["events_min"], each, "{name}, step {step}");
            assert!(
                inserter["finished_last_s"].as_f64().unwrap() > 0.0,
                "{name}"
            );
        }
        // There are as many deletes as inserts.
        for step in [2, 3] {
            assert_eq!(runs[step]["ledger"][1]["found"], 0, "{name}, step {step}");
            assert_eq!(done(&runs[step], "min_key_first"), 2, "{name}, step {step}");
        }
        let index = &runs[1];
        assert_eq!(done(index, "create_indexes"), 2, "{name}");
        assert_eq!(index["phase"]["per_event"], 3050.0, "{name}");
        let before = &runs[4]["phase"]["before"];
        assert_eq!(before["command"], "statistics, settle", "{name}");
        let rest_text = before["told"].as_str().unwrap();
        let beside = rest_text.contains("statistics (2 tables in parallel)");
        assert_eq!(beside, place.family() != "sqlite", "{name}: {rest_text}");
        assert!(runs[5]["phase"]["before"].is_null(), "{name}");
        for (step, rate) in [(4, 100.0), (5, 500.0)] {
            let run = &runs[step];
            let asked = role(run, "inserter")["asked_per_s"].as_f64().unwrap();
            assert!((asked - 2.0 * rate / 50.0).abs() < 1e-9, "{name}: {asked}");
            assert_eq!(role(run, "inserter")["background"], true, "{name}");
            let events = run["totals"]["events"].as_u64().unwrap();
            assert!(
                events > 0 && events == done(run, "query"),
                "{name}, step {step}"
            );
            assert!(done(run, "insert") > 0, "{name}, step {step}");
        }
        place
            .dyno(&format!("check insert_benchmark {SMALL}"))
            .success();
        place.dyno("cleanup insert_benchmark").success();
    }
}

/// `cleanup` does not need the number of clients.
#[test]
fn only_recorded_tables_are_dropped() {
    for place in everywhere() {
        let prepare = format!("prepare insert_benchmark {SMALL}");
        place.dyno(&prepare).success();
        place.execute("CREATE TABLE pi3 AS SELECT * FROM pi1");
        place.dyno("cleanup insert_benchmark").success();
        // Somebody's copy is kept: otherwise this fails.
        place.execute("DROP TABLE pi3");
        place.dyno(&prepare).success();
        place.dyno("cleanup insert_benchmark").success();
        place.dyno("cleanup insert_benchmark").success();
    }
}

#[test]
fn the_version_of_2023_has_its_own_indexes_and_steps() {
    for place in [on(Kind::Mysql), on(Kind::Postgres)] {
        place
            .dyno(&format!("prepare insert_benchmark {SMALL} --variant 2023"))
            .success();
        let runs = steps(&place, "-t 1s --variant 2023 --steps i0,x,i1,q100");
        assert_eq!(runs[3]["phase"]["name"], "q100.L1");
        // All of these rows were inserted before the indexes were created.
        assert_eq!(runs[1]["ledger"][1]["found"], 100_000);
        // One step inserts the rows of both write-heavy steps.
        assert_eq!(role(&runs[2], "inserter")["events"], 2 * 2000 / 50);
        place
            .dyno(&format!("check insert_benchmark {SMALL} --variant 2023"))
            .success();
    }
}

#[test]
fn reports_rows_that_vanish() {
    for place in [sqlite(), on(Kind::Mariadb)] {
        place
            .dyno(&format!("prepare insert_benchmark {SMALL}"))
            .success();
        steps(&place, "--steps i0,x");
        place.execute("DELETE FROM pi2 WHERE transactionid > 900");
        fails(&place, &format!("insert_benchmark {SMALL}"), &["pi2 has "]);
        // The ledger refuses a step if rows were removed from outside.
        let line = format!("run insert_benchmark {SMALL} --step qr100 -t 5s --gate --json {QUIET}");
        let inserting = Inserting::since(&place);
        let running = place.start(&line);
        inserting.wait();
        place.execute("DELETE FROM pi1 WHERE transactionid BETWEEN 2000 AND 2100");
        let output = running.finish(Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let run: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(outcome(&run, "consistency"), "refuse");
    }
}

#[test]
fn reports_mistakes_before_anything_runs() {
    let place = sqlite();
    let refused = |line: &str, words: &str| {
        let output = place.dyno(&format!("{line} {QUIET}"));
        assert_ne!(output.status.code(), Some(0), "{line}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
        assert!(
            !output.stderr.contains("panicked"),
            "{line}: {}",
            output.stderr
        );
    };
    refused(
        "run insert_benchmark --steps i0,i9",
        "there is no step 'i9'",
    );
    refused(
        "run insert_benchmark --variant 2020",
        "--variant must be 2026 or 2023",
    );
    refused(
        "run insert_benchmark --rows 0",
        "--rows must be a whole number from 1",
    );
    refused("run insert_benchmark --events 5", "--events");
    refused(
        "run insert_benchmark --settle soon",
        "--settle must be auto or a number",
    );
    refused("run insert_benchmark --steps i0", "dyno prepare");
    place
        .dyno(&format!("prepare insert_benchmark {SMALL}"))
        .success();
    steps(&place, "--steps i0");
    refused(
        &format!("run insert_benchmark {SMALL} --steps i0"),
        "is not empty",
    );
}

/// Makes two runs of three steps, which are recorded in this file with the notes `one` and `two`.
fn two_sequences(file: &std::path::Path) {
    let place = sqlite();
    let results = format!("--results {}", file.display());
    for note in ["one", "two"] {
        place
            .dyno(&format!("prepare insert_benchmark {SMALL}"))
            .success();
        let line = format!("run insert_benchmark {SMALL} --steps i0,x,qr100 -t 3s -q");
        place
            .dyno(&format!("{line} --calibrate never --note {note} {results}"))
            .success();
        place.dyno("cleanup insert_benchmark").success();
    }
}

#[test]
fn prints_the_steps_of_two_runs_in_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dyno.db");
    two_sequences(&file);
    let phases = |line: &str| {
        let mut command = std::process::Command::new(dyno_tests::command::dyno_path());
        command.args(["phases", "--results"]).arg(&file);
        command.args(line.split_whitespace());
        dyno_tests::command::run(&mut command, Duration::from_secs(60))
    };
    let page = folder.path().join("phases.html");
    let output = phases(&format!(
        "1 BREAK new=last --tsv - --html {}",
        page.display()
    ))
    .success();
    let rows: Vec<&str> = output.stdout.lines().take(4).collect();
    let heads = "configuration\tl.i0 rows/s\tl.x rows/s\tqr100.L1 queries/s";
    assert_eq!(rows[..2], ["# Throughput", heads], "{output:?}");
    for (row, label) in rows[2..].iter().zip(["one", "new"]) {
        let cells: Vec<&str> = row.split('\t').collect();
        assert_eq!(cells[0], label);
        assert!(
            cells[1..]
                .iter()
                .all(|cell| cell.parse::<f64>().unwrap() > 0.0),
            "{row}"
        );
    }
    let text = std::fs::read_to_string(&page).unwrap();
    for picture in [
        "l.i0, rows/s",
        "qr100.L1: querier, new",
        "qr100.L1: inserter, one",
        "qr100.L1: query",
        "<tr class=\"apart\"><th scope=\"row\">new</th>",
    ] {
        assert!(text.contains(picture), "{picture}");
    }
    assert!(
        text.contains("qr100.L1: figures relative to the first"),
        "{}",
        text.len()
    );
    // Each kind of statement has its own rows, one configuration below the other.
    for row in [
        "insert, one\t",
        "insert, new\t",
        "delete, one\t",
        "delete, new\t",
        "query, one\t",
        "query, new\t",
        "one qr100.L1\t2\t",
    ] {
        let found = output.stdout.lines().any(|line| line.starts_with(row));
        assert!(found, "{row}: {output:?}");
    }
    for line in ["BREAK 1", "1 BREAK", "1 BREAK BREAK last"] {
        let wrong = phases(line);
        assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
        assert!(wrong.stderr.contains("BREAK must be between"), "{wrong:?}");
    }
    let wrong = phases("gone-away");
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("no run `gone-away`"), "{wrong:?}");
}

#[test]
fn a_plan_lists_the_phases_and_roles() {
    let place = sqlite();
    let plan = |more: &str| -> Value {
        let line = format!("run insert_benchmark -c 3 --workers 2 {more} --plan");
        serde_json::from_str(&place.dyno(&line).success().stdout).unwrap()
    };
    let names = |entries: &Value| -> Vec<String> {
        let entries = entries.as_array().unwrap().iter();
        let names = entries.map(|entry| entry["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let steps = plan("--steps i0,x,qr100 -t 7s --query-threads 2");
    let phases = &steps["phases"];
    assert_eq!(names(phases), ["l.i0", "l.x", "qr100.L1"], "{steps:#}");
    assert_eq!(phases[2]["time_s"], 7.0, "{steps:#}");
    assert_eq!(phases[2]["before"][1], "settle", "{steps:#}");
    assert_eq!(phases[2]["undo"], "unsettle", "{steps:#}");
    assert_eq!(phases[2]["options"]["step"], "qr100", "{steps:#}");
    let roles = &phases[2]["roles"];
    assert_eq!(
        names(roles),
        ["inserter", "deleter", "querier"],
        "{steps:#}"
    );
    assert_eq!(roles[2]["sessions"], 6, "{steps:#}");
    // A single step is a single run, and its roles determine the number of sessions.
    let one = plan("--step qr100");
    assert_eq!(names(&one["roles"]), ["inserter", "deleter", "querier"]);
    let sessions = |role: &Value| role["sessions"].as_u64().unwrap();
    let roles = one["roles"].as_array().unwrap();
    assert_eq!(roles.iter().map(sessions).sum::<u64>(), 9);
    let drive = &one["drive"];
    assert_eq!(
        (&drive["sessions"], &drive["workers"]),
        (&3.into(), &2.into())
    );
}
