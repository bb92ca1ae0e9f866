//! The output of runs, which other programs parse.

use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_tests::command::{Running, dyno_path};
use dyno_tests::{Database, Kind, dyno, sysbench};

use super::{assert_matches, body, figure, ours, ours_on, theirs, theirs_on, words};

const NUMBER: &str = r"\d+\.\d\d";

#[test]
fn a_report_has_sysbenchs_lines() {
    // Only figures may differ: with `#` in place of each, both print the same.
    let shape = |text: &str| {
        let figures = regex::Regex::new(r" *\d+(\.\d+)?").expect("a valid expression");
        figures.replace_all(text, "#").into_owned()
    };
    let database = Database::new(Kind::Mariadb);
    for line in [
        "empty --events=10 --rand-seed=3 run",
        "empty --events=10 --threads=2 --percentile=0 --report-interval=5 run",
        "empty --events=10 --num-threads=2 --rand-seed=9 --validate --tx-rate=100 run",
    ] {
        let [ours, theirs] = [ours(line).success(), theirs(line).success()];
        assert_eq!(shape(body(&ours)), shape(body(&theirs)), "{line}");
    }
    let line = "select_one --events=10 --threads=2 run";
    let [ours, theirs] = [ours_on(&database, line), theirs_on(&database, line)];
    assert_eq!(shape(body(&ours.success())), shape(body(&theirs.success())));
}

#[test]
fn figures_are_where_programs_look() {
    let database = Database::new(Kind::Mariadb);
    let line = "select_one --threads=4 --events=103 --time=0 run";
    let text = ours_on(&database, line).success().stdout;
    let tps = regex::Regex::new(r"transactions: *(\d+) *\(([\d.]+) per sec").expect("valid");
    let found = tps.captures(&text).expect("transactions");
    assert_eq!(&found[1], "103");
    let rate: f64 = found[2].parse().expect("a number");
    let elapsed_s = figure(&text, "total time:");
    // The time is printed in tenths of milliseconds.
    let (low, high) = (
        103.0 / (elapsed_s + 1e-4),
        103.0 / (elapsed_s - 1e-4).max(1e-9),
    );
    assert!((low..=high).contains(&rate), "{text}");
    for (label, value) in [
        ("read:", 103.0),
        ("write:", 0.0),
        ("total:", 103.0),
        ("queries:", 103.0),
    ] {
        assert_eq!(figure(&text, label), value, "{label}\n{text}");
    }
    assert_eq!(figure(&text, "total number of events:"), 103.0);
    let [min, avg, max] = ["min:", "avg:", "max:"].map(|label| figure(&text, label));
    assert!(min <= avg && avg <= max, "{text}");
    assert_matches(
        text.lines()
            .find(|line| line.contains("percentile"))
            .expect("a percentile"),
        r" {9}95th percentile: +\d+\.\d\d",
    );
}

