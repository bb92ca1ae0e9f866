//! Compares runs.

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{Lab, has, prepared};

/// Long enough to get intervals around the ratios.
const LONGER: &str = "--warmup 0 --calibrate never -t 3s --interval 250ms -q";

fn metric<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let metrics = comparison["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("no metric {name} in {comparison:#}"))
}

#[test]
fn a_run_does_not_differ_from_itself() {
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
        &["run 1 against run 1", "1.000", "at least three times"],
    );
    for word in ["better", "worse", "differs too"] {
        assert!(!text.stdout.contains(word), "{}", text.stdout);
    }
}

#[test]
fn repetitions_show_an_effect_and_the_declared_difference() {
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
    // How certain the result is depends on how quiet the machine is.
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
        &["gap 100", "of gap 25", "runs 4 (", "intended", "25 → 100"],
    );
    has(
        &lab.dyno("compare 1,2,3 4,5,6 --factor bogus").failure(2),
        &["no difference has this name or beginning", "option gap"],
    );
    // A limit is decided by the interval of the ratio.
    let decided = |limit: &str, inside: &dyn Fn(f64) -> bool| {
        let ends = ["low", "high"].map(|end| events[end].as_f64().is_some_and(inside));
        let output = lab.dyno(&format!("compare 1,2,3 4,5,6 --fail-if 'rate {limit}'"));
        let (mark, status) = match ends {
            [true, true] => ("✘ failed", 4),
            [false, false] => ("✔ kept", 0),
            _ => ("? undecided", 0),
        };
        has(&output, &[&format!("{mark} rate {limit}: 0.")]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    };
    decided("< 0.9x", &|ratio| ratio < 0.9);
    decided("> 2x", &|ratio| ratio > 2.0);
    has(
        &lab.dyno("compare 1 4 --fail-if 'rate < 100'").failure(2),
        &["is not a ratio", "0.95x"],
    );
    // Compare several runs with the same base.
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
fn refuses_to_compare_other_workloads() {
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
    // A page follows the same rule for sides and for runs of one side.
    for runs in ["1 2", "1,2"] {
        let report = lab.dyno(&format!("report {runs} -o page.html --force"));
        has(
            &report.success(),
            &[
                "warning: Cannot compare run 1 (",
                "oltp_point_select and oltp_update_index; compare runs of one workload.",
            ],
        );
    }
    let forced = lab.dyno("compare 1 2 --force").success();
    has(
        &forced,
        &[
            "run 2",
            "run 1 (",
            "workload: oltp_point_select → oltp_update_index",
        ],
    );
    for (line, expected) in [
        ("compare", "needs a BASE"),
        ("compare 1", "needs a NEW run"),
        ("compare 1 2 --fast", "--fast"),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
    has(
        &lab.dyno("compare 1 7").failure(1),
        &["there is no run `7`"],
    );
}

/// The differences between the last two runs, as (what, base, new).
fn differences(lab: &Lab) -> Vec<[String; 3]> {
    let runs = lab.number("SELECT max(id) FROM run");
    let compared = lab.json(&format!("compare {} {runs} --json", runs - 1.0));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = compared[0]["differences"].as_array().unwrap().iter();
    all.map(|d| ["what", "base", "new"].map(|key| text(&d[key])))
        .collect()
}

#[test]
fn reports_tables_that_differ() {
    let lab = Lab::new();
    let (database, target) = prepared(&lab, Kind::Mariadb);
    let run = |workload: &str| {
        lab.dyno(&format!("run {workload} {target} {LONGER} -c 2"))
            .success();
    };
    let changed = |what: &str, base: &str, new: &str| {
        let found = differences(&lab);
        let wanted = [what, base, new].map(str::to_owned);
        assert!(found.contains(&wanted), "{wanted:?} in {found:#?}");
    };
    run("oltp_point_select");
    database.execute("CREATE TABLE nobody_asks_for (id INT)");
    run("oltp_point_select");
    let found = differences(&lab);
    let of_tables = |found: &[[String; 3]]| {
        let others = |d: &&[String; 3]| d[0].starts_with("table") && !d[0].ends_with("statistics");
        found.iter().filter(others).count()
    };
    assert_eq!(of_tables(&found), 0, "{found:#?}");
    database.execute("ALTER TABLE sbtest1 ENGINE=Aria");
    run("oltp_point_select");
    changed("table sbtest1 ENGINE", "InnoDB", "Aria");
    let found = differences(&lab);
    assert_eq!(of_tables(&found), 1, "{found:#?}");
    has(
        &lab.dyno("compare 2 3").success(),
        &["table sbtest1 ENGINE: InnoDB → Aria"],
    );
    database.execute("ALTER TABLE sbtest1 DROP KEY k_1, COLLATE utf8mb4_bin");
    run("oltp_point_select");
    changed("table sbtest1 index k_1", "KEY (`k`)", "(not there)");
    let shown = lab.dyno("show 1 --facts").success();
    has(
        &shown,
        &["CREATE TABLE `sbtest1`", "ENGINE=InnoDB", "filesystem.type"],
    );
    let shown = lab.json("show 1 --json");
    let table = &shown["tables"][0];
    assert_eq!(table["label"], "sbtest1", "{shown:#}");
    assert_eq!(table["engine"], "InnoDB");
    assert_eq!(table["used"], true);
    let kept = "SELECT value FROM fact WHERE run_id = 4 AND name = 'db.table[sbtest1].definition'";
    assert!(lab.sql(kept)[0][0].contains("utf8mb4_bin"));
}

#[test]
fn reports_an_unlogged_table_and_a_lost_index_on_postgresql() {
    let lab = Lab::new();
    let (database, target) = prepared(&lab, Kind::Postgres);
    let line = format!("run oltp_point_select {target} {LONGER} -c 2");
    lab.dyno(&line).success();
    database.execute("ALTER TABLE sbtest1 SET UNLOGGED");
    database.execute("DROP INDEX k_1");
    lab.dyno(&line).success();
    let found = differences(&lab);
    let wanted = ["table sbtest1 persistence", "permanent", "unlogged"].map(str::to_owned);
    assert!(found.contains(&wanted), "{found:#?}");
    let index = found.iter().find(|d| d[0] == "table sbtest1 index k_1");
    assert_eq!(
        index.map(|d| d[2].as_str()),
        Some("(not there)"),
        "{found:#?}"
    );
}

/// Records a run for each of these pauses between events, in milliseconds.
fn slept(lab: &Lab, gaps: &[u32]) {
    let script = lab.file(
        "steps.lua",
        "sysbench.cmdline.options = { gap = {'milliseconds', 1} }\n\
         function thread_init() end\n\
         function event() dyno.sleep(sysbench.opt.gap / 1000) end\n",
    );
    for gap in gaps {
        lab.dyno(&format!("run {script} --gap={gap} -c 2 {LONGER}"))
            .success();
    }
}

#[test]
fn a_margin_answers_the_same_different_or_undecided() {
    let lab = Lab::new();
    slept(&lab, &[25, 25, 25, 100, 100, 100]);
    // A run against itself is the same within any margin that its own interval fits.
    let same = lab.dyno("compare 1 1 --equivalent 50%").success();
    has(&same, &["margin The same within 50 %: the 90 % interval"]);
    let same = lab.json("compare 1 1 --equivalent 50% --json");
    let latency = metric(&same[0], "latency, mean");
    assert_eq!(latency["equivalence"]["answer"], "same", "{latency}");
    // A margin that is narrower than any interval, which contains 1.
    let narrow = "compare 1 1 --equivalent 0.0001%";
    let latency = metric(&lab.json(&format!("{narrow} --json"))[0], "latency, mean").clone();
    let test = &latency["equivalence"];
    if test["answer"] == "undecided" {
        let needed = test["needs"]["seconds_a_side"].as_f64();
        // Each side has 3 s.
        assert!(needed.is_some_and(|seconds| seconds > 2.0), "{latency}");
        has(&lab.dyno(narrow).success(), &[": undecided, "]);
    } else {
        // Only equal intervals of time have no variation.
        let [low, high] = ["low", "high"].map(|end| latency[end].as_f64().unwrap());
        assert!(high - low < 1e-5, "{latency}");
    }
    // Rates that differ by a factor of about 4.
    let line = "compare 1,2,3 4,5,6 --equivalent 2%";
    let compared = lab.json(&format!("{line} --fail-if 'rate < 0.01x' --json"));
    let compared = &compared[0];
    assert_eq!(compared["equivalent_within"], 0.02);
    let test = &metric(compared, "events")["equivalence"];
    assert_eq!(test["margin"], 0.02);
    assert!(test["low"].is_number(), "{test}");
    assert_eq!(&compared["thresholds"][0]["equivalence"], test);
    let answer = test["answer"].as_str().unwrap();
    assert!(["different", "undecided"].contains(&answer), "{test}");
    let text = lab.dyno(&format!("{line} --fail-if 'rate < 0.01x'"));
    has(
        &text,
        &[
            &format!(": {answer}"),
            "rate < 0.01x: 0.",
            &format!("); {answer}"),
        ],
    );
    // Without the option there are no tests.
    let plain = lab.json("compare 1,2,3 4,5,6 --json");
    assert!(plain[0].get("equivalent_within").is_none());
    assert!(metric(&plain[0], "events").get("equivalence").is_none());
    for wrong in ["2", "0%", "100%"] {
        let output = lab.dyno(&format!("compare 1 4 --equivalent {wrong}"));
        has(&output.failure(2), &["is not a percentage above 0", "2%"]);
    }
}
