//! Lasting changes over many runs.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::{Lab, SHORT, has};

/// The number of runs, the first run after the change, and the day of the first one: 2026-11-01.
const RUNS: i64 = 40;
const CHANGED: i64 = 26;
const FIRST_DAY: f64 = 1_793_491_200.0;

/// A folder with copies of one run, a day apart, whose rate falls by 20 % with a new version.
fn lab() -> Lab {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!("run oltp_point_select {target} {SHORT} -q --factor fs=xfs");
    lab.dyno(&run).success();
    let file = Connection::open(lab.path("dyno.db")).unwrap();
    file.execute_batch(
        "PRAGMA foreign_keys = OFF; UPDATE run SET verdict = 'valid';
         CREATE TEMP TABLE copied AS SELECT * FROM run;",
    )
    .unwrap();
    for id in 1..=RUNS {
        let noise = ((id * 7) % 5) as f64;
        let (level, version) = match id < CHANGED {
            true => (1_000.0, "3.45.1"),
            false => (800.0, "3.46.0"),
        };
        file.execute(
            "UPDATE copied SET id = ?1, name = 'copy-' || ?1, started_unix_s = ?2,
                 events_per_s = ?3, server_version = ?4, p95_ms = 1.0, p99_ms = NULL",
            (id, FIRST_DAY + 86_400.0 * id as f64, level + noise, version),
        )
        .unwrap();
        file.execute("INSERT OR REPLACE INTO run SELECT * FROM copied", [])
            .unwrap();
    }
    lab
}

fn figure<'a>(history: &'a Value, name: &str) -> &'a Value {
    let figures = history["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {history:#}"))
}

#[test]
fn a_change_is_found_drawn_and_judged() {
    let lab = lab();
    let all = lab.json("history --json");
    assert_eq!(all.as_array().unwrap().len(), 1, "{all:#}");
    let history = &all[0];
    assert_eq!(history["by"], "date");
    assert_eq!(history["runs"].as_array().unwrap().len() as i64, RUNS);
    assert_eq!(history["thresholds"], json!([]));
    let changes = figure(history, "rate")["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["run"], CHANGED);
    let ratio = changes[0]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.8).abs() < 0.005, "{ratio}");
    assert_eq!(figure(history, "p95")["changes"], json!([]));
    let text = lab.dyno("history").success();
    has(
        &text,
        &[
            "40 runs (1 … 40) by date",
            "from run 26 (2026-11-27, 3.46.0), worse",
            "no lasting change",
            "▲",
        ],
    );
    let markdown = lab.dyno("history --format markdown").success();
    has(&markdown, &["| rate | 1,002/s | 802/s | −20.0 % |"]);
    let failed = lab.dyno("history --fail-if 'rate < 0.97x' --fail-if 'p95 > 1.1x'");
    has(
        &failed.failure(4),
        &[
            "✘ failed rate < 0.97x: 0.80",
            "✔ kept p95 > 1.1x: no lasting change",
        ],
    );
    let kept = lab.dyno("history --fail-if 'rate < 0.7x'").success();
    has(&kept, &["✔ kept"]);
    // The latest runs have no change.
    lab.dyno("history --limit 10 --fail-if 'rate < 0.97x'")
        .success();
}

#[test]
fn runs_are_selected_ordered_and_left_out() {
    let lab = lab();
    let by = lab.json("history --by version --where fs=xfs --json");
    assert_eq!(figure(&by[0], "rate")["changes"][0]["run"], CHANGED);
    let few = lab.dyno("history 1,2,3 4 5 --json").success();
    assert_eq!(few.stdout, "[]\n");
    has(&few, &["left out: 1 plan: fewer than 6 runs"]);
    let unjudged = lab.dyno("history 1,2,3 4 5 --fail-if 'rate < 0.97x'");
    let why = "rate < 0.97x cannot be judged: no plan has 6 or more runs";
    has(&unjudged.failure(4), &[why]);
    let file = Connection::open(lab.path("dyno.db")).unwrap();
    let refuse = "UPDATE run SET verdict = 'refused' WHERE id = 1";
    let fail = "UPDATE run SET state = 'failed' WHERE id IN (2, 3)";
    let doubt = "UPDATE run SET verdict = 'doubtful' WHERE id IN (4, 5)";
    let other = "UPDATE run SET head = json_set(head, '$.factors.fs', 'ext4') WHERE id > 30";
    file.execute_batch(&format!("{refuse}; {fail}; {doubt}; {other};"))
        .unwrap();
    let both = lab.dyno("history").success();
    has(
        &both,
        &[
            "left out: 1 run: refused",
            "left out: 2 runs: did not complete",
            "fs=xfs: 27 runs (4 … 30) by date",
            "? 2 of 27 runs are doubtful; ✘ 1 refused run is left out",
            "fs=ext4: 10 runs (31 … 40) by date",
        ],
    );
    let counts = lab.json("history --json");
    assert_eq!(counts[0]["doubtful"], 2);
    assert_eq!(counts[0]["refused"], 1);
    assert_eq!(counts[0]["runs"][0]["verdict"], "doubtful");
    assert_eq!(counts[1]["doubtful"], 0);
    let mixed = lab.dyno("history --by fs").success();
    has(&mixed, &["37 runs (31 … 30) by fs"]);
    for (line, why) in [
        ("history --by memory", "no run has a factor 'memory'"),
        ("history --fail-if 'rate < 1000'", "is not a ratio"),
        (
            "history --fail-if 'queries < 0.9x'",
            "no plan has this figure; known figures: ",
        ),
        ("history --limit 5", "a change needs at least 6 runs"),
        ("history 77", "77"),
    ] {
        let status = if line == "history 77" { 1 } else { 2 };
        has(&lab.dyno(line).failure(status), &[why]);
    }
}
