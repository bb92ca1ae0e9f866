//! Runs set against each other.

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{Lab, has, prepared};

/// Long enough for intervals around ratios.
const LONGER: &str = "--warmup 0 --calibrate never -t 3s --interval 250ms -q";

fn metric<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let metrics = comparison["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("no metric {name} in {comparison:#}"))
}

#[test]
fn a_run_is_like_itself() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    lab.dyno(&format!("run oltp_point_select {target} {LONGER} -c 2"))
        .success();
    let compared = lab.json("compare 1 last --json");
    let compared = &compared[0];
    for metric in compared["metrics"].as_array().unwrap() {
        assert_eq!(metric["significant"], false, "{metric}");
        if let Some(ratio) = metric["ratio"].as_f64() {
            assert_eq!(ratio, 1.0, "{metric}");
        }
        assert_eq!(metric["base"], metric["new"], "{metric}");
    }
    let events = metric(compared, "events");
    assert_eq!(
        events["base"].as_f64().unwrap(),
        lab.number("SELECT events_per_s FROM run")
    );
    assert_eq!(compared["differences"], Value::Array(Vec::new()));
    let text = lab.dyno("compare 1 1").success();
    has(
        &text,
        &["run 1 against run 1", "1.000", "three or more a side"],
    );
    for word in ["better", "worse", "differs too"] {
        assert!(!text.stdout.contains(word), "{}", text.stdout);
    }
}

#[test]
fn repetitions_show_an_effect_and_what_was_meant_to_differ() {
    let lab = Lab::new();
    let script = lab.file(
        "steps.lua",
        "sysbench.cmdline.options = { gap = {'milliseconds', 1} }\n\
         function thread_init() end\n\
         function event() dyno.sleep(sysbench.opt.gap / 1000) end\n",
    );
    for gap in [25, 25, 25, 100, 100, 100] {
        let line = format!("run {script} --gap={gap} -c 2 {LONGER} -t 2s --warmup 0");
        lab.dyno(&line).success();
    }
    let compared = lab.json("compare 1,2,3 4,5,6 --json");
    let compared = &compared[0];
    assert_eq!(compared["base"]["runs"].as_array().unwrap().len(), 3);
    let events = metric(compared, "events");
    assert!(events["ratio"].as_f64().unwrap() < 0.6, "{events}");
    assert_eq!(compared["basis"], "BetweenRuns");
    // How sure that is depends on how still the machine is.
    let sure = events["p_corrected"].as_f64().is_some_and(|p| p < 0.05);
    assert_eq!(events["significant"], sure, "{events}");
    let differs = |comparison: &Value| {
        let differences = comparison["differences"].as_array().unwrap().clone();
        let gap = differences.iter().find(|d| d["what"] == "option gap");
        gap.unwrap_or_else(|| panic!("{comparison:#}"))["intended"].clone()
    };
    assert_eq!(differs(compared), false);
    let meant = lab.json("compare 1,2,3 4,5,6 --factor gap --json");
    assert_eq!(differs(&meant[0]), true);
    let text = lab.dyno("compare 1,2,3 4,5,6 --factor gap").success();
    has(
        &text,
        &["runs 4, 5, 6 against runs 1, 2, 3", "intended", "25 → 100"],
    );
    // Several sides against the same base.
    let several = lab.json("compare 1 2 4 --json");
    assert_eq!(several.as_array().unwrap().len(), 2);
    let file = lab.path("c.json").display().to_string();
    has(
        &lab.dyno(&format!("compare 1 4 --json={file}")).success(),
        &["new/base"],
    );
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written.contains("\"metrics\""), "{written}");
}

#[test]
fn other_workloads_are_refused() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for workload in ["oltp_point_select", "oltp_update_index"] {
        lab.dyno(&format!("run {workload} {target} {LONGER} -t 2s"))
            .success();
    }
    let refused = lab.dyno("compare 1 2").failure(1);
    has(
        &refused,
        &["oltp_point_select and oltp_update_index", "--force"],
    );
    let forced = lab.dyno("compare 1 2 --force").success();
    has(
        &forced,
        &[
            "run 2 against run 1",
            "workload: oltp_point_select → oltp_update_index",
        ],
    );
    for (line, told) in [
        ("compare", "needs a BASE"),
        ("compare 1", "needs a NEW run"),
        ("compare 1 2 --fast", "--fast"),
    ] {
        has(&lab.dyno(line).failure(2), &[told]);
    }
    has(
        &lab.dyno("compare 1 7").failure(1),
        &["there is no run `7`"],
    );
}
