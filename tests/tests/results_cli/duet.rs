//! Two sides that take turns. Workloads that sleep differ by a known ratio on any machine.

use std::time::Duration;

use dyno_tests::{Kind, Output};
use serde_json::Value;

use crate::common::{LIMIT, Lab, has, prepared};

/// Keeps a duet short, and its end independent of its precision.
const SHORT: &str = "--warmup 1s --precision 0.01% --calibrate never";

/// A workload whose events sleep this many milliseconds.
fn sleeping(lab: &Lab, name: &str, milliseconds: &str) -> String {
    lab.file(
        name,
        &format!("function event() dyno.sleep({milliseconds} / 1000) end\n"),
    )
}

fn result(lab: &Lab, line: &str) -> (Output, Value) {
    let output = lab.dyno(&format!("{line} --json=duet.json")).success();
    let text = std::fs::read_to_string(lab.path("duet.json")).unwrap();
    (output, serde_json::from_str(&text).unwrap())
}

fn figure<'a>(result: &'a Value, name: &str) -> &'a Value {
    let figures = result["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {result:#}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_known_difference_is_found_and_both_runs_are_recorded() {
    let lab = Lab::new();
    let (fast, slow) = (
        sleeping(&lab, "fast.lua", "2"),
        sleeping(&lab, "slow.lua", "2.5"),
    );
    let line = format!(
        "duet {fast} {slow} --target sqlite:none.db -c 4 --at-most 60s --precision 5% --warmup 1s \
         --calibrate never"
    );
    let (shown, found) = result(&lab, &line);
    has(
        &shown,
        &["B is ", " % slower (", "Slices of ", "ABBA or BAAB"],
    );
    assert_eq!(found["answer"], "different", "{found:#}");
    let rate = figure(&found, "rate");
    // Sleeping takes a little longer than requested.
    let ratio = number(&rate["ratio"]);
    assert!((0.75..0.90).contains(&ratio), "{found:#}");
    assert!(number(&rate["low"]) < ratio && ratio < number(&rate["high"]));
    assert!(number(&rate["b"]) < number(&rate["a"]));
    assert!(number(&figure(&found, "p50")["ratio"]) > 1.1);
    assert!(number(&found["slice_ms"]) >= 10.0 * number(&found["cut_ms"]));
    assert!(
        number(&found["blocks"]) >= 20.0 && found["end"] == "precise",
        "{found:#}"
    );
    // Both sides are recorded as runs, which say that they waited for each other.
    for (side, name) in ["A", "B"].into_iter().enumerate() {
        let run = &found["sides"][side]["run"]["id"];
        let fact = |name: &str| {
            lab.sql(&format!(
                "SELECT value FROM fact WHERE run_id = {run} AND name = 'duet.{name}'"
            ))
        };
        assert_eq!(fact("side"), [[name]]);
        assert!(fact("answer")[0][0].contains("\"different\""), "{run}");
        let shown = lab.dyno(&format!("show {run} -v")).success();
        has(&shown, &[&format!("This is side {name} of a duet.")]);
    }
}

#[test]
fn equal_sides_on_a_server_are_the_same_within_a_margin() {
    let lab = Lab::new();
    let (a, options) = prepared(&lab, Kind::Mariadb);
    let (b, _) = prepared(&lab, Kind::Mariadb);
    let (a, b) = (a.url(), b.url());
    let options = options.replace(&format!("--target {a}"), "");
    let line =
        format!("duet {a} {b} oltp_point_select {options} -c 4 --slice 50ms --at-most 10s {SHORT}");
    let (_, found) = result(&lab, &format!("{line} --equivalent 50%"));
    assert!(found["answer"]["same"].is_object(), "{found:#}");
    let client = figure(&found, "client CPU per event");
    assert!(number(&client["a"]) > 0.0);
    // Both databases are on one server, whose CPU time belongs to the side that works.
    let server = figure(&found, "server CPU per event");
    assert!((0.5..2.0).contains(&number(&server["ratio"])), "{found:#}");
    let outcome = |check: &str| {
        let mut findings = found["findings"].as_array().unwrap().iter();
        let own = findings.find(|own| own["check"] == check).unwrap();
        own["outcome"].clone()
    };
    assert_eq!(outcome("idle-side"), "not_checked");
}

#[test]
fn both_sides_work_together_on_request() {
    let lab = Lab::new();
    let (fast, slow) = (
        sleeping(&lab, "fast.lua", "5"),
        sleeping(&lab, "slow.lua", "10"),
    );
    let line = format!("duet {fast} {slow} --target sqlite:none.db -c 2 --at-most 12s {SHORT}");
    let (shown, found) = result(&lab, &format!("{line} --mode simultaneous"));
    has(&shown, &["both sides at the same time"]);
    let ratio = number(&figure(&found, "rate")["ratio"]);
    assert!((0.4..0.65).contains(&ratio), "{found:#}");
    let mut findings = found["findings"].as_array().unwrap().iter();
    assert!(findings.all(|own| own["check"] == "work-done"), "{found:#}");
}

#[test]
fn an_interrupt_ends_a_duet_with_its_result() {
    let lab = Lab::new();
    let script = sleeping(&lab, "sleeping.lua", "2");
    let line = format!(
        "duet {script} {script} --target sqlite:none.db -c 2 --slice 50ms --at-most 5m {SHORT} \
         --json=duet.json"
    );
    let running = lab.start(&line);
    std::thread::sleep(Duration::from_secs(8));
    running.signal(libc::SIGINT);
    let ended = running.finish(LIMIT).failure(130);
    has(&ended, &["interrupted", "block"]);
    let text = std::fs::read_to_string(lab.path("duet.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["end"], "interrupted");
    assert!(number(&found["figures"][0]["a"]) > 0.0, "{found:#}");
}

#[test]
fn requests_that_make_no_duet_are_refused_before_the_load() {
    let lab = Lab::new();
    let script = sleeping(&lab, "sleeping.lua", "2");
    for (line, why) in [
        ("duet".to_owned(), "needs two sides"),
        (format!("duet {script} {script}"), "needs existing targets"),
        (
            format!("duet {script} {script} --target sqlite:n.db --events 5"),
            "--events does not apply to dyno duet: use --at-most or --precision",
        ),
        (
            format!("duet {script} {script} --target sqlite:n.db --rate 10/s"),
            "use --mode simultaneous",
        ),
        (
            format!("duet {script} {script} --target sqlite:n.db --precision 0"),
            "--precision: '0' is not a share",
        ),
        (
            format!("duet {script} {script} --target sqlite:n.db --mode both"),
            "neither alternating nor simultaneous",
        ),
        (
            format!("duet {script} missing.lua --target sqlite:n.db"),
            "missing.lua",
        ),
    ] {
        let output = lab.dyno(&line).failure(2);
        has(&output, &[why]);
    }
}

#[test]
fn a_side_without_tables_is_named() {
    let lab = Lab::new();
    let (full, options) = prepared(&lab, Kind::Mariadb);
    let empty = dyno_tests::Database::new(Kind::Mariadb);
    let (full, empty) = (full.url(), empty.url());
    let options = options.replace(&format!("--target {full}"), "");
    let line = format!("duet {full} {empty} oltp_point_select {options} --slice 50ms {SHORT}");
    let output = lab.dyno(&line).failure(1);
    has(&output, &["side B", "prepare"]);
}