#[test]
fn intermediate_lines_are_sysbenchs() {
    let database = Database::new(Kind::Mariadb);
    let line = "select_one --threads=2 --time=2 --report-interval=1 run";
    let text = ours_on(&database, line).success().stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("[ ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    let classes = format!(r"\(r/w/o: {NUMBER}/{NUMBER}/{NUMBER}\)");
    let latency = format!(r"lat \(ms,95%\): {NUMBER}");
    let errors = format!("err/s: {NUMBER} reconn/s: {NUMBER}");
    for (second, line) in (1..).zip(&lines) {
        let pattern = format!(
            r"\[ {second}s \] thds: \d tps: {NUMBER} qps: {NUMBER} {classes} {latency} {errors}"
        );
        assert_matches(line, &pattern);
    }
    let text = ours("sleeps --threads=2 --time=2 --report-interval=1 run")
        .success()
        .stdout;
    let first = text
        .lines()
        .find(|line| line.starts_with("[ "))
        .expect("a line");
    assert_matches(
        first,
        &format!(r"\[ 1s \] thds: 2 eps: {NUMBER} lat \(ms,95%\): {NUMBER}"),
    );
}

#[test]
fn an_open_loop_reports_its_queue() {
    let line = "sleeps --threads=2 --time=2 --rate=10 --report-interval=1 run";
    let text = ours(line).success().stdout;
    assert!(text.contains("Target transaction rate: 10/sec\n"), "{text}");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("queue length"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_matches(lines[0], r"\[ 1s \] queue length: \d+ concurrency: \d+");
    let database = Database::new(Kind::Mariadb);
    let line = "select_one --threads=2 --time=1 --rate=10 --report-interval=1 run";
    let text = ours_on(&database, line).success().stdout;
    let line = text
        .lines()
        .find(|line| line.contains("queue length"))
        .expect("a line");
    assert_matches(line, r"\[ 1s \] queue length: \d+, concurrency: \d+");
}

#[test]
fn checkpoints_cut_the_run_without_gaps() {
    let database = Database::new(Kind::Mariadb);
    let line = "select_one --threads=2 --time=3 --report-checkpoints=1,2 run";
    let output = ours_on(&database, line).success();
    let parts: Vec<&str> = body(&output).split(" Checkpoint report:\n").collect();
    assert_eq!(parts.len(), 3, "{output:?}");
    assert!(parts[0].contains("Report checkpoint(s) at 1, 2 seconds\n"));
    assert!(parts[0].ends_with("[ 1s ]") && parts[1].ends_with("[ 2s ]"));
    let total = format!("{}\n", parts[2]);
    for text in [parts[1], &total] {
        assert!(figure(text, "total number of events:") > 0.0, "{text}");
        assert!(!text.contains("fairness"), "nothing is known of it: {text}");
    }
    // A part covers one second, so its rate is its number of events.
    let events = figure(parts[1], "total number of events:");
    let rate = regex::Regex::new(r"transactions: *\d+ *\(([\d.]+) per").expect("valid");
    let rate: f64 = rate.captures(parts[1]).expect("a rate")[1]
        .parse()
        .expect("a number");
    assert!((0.9..1.1).contains(&(rate / events)), "{output:?}");
}

#[test]
fn a_histogram_has_sysbenchs_columns() {
    let text = ours("sleeps --events=3 --time=0 --histogram run")
        .success()
        .stdout;
    let (_, rest) = text
        .split_once(
            "Latency histogram (values are in milliseconds)\n       \
             value  ------------- distribution ------------- count\n",
        )
        .expect("a histogram");
    let mut count = 0;
    for line in rest.lines().take_while(|line| line.contains('|')) {
        assert_matches(line, r" *\d+\.\d{3} \|[* ]{40} \d+");
        count += line
            .rsplit(' ')
            .next()
            .and_then(|n| n.parse::<u32>().ok())
            .expect("a count");
    }
    assert_eq!(count, 3, "{text}");
}

#[test]
fn reports_warm_up_and_debug() {
    let text = ours("sleeps --time=1 --warmup-time=1 --debug --threads=2 run")
        .success()
        .stdout;
    assert!(text.contains("Warmup time: 1s\n"), "{text}");
    assert!(text.contains("Warming up for 1 seconds...\n"), "{text}");
    assert!(text.contains("Debug mode enabled.\n\n"), "{text}");
    let threads =
        r"DEBUG:     thread #  \d: min: 0\.\d{4}s  avg: 0\.\d{4}s  max: 0\.\d{4}s  events: \d+";
    let regex = regex::Regex::new(threads).expect("valid");
    assert_eq!(regex.find_iter(&text).count(), 2, "{text}");
    // Two sessions with events of 50 ms make at most 20 a second each, plus one event in flight
    // each.
    assert!(figure(&text, "total number of events:") <= 42.0, "{text}");
}

#[test]
fn an_error_in_an_event_ends_the_run_with_its_statistics() {
    let output = ours("fails_in_event run").failure(1);
    let fatal = "FATAL: `thread_run' function failed: ";
    assert!(output.stdout.contains(fatal) && output.stdout.contains(": the fifth\n"));
    assert_eq!(figure(&output.stdout, "total number of events:"), 4.0);
    let theirs = theirs("fails_in_event run").failure(1);
    assert!(theirs.stdout.contains(fatal), "{theirs:?}");
}

#[test]
fn an_error_in_initialisation_ends_before_the_run() {
    for output in [
        ours("fails_in_init --threads=2 run"),
        theirs("fails_in_init run"),
    ] {
        let text = output.failure(1).stdout;
        assert!(
            text.contains("FATAL: `thread_init' function failed: "),
            "{text}"
        );
        assert!(text.contains(": not today\n"), "{text}");
        assert!(text.contains(" initialization failed!\n"), "{text}");
        assert!(!text.contains("Threads started!"), "{text}");
    }
}

#[test]
fn a_forced_shutdown_prints_a_report_and_the_reason() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let database = Database::new(kind);
        let output = ours_on(
            &database,
            "hangs --threads=2 --time=1 --forced-shutdown=0 run",
        );
        let text = output.failure(2).stdout;
        assert!(text.contains("Forcing shutdown in 1 seconds\n"), "{text}");
        let unfinished = "FATAL: The --max-time limit has expired, forcing shutdown...\n\
                          Number of unfinished transactions on forced shutdown: 2\n";
        assert!(text.contains(unfinished), "{text}");
        assert!(
            text.contains("total number of events:              0\n"),
            "{text}"
        );
    }
}

