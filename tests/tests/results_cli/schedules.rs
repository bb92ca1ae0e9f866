//! A load that changes over time, on real servers. Each part has its own figures.

use dyno_core::plan::{LoadSchedule, Scheduled};
use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{Lab, has, prepared, worst};

fn parts(result: &Value) -> &Vec<Value> {
    result["parts"].as_array().unwrap()
}

/// Whether a Poisson count is within four standard deviations of its expectation.
fn within(count: f64, due: f64) -> bool {
    (count - due).abs() <= 4.0 * due.sqrt()
}

#[test]
fn each_step_of_the_rate_has_the_requested_arrivals() {
    let lab = Lab::new();
    let (_database, server) = prepared(&lab, Kind::Mariadb);
    let text = "60/s for 4s, 180/s for 4s, 60/s..180/s over 4s";
    let line = format!("run oltp_point_select {server} -c 8 --warmup 1s --calibrate never");
    let shown = lab.dyno(&format!("{line} --rate '{text}'")).success();
    has(
        &shown,
        &[
            "arrivals at 60/s → 180/s → 60/s..180/s",
            "part time offered/s tx/s",
            "of 180/s",
        ],
    );
    let result = lab.json("show 1 --json");
    let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
    assert_eq!(
        result["drive"]["schedule"],
        serde_json::to_value(&schedule).unwrap()
    );
    assert_eq!(result["drive"]["time_s"], 12.0);
    let parts = parts(&result);
    assert_eq!(parts.len(), 3);
    for (part, placed) in parts.iter().zip(schedule.placed()) {
        assert_eq!(part["label"], placed.label);
        assert_eq!(part["from_s"], placed.from_s);
        let due = placed.part.mean() * 4.0;
        let served = part["totals"]["events"].as_f64().unwrap();
        assert!(within(served, due), "{part:#}");
        assert_eq!(part["latency"]["count"].as_f64(), Some(served));
        assert!(part["verdict"].is_string());
    }
    // The verdict of the run is its worst finding.
    assert_eq!(result["verdict"], worst(&result));
    // Each interval has the number of its part.
    let csv = lab.dyno("export 1 --format csv").success().stdout;
    let mut lines = csv.lines();
    assert!(
        lines.next().unwrap().ends_with("part,offered_per_s"),
        "{csv}"
    );
    assert!(csv.lines().any(|line| line.ends_with(",2,180")), "{csv}");
    has(&lab.dyno("list runs"), &["8, 60/s → 180/s → 60/s..180/s"]);
    // The plan repeats the schedule.
    let plan = lab.dyno("show 1 --plan").success().stdout;
    lab.file("p.json", &plan);
    let parsed: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(lab.json("run --plan p.json --plan"), parsed);
    // `--rate` replaces the schedule of a plan.
    let other = lab.json("run --plan p.json --rate 50/s -t 3s --plan");
    assert!(other["drive"].get("schedule").is_none(), "{other:#}");
    // A run at a single rate must not be confused with it.
    lab.dyno(&format!("{line} --rate 100/s -t 1s -q")).success();
    let compared = lab.dyno("compare 1 2");
    has(&compared, &[text, "rate"]);
    lab.dyno("report 1 -o r.html").success();
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.contains("Parts of the load"));
}

#[test]
fn sessions_follow_their_schedule() {
    let lab = Lab::new();
    let (_database, server) = prepared(&lab, Kind::Postgres);
    // A script that prints the session and the second of each event.
    let script = lab.file(
        "who.lua",
        "local begun, seen\n\
         function thread_init() seen = {} end\n\
         function event()\n\
           begun = begun or dyno.now()\n\
           dyno.sleep(0.05)\n\
         end\n",
    );
    let line = "-c '1 for 3s, 4 for 3s, 2 for 3s' --warmup 0 --calibrate never -q --json";
    let target = server.split(" --table-size").next().unwrap();
    let result = lab.json(&format!("run {script} {target} {line}"));
    let parts = parts(&result);
    // Each session makes twenty events per second. An event in flight ends in the next part, and a
    // busy machine makes fewer.
    for (part, sessions) in parts.iter().zip([1_u64, 4, 2]) {
        assert_eq!(part["sessions"], sessions);
        let events = part["totals"]["events"].as_u64().unwrap();
        assert!(events <= sessions * 60 + 4, "{part:#}");
        assert!(events > (sessions - 1) * 60, "{part:#}");
    }
    assert_eq!(result["drive"]["sessions"], 4);
    let check = |name: &str| crate::common::finding(&result, name)["outcome"].clone();
    assert_eq!(check("idle-sessions"), "not_checked");
    assert_eq!(check("fairness"), "not_checked");
    // The parts have latencies even without a results file.
    let line = line.replace("for 3s", "for 1s");
    let without = lab.json(&format!("run {script} {target} {line} --results none"));
    for part in without["parts"].as_array().unwrap() {
        assert_eq!(part["latency"]["count"], part["totals"]["events"]);
    }
}

#[test]
fn saturate_climbs_within_one_run() {
    let lab = Lab::new();
    let (_database, server) = prepared(&lab, Kind::Mysql);
    let line = format!(
        "saturate oltp_point_select {server} --ladder 1,2,4 --in-one-run -t 2s --warmup 0 \
         --calibrate never -q"
    );
    let shown = lab.dyno(&line).success();
    has(&shown, &["sessions tx/s gain", "knee", "parts of one run"]);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1.0);
    let result = lab.json("show 1 --json");
    let sessions: Vec<u64> = (parts(&result).iter())
        .map(|part| part["sessions"].as_u64().unwrap())
        .collect();
    assert_eq!(sessions, [1, 2, 4]);
    let found = lab.json(&format!("{line} --json"));
    assert_eq!(found["in_one_run"], true);
    assert_eq!(found["steps"][2]["sessions"], 4);
}
