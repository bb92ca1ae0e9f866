//! Runs whose process was killed.

use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::Kind;

use crate::common::{LIMIT, Lab, has, prepared};

#[test]
fn a_killed_run_keeps_its_intervals() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    let line = format!(
        "run oltp_point_select {target} -c 2 -t 600s --warmup 0 --calibrate never \
         --interval 200ms"
    );
    let running = lab.start(&line);
    let deadline_ns = Clock.now() + LIMIT.as_nanos() as u64;
    let recorded = || match lab.path("dyno.db").exists() {
        true => lab.number("SELECT count(*) FROM interval"),
        false => 0.0,
    };
    // The file exists before its tables are created.
    thread::sleep(Duration::from_secs(1));
    while recorded() < 5.0 {
        assert!(Clock.now() < deadline_ns, "no intervals are recorded");
        thread::sleep(Duration::from_millis(50));
    }
    has_running(&lab);
    let before = recorded();
    running.signal(libc::SIGKILL);
    let output = running.finish(LIMIT);
    let printed = output.stderr.matches(" tx/s ").count() as f64;
    assert!(printed >= 5.0, "{output:?}");
    let kept = recorded();
    assert!(kept >= before, "{kept} < {before}");
    assert!(
        kept + 1.0 >= printed,
        "{printed} were printed, {kept} are recorded"
    );

    let listed = lab.dyno("list runs").success();
    has(&listed, &["1", "oltp_point_select", "unfinished"]);
    assert_eq!(lab.json("list runs --json")[0]["state"], "unfinished");
    for (state, runs) in [("unfinished", 1), ("running", 0), ("completed", 0)] {
        let lines = lab.json(&format!("list runs --json --state {state}"));
        assert_eq!(lines.as_array().unwrap().len(), runs, "{state}: {lines:#}");
    }
    let shown = lab.dyno("show").success();
    has(
        &shown,
        &["oltp_point_select on MariaDB", "transactions", "p95"],
    );
    let result = lab.json("show --json");
    assert_eq!(result["intervals"].as_array().unwrap().len() as f64, kept);
    let events = lab.number("SELECT sum(events) FROM interval");
    assert_eq!(result["totals"]["events"].as_f64().unwrap(), events);
    assert_ne!(result["end"]["how"], "completed");
    // More runs can be added to the file.
    lab.dyno(&format!(
        "run oltp_point_select {target} -t 1s --warmup 0 --calibrate never -q"
    ))
    .success();
    assert_eq!(lab.json("list runs --json").as_array().unwrap().len(), 2);
}

fn has_running(lab: &Lab) {
    let lines = lab.json("list runs --json");
    assert_eq!(lines[0]["state"], "running", "{lines:#}");
    lab.dyno("show").success();
}

#[test]
fn the_record_shows_that_a_run_was_interrupted_or_failed() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let line = format!("run oltp_point_select {target} -t 600s --warmup 0");
    let running = lab.start(&line);
    thread::sleep(Duration::from_secs(3));
    running.signal(libc::SIGINT);
    running.finish(LIMIT).failure(130);
    assert_eq!(lab.json("list runs --json")[0]["state"], "interrupted");
    has(&lab.dyno("show").success(), &["stopped early"]);

    let text = "local n = 0 function event() n = n + 1 if n > 7 then error('boom') end end";
    let script = lab.file("fails.lua", text);
    lab.dyno(&format!("run {script} -t 5s --warmup 0"))
        .failure(1);
    assert_eq!(lab.json("list runs --json")[1]["state"], "failed");
    has(&lab.dyno("show").success(), &["failed", "boom"]);
    // The run fails before there is anything to summarize.
    let text = "function thread_init() error('no way in') end function event() end";
    let script = lab.file("init.lua", text);
    lab.dyno(&format!("run {script} -t 5s --warmup 0"))
        .failure(1);
    assert_eq!(lab.json("list runs --json")[2]["state"], "failed");
    has(&lab.dyno("show").success(), &["failed", "no way in"]);
}

#[test]
fn a_run_that_ends_before_its_measurement_has_no_interval() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    for (number, before) in ["--warmup 600s", "--warmup 0 --ramp-up 600s"]
        .iter()
        .enumerate()
    {
        let line =
            format!("run oltp_point_select {target} -c 4 -t 600s {before} --calibrate never");
        let running = lab.start(&line);
        thread::sleep(Duration::from_secs(3));
        running.signal(libc::SIGINT);
        running.finish(LIMIT);
        let runs = lab.number("SELECT count(*) FROM run WHERE state = 'interrupted'");
        assert_eq!(runs, number as f64 + 1.0, "{before}");
        assert_eq!(lab.number("SELECT count(*) FROM interval"), 0.0, "{before}");
    }
}