#[test]
fn report_hooks_replace_the_text() {
    let database = Database::new(Kind::Mariadb);
    let line = "hooks_json --time=2 --report-interval=1 run";
    let output = ours_on(&database, line).success();
    let csv: Vec<&str> = output
        .stdout
        .lines()
        .filter(|line| line.contains(','))
        .collect();
    let columns = format!(r"\d+,\d+(,{NUMBER}){{8}}");
    for line in &csv[..2] {
        assert_matches(line, &columns);
    }
    let json = &output.stdout[output.stdout.find("[\n").expect("an array")..];
    let reports: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let report = &reports[0];
    assert_eq!(reports.as_array().map(Vec::len), Some(1));
    assert_eq!(report["time"], 2);
    assert_eq!(report["qps"]["reads"], report["qps"]["total"]);
    assert!(
        report["tps"].as_f64().is_some_and(|tps| tps > 0.0),
        "{json}"
    );
    assert!(!output.stdout.contains("SQL statistics"));
    for run in [ours, theirs] {
        let output = run("hooks_stat --time=2 --report-checkpoints=1 run").success();
        let (_, rest) = output
            .stdout
            .split_once("[ 1s ] Checkpoint report:\n")
            .expect("a checkpoint");
        assert_eq!(rest.matches("running\t").count(), 2, "{output:?}");
    }
    let output = ours("hooks_stat --events=5 run").success();
    let fields = "concurrency errors events latency_avg latency_max latency_min latency_pct \
                  latency_sum other queue_length reads reconnects threads_running time_interval \
                  time_total writes\nrunning\t0\t5\n";
    assert!(output.stdout.ends_with(fields), "{output:?}");
}

#[test]
fn a_loop_of_the_scripts_own_counts_events_and_errors() {
    let database = Database::new(Kind::Mariadb);
    let line = "own_loop --threads=2 --events=20 --time=0 run";
    for output in [ours_on(&database, line), theirs_on(&database, line)] {
        let text = output.success().stdout;
        assert_eq!(figure(&text, "transactions:"), 20.0, "{text}");
        assert_eq!(figure(&text, "ignored errors:"), 20.0, "{text}");
    }
}

#[test]
fn a_report_function_that_does_not_return_fails_the_run() {
    let mut line = vec!["sysbench".to_owned()];
    line.extend(words("hooks_hang --time=2 --report-interval=1 run"));
    let running = Running::start(Command::new(dyno_path()).args(line));
    thread::sleep(Duration::from_secs(4));
    for _ in 0..2 {
        running.signal(libc::SIGINT);
        thread::sleep(Duration::from_millis(200));
    }
    let output = running.finish(Duration::from_secs(60)).failure(1);
    let why = "FATAL: `report_intermediate' function failed: it was stopped by the user";
    assert!(output.stdout.contains(why), "{output:?}");
    assert!(
        output.stdout.contains("total number of events"),
        "{output:?}"
    );
}

#[test]
fn waits_for_a_slow_report_function() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("slow.lua");
    let text = "ffi = require('ffi')\n\
                ffi.cdef('int usleep(unsigned)')\n\
                function event() ffi.C.usleep(10000) end\n\
                function sysbench.hooks.report_intermediate()\n\
                  os.execute('sleep 5')\n\
                  print('reported')\n\
                end\n";
    std::fs::write(&script, text).unwrap();
    let script = script.display().to_string();
    let line = [script.as_str(), "--time=2", "--report-interval=1", "run"];
    let output = dyno(["sysbench"].into_iter().chain(line)).success();
    assert!(output.stdout.contains("reported"), "{output:?}");
    sysbench(line).success();
}
