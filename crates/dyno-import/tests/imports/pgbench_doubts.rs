//! pgbench outputs with figures that are incomplete or cannot all be true.

// Clippy does not treat test helpers as tests.

use crate::common;
use dyno_core::catalogue::names;
use dyno_core::record::RunRecord;
use dyno_core::summary::RunEnd;
use dyno_import::Tool;
use dyno_samples::assert_has;

const STAMPED: &str = text!("pgbench-timestamps.out");
const THROTTLED: &str = text!("pgbench-rate.out");
const SCRIPTS: &str = text!("pgbench-scripts.out");

fn read(text: &str) -> RunRecord {
    common::read(Tool::Pgbench, text).runs.remove(0)
}

fn contradicts(text: &str, expected: &str) {
    let run = read(text);
    let found = run.fact("import.contradictions").unwrap_or_default();
    assert_has(found, expected);
}

fn rate(text: &str) -> f64 {
    read(text).summary.unwrap().rates.events_per_s
}

/// Replaces the rest of the line that begins with this.
fn with(log: &str, begins: &str, rest: &str) -> String {
    assert!(log.lines().any(|line| line.starts_with(begins)), "{begins}");
    let lines = log.lines().map(|line| match line.starts_with(begins) {
        true => format!("{begins}{rest}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn real_outputs_contradict_nothing() {
    for text in [
        STAMPED,
        THROTTLED,
        SCRIPTS,
        text!("pgbench-many-clients.out"),
        text!("pgbench-no-statement.out"),
        text!("pgbench-all-failed.out"),
        text!("pgbench-slow-end.out"),
        text!("pgbench-late-end.out"),
    ] {
        let run = read(text);
        for fact in ["import.contradictions", "import.cut_off"] {
            assert_eq!(run.fact(fact), None, "{text}");
        }
    }
    // The clients connected for most of the first second.
    let run = read(text!("pgbench-many-clients.out"));
    let stalls = dyno_analysis::stalls::of_run(&run).unwrap().stalls;
    assert_eq!((run.intervals.len(), stalls.len()), (11, 0));
}

#[test]
fn clients_cannot_be_busier_than_there_are() {
    let slow = with(THROTTLED, "latency average = ", "400 ms");
    contradicts(&slow, "keep 24.6 clients busy, but there were 2");
    let slow = with(STAMPED, "latency average = ", "5.7 ms");
    contradicts(&slow, "keep 196.6 clients busy, but there were 2");
}

#[test]
fn clients_that_never_wait_are_all_busy() {
    let idle = with(STAMPED, "latency average = ", "0.027 ms");
    let alone = |log: &str, threads: &str| with(log, "number of threads: ", threads);
    contradicts(
        &alone(&idle, "2"),
        "keep 1.0 clients busy, but there were 2",
    );
    // The clients of one thread wait for their turn.
    let shared = read(&alone(&idle, "1"));
    let found = shared.fact("import.contradictions").unwrap_or_default();
    assert!(!found.contains("busy"), "{found}");
    let idle = alone(&with(STAMPED, "number of clients: ", "4"), "4");
    contradicts(&idle, "keep 2.0 clients busy, but there were 4");
    // With a rate they wait, and with a count per client some clients may finish earlier.
    let rated = with(THROTTLED, "number of clients: ", "40");
    assert_eq!(read(&rated).fact("import.contradictions"), None);
    let idle = idle.replace("duration: 3 s", "number of transactions per client: 9");
    let contradictions = read(&idle).fact("import.contradictions").map(str::to_owned);
    assert!(!contradictions.unwrap_or_default().contains("busy"));
}

#[test]
fn a_mean_that_old_versions_compute_is_without_the_time_to_connect() {
    let text = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
                number of clients: 2\nnumber of threads: 1\nduration: 2 s\n\
                number of transactions actually processed: 400\nlatency average = 10.000 ms\n\
                tps = 200.000000 (including connections establishing)\n\
                tps = 400.000000 (excluding connections establishing)\n";
    let run = read(text);
    assert_eq!(run.fact("import.contradictions"), None);
    let summary = run.summary.unwrap();
    assert_eq!(
        (summary.service.mean_ms, summary.rates.events_per_s),
        (Some(5.0), 200.0)
    );
    let warnings = summary.warnings.join(" ");
    assert_has(&warnings, "includes connecting, on average 5.000 ms");
}

#[test]
fn a_rate_is_that_of_the_count_and_the_duration() {
    let fast = with(
        THROTTLED,
        "tps = ",
        "999999.0 (without initial connection time)",
    );
    contradicts(
        &fast,
        "183 transactions at 999999.0 per second take 0.0 s, but the report's duration is 3.0 s; \
         the rate is that of count and duration",
    );
    assert_eq!(rate(&fast), 61.0);
    let slow = with(THROTTLED, "tps = ", "1.0 (without initial connection time)");
    contradicts(&slow, "take 183.0 s, but the report's duration is 3.0 s");
    assert_eq!(rate(&slow), 61.0);
    let long = with(STAMPED, "duration: ", "300 s");
    contradicts(&long, "the report's duration is 300.0 s");
    // The rate and the latency agree, so the duration is wrong.
    assert_eq!(rate(&long), rate(STAMPED));
}

#[test]
fn a_length_that_count_and_rate_imply_needs_another_source() {
    let log = |lines: u32| {
        let lines: Vec<String> = (1..=lines)
            .map(|at_s| {
                let per_s = 5000.0 / f64::from(lines);
                format!("progress: {at_s}.0 s, {per_s:.1} tps, lat 40.000 ms stddev 1.000\n")
            })
            .collect();
        format!(
            "pgbench (17.2)\n{}transaction type: <builtin: select only>\nscaling factor: 1\n\
             query mode: simple\nnumber of clients: 4\nnumber of threads: 4\n\
             maximum number of tries: 1\nduration: 10 s\n\
             number of transactions actually processed: 5000\n\
             number of failed transactions: 0 (0.000%)\nlatency average = 40.000 ms\n\
             latency stddev = 1.000 ms\ninitial connection time = 5.000 ms\n\
             tps = 100.000000 (without initial connection time)\n",
            lines.concat()
        )
    };
    for (lines, measured_s) in [(10, 10.0), (0, 10.0), (50, 50.0)] {
        let text = log(lines);
        contradicts(&text, "take 50.0 s, but the report's duration is 10.0 s");
        // Rate and latency agree.
        let summary = read(&text).summary.unwrap();
        let found = (summary.rates.events_per_s, summary.measured_s);
        assert_eq!(found, (100.0, measured_s), "{lines} lines");
    }
}

#[test]
fn the_time_to_connect_is_in_the_duration() {
    let tps = "45946.222 (without initial connection time)";
    let slow = with(STAMPED, "tps = ", tps);
    let slow = with(&slow, "initial connection time = ", "750.000 ms");
    let slow = with(&slow, "latency average = ", "0.043 ms");
    let run = read(&slow);
    assert_eq!(run.fact("import.implied_time_s"), Some("3.000"));
    assert_eq!(run.fact("import.contradictions"), None);
}

#[test]
fn progress_lines_belong_to_the_same_run() {
    let times = |factor: f64| {
        let line = |line: &str| match line.split_once(" s, ") {
            Some((before, rest)) if line.starts_with("progress: ") => {
                let (tps, behind) = rest.split_once(" tps").unwrap();
                let tps: f64 = tps.parse().unwrap();
                format!("{before} s, {:.1} tps{behind}", tps * factor)
            }
            _ => line.to_owned(),
        };
        STAMPED.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    contradicts(
        &times(10.0),
        "contain about 1033800 transactions, but the report says 103382",
    );
    contradicts(&times(0.1), "contain about 10338 transactions");
    assert_eq!(read(&times(1.0)).fact("import.contradictions"), None);
}

#[test]
fn no_part_is_more_than_the_whole() {
    let late = THROTTLED.replace("0/183 (0.000%)", "500/183 (273.224%)");
    contradicts(
        &late,
        "500 of 183 transactions were above the limit of 3 ms",
    );
    let above = THROTTLED.replace("0/183 (0.000%)", "183/100 (183.000%)");
    contradicts(&above, "183 of 100 transactions were above the limit");
    let twice = SCRIPTS.replace(" transactions (", "0 transactions (");
    contradicts(&twice, "the scripts have ");
}

#[test]
fn a_run_that_was_aborted_failed() {
    for line in [
        "Run was aborted; the above results are incomplete.",
        "pgbench: error: Run was aborted; the above results are incomplete.",
        "pgbench: fatal: Run was aborted; the above results are incomplete.",
        "pgbench: error: client 1 aborted in command 1 (SQL) of script 0; perhaps the backend died",
        "Client 3 aborted in state 7: ERROR:  deadlock detected",
    ] {
        let run = read(&format!("{STAMPED}\n{line}\n"));
        let end = run.summary.unwrap().end;
        assert!(
            matches!(&end, RunEnd::Failed(why) if why.contains("aborted")),
            "{end:?}"
        );
    }
    assert_eq!(read(STAMPED).summary.unwrap().end, RunEnd::Completed);
    // Standard error before standard output.
    let before = "pgbench: error: client 1 script 0 aborted in command 2 query 0: ERROR:  x\n";
    let end = read(&format!("{before}{STAMPED}")).summary.unwrap().end;
    assert!(
        matches!(&end, RunEnd::Failed(why) if why.contains("aborted")),
        "{end:?}"
    );
}

#[test]
fn keeps_skipped_counts_and_reports_a_missing_end() {
    let skipped = with(
        THROTTLED,
        "number of transactions skipped: ",
        "5000 (96.469%)",
    );
    let run = read(&skipped);
    assert_eq!(run.summary.unwrap().latency_limit.unwrap().skipped, 5000);
    assert_eq!(run.head.drive.unwrap().sessions, 2);
    let cut = &THROTTLED[..THROTTLED.find("latency average").unwrap()];
    for (count, expected) in [
        (9, "9 transactions were skipped because they were too late"),
        (1, "1 transaction was skipped because it was too late"),
    ] {
        let skipped = format!("lag 0.124 ms, {count} skipped");
        let run = read(&cut.replace("lag 0.124 ms, 0 skipped", &skipped));
        assert!(run.fact(names::IMPORT_CUT_OFF).is_some());
        assert_has(&run.summary.unwrap().warnings.join(" "), expected);
    }
}

#[test]
fn an_impossible_lag_leaves_the_service_time_unknown() {
    let service = |run: &RunRecord| {
        let summary = run.summary.clone().unwrap();
        assert_eq!(summary.response.unwrap().count, 183);
        (
            summary.service.count,
            run.not_observed("service.mean_ms").is_some(),
        )
    };
    assert_eq!(service(&read(THROTTLED)), (183, false));
    for (lag, expected) in [
        (
            "avg 9.142 (max 2.165) ms",
            "9.142 ms, is above the maximum, 2.165 ms",
        ),
        (
            "avg 1.142 (max 2.165) ms",
            "1.142 ms, is above the mean latency, 0.935 ms",
        ),
    ] {
        let changed = with(THROTTLED, "rate limit schedule lag: ", lag);
        contradicts(&changed, expected);
        assert_eq!(service(&read(&changed)), (0, true));
    }
}

#[test]
fn counts_and_shares_agree() {
    let failed = with(THROTTLED, "number of failed transactions: ", "6 (0.000%)");
    contradicts(
        &failed,
        "6 failed transactions of 189 are 3.175 %, but the log says 0.000 %",
    );
    let failed = with(THROTTLED, "number of failed transactions: ", "6 (3.175%)");
    assert_eq!(read(&failed).fact("import.contradictions"), None);
    let counted = THROTTLED.replace("duration: 3 s", "number of transactions per client: 60");
    contradicts(
        &counted,
        "183 transactions were processed, but 2 clients with 60 each make 120",
    );
}
