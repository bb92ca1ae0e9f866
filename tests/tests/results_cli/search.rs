//! Searches for the highest load that meets a limit. The workloads sleep, so their capacity does
//! not depend on the machine.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Lab, has};

/// Keeps a search short.
const SHORT: &str = "-t 500ms --warmup 0 --votes 1";

/// A workload whose events take this many milliseconds, which may be an expression.
fn sleeping(lab: &Lab, milliseconds: &str) -> String {
    let script = lab.file(
        "sleeping.lua",
        &format!(
            "sysbench.cmdline.options = {{ gap = {{ 'Milliseconds', 20 }} }}\n\
             function event() dyno.sleep({milliseconds} / 1000) end\n"
        ),
    );
    format!("search {script} --target sqlite:none.db {SHORT}")
}

fn trials(result: &Value) -> &Vec<Value> {
    result["trials"].as_array().unwrap()
}

/// Two sessions with events of 20 ms can make 100 events a second.
#[test]
fn the_highest_rate_is_between_its_bounds_and_each_trial_is_a_run() {
    let lab = Lab::new();
    let line = format!("{} -c 2 --from 100/s", sleeping(&lab, "sysbench.opt.gap"));
    let shown = lab.dyno(&format!(
        "{line} 'p50 < 100ms' --gap 20 --factor search=mine --factor disk=none --json=found.json"
    ));
    let shown = shown.success();
    has(
        &shown,
        &[
            "Searching for the highest rate that keeps p50 < 100 ms",
            "#1 ",
            "keeps p50 < 100 ms (between ",
            "goodput ",
            "confirmed by ",
            "dyno report --rows offered --where search=mine -o search.html",
        ],
    );
    let text = std::fs::read_to_string(lab.path("found.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["ending"], "found", "{result:#}");
    let bound = |name: &str| result[name].as_f64().unwrap();
    assert!(
        bound("lower") >= 40.0 && bound("upper") <= 450.0,
        "{result:#}"
    );
    assert!(bound("lower") < bound("upper") && result["confirmed"] == true);
    assert!(bound("goodput_per_s") <= bound("lower"));
    // Each trial is recorded as a run at its load, in chronological order.
    let kept = lab.json("list runs --where search=mine,disk=none --limit 0 --json");
    let mut kept: Vec<i64> = (kept.as_array().unwrap().iter())
        .map(|run| run["id"].as_i64().unwrap())
        .collect();
    kept.sort_unstable();
    let loads = trials(&result)
        .iter()
        .map(|own| own["run"].as_i64().unwrap());
    assert_eq!(kept, loads.collect::<Vec<_>>());
    let table = lab
        .dyno("table --rows offered --figure p50 --where search=mine")
        .success();
    has(&table, &["p50", "offered"]);
    let page = "report --rows offered --where search=mine,disk=none -o search.html";
    has(&lab.dyno(page).success(), &["search.html: "]);
    // The answer is stored with the trials, and printed at the top of their page.
    let page = std::fs::read_to_string(lab.path("search.html")).unwrap();
    let (_, heading) = page.split_once("<h1").unwrap();
    let (heading, _) = heading.split_once("</h1>").unwrap();
    assert!(
        heading.contains("keeps p50") && heading.contains("confirmed by "),
        "{heading}"
    );
}

/// An event takes 20 ms per session, so three sessions meet a limit of 70 ms, and four do not.
#[test]
fn the_most_sessions_are_found_in_whole_numbers() {
    let lab = Lab::new();
    let line = sleeping(&lab, "20 * sysbench.opt.threads");
    let result = lab.json(&format!(
        "{line} --from 2 'max sessions with p50 < 70ms and errors < 1%' -q --json"
    ));
    assert_eq!(result["ending"], "found", "{result:#}");
    assert_eq!(
        (&result["lower"], &result["upper"]),
        (&3.0.into(), &4.0.into())
    );
    assert_eq!(result["searched"], "sessions");
    assert!(result["goodput_per_s"].as_f64().unwrap() > 10.0);
}

/// If no load meets the limit, the search ends at the smallest load, with status 1.
#[test]
fn reports_a_limit_that_cannot_be_met() {
    let lab = Lab::new();
    let line = sleeping(&lab, "sysbench.opt.gap");
    let shown = lab
        .dyno(&format!("{line} 'max sessions with p50 < 1ms'"))
        .failure(1);
    has(
        &shown,
        &[
            "With one session in a closed loop, 100.0 % of the events were late.",
            "No number of sessions keeps p50 < 1 ms: even one breaks it",
        ],
    );
}

/// A test of the host has no target and no calibration.
#[test]
fn a_test_of_the_host_can_be_searched() {
    let lab = Lab::new();
    let line = "search cpu --cpu-max-prime 500 -c 1 -t 200ms --warmup 0 --votes 1 --width 100%";
    let result = lab.json(&format!("{line} 'p50 < 1s' --from 2000/s -q --json"));
    assert_ne!(result["ending"], "failed", "{result:#}");
    assert!(result["lower"].is_f64(), "{result:#}");
    let shown = lab
        .dyno("search cpu --cpu-max-prime 500 -t 100ms --warmup 0 'max sessions with p50 < 1us'");
    has(
        &shown.failure(1),
        &["No number of sessions keeps p50 < 1 µs"],
    );
}

#[test]
fn an_interrupted_search_reports_its_bounds() {
    let lab = Lab::new();
    let line = sleeping(&lab, "sysbench.opt.gap");
    let line = line.replace("-t 500ms", "-t 2s");
    let mut running = lab.start(&format!(
        "{line} -c 2 --from 40/s 'p50 < 100ms' --json=i.json"
    ));
    running.prints("#1 ");
    running.signal(libc::SIGINT);
    let output = running.finish(Duration::from_secs(20)).failure(130);
    has(&output, &["Interrupted; so far 2", "keeps p50 < 100 ms"]);
    let text = std::fs::read_to_string(lab.path("i.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (result["ending"].as_str(), trials(&result).len()),
        (Some("interrupted"), 1)
    );
}

#[test]
fn reports_mistakes_before_anything_runs() {
    let lab = Lab::new();
    for (line, expected) in [
        (
            "search oltp_point_select -T sqlite:t.db",
            "dyno search needs a promise",
        ),
        (
            "search oltp_point_select -T sqlite:t.db 'p99 > 10ms'",
            "'p99 > 10ms' is not a promise",
        ),
        (
            "search oltp_point_select 'p99 < 10ms'",
            "needs a --target URL",
        ),
        (
            "search oltp_point_select -T sqlite:t.db 'p99 < 10ms' --rate 5",
            "--rate does not apply to a search",
        ),
        (
            "search oltp_point_select -T sqlite:t.db 'p99 < 10ms' --table-sise 5",
            "did you mean --table-size?",
        ),
        (
            "search insert_benchmark -T sqlite:t.db 'p99 < 10ms'",
            "insert_benchmark has phases, each a separate run: dyno search cannot run it",
        ),
        (
            "search cpu 'p99 < 10ms' --ledger off",
            "--ledger does not apply to cpu",
        ),
        (
            "run oltp_point_select -T sqlite:t.db --votes 5",
            "unknown option --votes",
        ),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
    assert!(!lab.path("dyno.db").exists());
    has(
        &lab.dyno("search --help").success(),
        &["'PROMISE'", "--votes", "--from"],
    );
}
