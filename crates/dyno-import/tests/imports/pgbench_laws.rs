//! Laws that the figures of one run of pgbench obey.

// Clippy does not treat test helpers as tests.

use crate::common;
use dyno_core::record::RunRecord;
use dyno_import::Tool;
use dyno_samples::assert_has;

pub(crate) const TIMED: &str = "\
pgbench (17.2)
starting vacuum...end.
progress: 5.0 s, 1598.2 tps, lat 4.995 ms stddev 1.321, 0 failed
progress: 10.0 s, 1600.4 tps, lat 4.998 ms stddev 1.400, 0 failed
progress: 15.0 s, 1601.0 tps, lat 4.996 ms stddev 1.500, 0 failed
progress: 20.0 s, 1600.4 tps, lat 4.998 ms stddev 1.600, 0 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 20 s
number of transactions actually processed: 32000
number of failed transactions: 0 (0.000%)
latency average = 4.997 ms
latency stddev = 1.455 ms
initial connection time = 9.123 ms
tps = 1600.581000 (without initial connection time)
";

const COUNTED: &str = "\
pgbench (17.2)
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 1
number of transactions per client: 4000
number of transactions actually processed: 32000/32000
number of failed transactions: 0 (0.000%)
latency average = 4.998 ms
initial connection time = 9.123 ms
tps = 1600.581000 (without initial connection time)
";

const SCRIPTS: &str = "\
pgbench (16.2)
transaction type: multiple scripts
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 1
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 4000
number of failed transactions: 0 (0.000%)
latency average = 9.990 ms
initial connection time = 5.100 ms
tps = 400.200000 (without initial connection time)
SQL script 1: <builtin: select only>
 - weight: 2 (targets 66.7% of total)
 - 2700 transactions (67.5% of total, tps = 270.135000)
 - number of failed transactions: 0 (0.000%)
 - latency average = 2.500 ms
 - latency stddev = 1.100 ms
SQL script 2: <builtin: simple update>
 - weight: 1 (targets 33.3% of total)
 - 1300 transactions (32.5% of total, tps = 130.065000)
 - number of failed transactions: 0 (0.000%)
 - latency average = 25.546 ms
 - latency stddev = 8.100 ms
";

const RATED: &str = "\
pgbench (17.2)
progress: 5.0 s, 398.2 tps, lat 12.345 ms stddev 4.321, 3 failed, lag 2.100 ms, 40 skipped, \
12 retried, 17 retries
progress: 10.0 s, 400.4 tps, lat 12.400 ms stddev 4.400, 0 failed, lag 2.200 ms, 42 skipped, \
10 retried, 11 retries
progress: 15.0 s, 401.0 tps, lat 12.500 ms stddev 4.500, 1 failed, lag 2.300 ms, 38 skipped, \
9 retried, 12 retries
progress: 20.0 s, 396.0 tps, lat 12.600 ms stddev 4.600, 2 failed, lag 2.400 ms, 44 skipped, \
11 retried, 13 retries
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: simple
number of clients: 8
number of threads: 2
maximum number of tries: 5
duration: 20 s
number of transactions actually processed: 7978
number of failed transactions: 6 (0.074%)
number of serialization failures: 4 (0.049%)
number of deadlock failures: 2 (0.025%)
number of transactions retried: 42 (0.515%)
total number of retries: 53
number of transactions skipped: 164 (2.013%)
number of transactions above the 50.0 ms latency limit: 16/7978 (0.201%)
latency average = 12.461 ms
latency stddev = 4.455 ms
rate limit schedule lag: avg 2.250 (max 48.100) ms
initial connection time = 9.123 ms
tps = 399.081000 (without initial connection time)
statement latencies in milliseconds, failures and retries:
         0.300           0           0  BEGIN;
         5.200           4          30  UPDATE a SET b = 1;
         2.900           2          23  UPDATE c SET d = 1;
         1.800           0           0  END;
";

fn one(text: &str) -> RunRecord {
    common::one(Tool::Pgbench, text)
}

pub(crate) fn contradictions(run: &RunRecord) -> &str {
    run.fact("import.contradictions").unwrap_or_default()
}

/// The run of a text with a change that contradicts the rest.
fn changed(text: &str, (true_text, other): (&str, &str), expected: &str) -> RunRecord {
    assert!(text.contains(true_text), "{true_text}");
    let run = one(&text.replace(true_text, other));
    assert_has(contradictions(&run), expected);
    run
}

fn knows_mean(run: &RunRecord) -> bool {
    run.not_observed("service.mean_ms").is_none()
}

fn figures(run: &RunRecord) -> Vec<&str> {
    let figures = &common::summary(run).figures;
    figures.iter().map(|figure| figure.name.as_str()).collect()
}

#[test]
fn consistent_outputs_contradict_nothing() {
    for text in [TIMED, COUNTED, SCRIPTS, RATED] {
        let run = one(text);
        assert_eq!(contradictions(&run), "");
        assert!(knows_mean(&run));
    }
    assert_eq!(figures(&one(SCRIPTS)).len(), 4);
}

#[test]
fn a_mean_keeps_all_clients_busy() {
    let mean = "latency average = 4.997";
    let busy = "clients busy, but there were 8";
    for other in ["latency average = 4.097", "latency average = 5.197"] {
        let run = changed(TIMED, (mean, other), busy);
        assert!(!knows_mean(&run));
    }
    // A computed mean is exact, also with a count instead of a duration.
    for other in ["= 0.997 ms", "= 5.097 ms"] {
        assert!(!knows_mean(&changed(COUNTED, ("= 4.998 ms", other), busy)));
    }
    let run = changed(RATED, ("average = 12.461", "average = 112.461"), busy);
    assert!(!knows_mean(&run));
}

#[test]
fn a_rate_is_not_above_its_count_over_the_duration() {
    let expected = "32000 transactions at 1630.6 per second take 19.6 s";
    changed(TIMED, ("tps = 1600.581", "tps = 1630.581"), expected);
    // Connecting is part of the duration.
    let long = TIMED.replace("= 9.123 ms", "= 376.000 ms");
    let long = long.replace("tps = 1600.581", "tps = 1630.581");
    assert!(!contradictions(&one(&long)).contains("per second take"));
}

#[test]
fn progress_lines_have_the_counts_and_means_of_the_report() {
    let run = changed(
        TIMED,
        ("10.0 s, 1600.4", "10.0 s, 1900.4"),
        "the progress lines contain",
    );
    assert!(knows_mean(&run));
    // More than the clients can be busy: the lines are wrong.
    let mut slow = TIMED.to_owned();
    for mean in ["lat 4.995", "lat 4.998", "lat 4.996"] {
        slow = slow.replace(mean, "lat 44.000");
    }
    let run = one(&slow);
    let expected = "the progress line 3 (the first of 4 such lines) keeps 70.3 clients busy";
    assert_has(contradictions(&run), expected);
    assert!(knows_mean(&run) && run.series("import.latency.mean").is_none());
    let of_lines = "the progress lines have a mean latency of 12.4";
    let run = changed(RATED, ("average = 12.461", "average = 17.461"), of_lines);
    assert!(!knows_mean(&run));
    let of_lines = "the progress lines have a mean lag behind the schedule of 2.2";
    let run = changed(RATED, ("avg 2.250", "avg 7.250"), of_lines);
    assert!(!knows_mean(&run) && !figures(&run).contains(&"schedule lag, mean"));
    let more = "the progress lines have 1164 skipped transactions, but the report says 164";
    changed(RATED, ("44 skipped", "1044 skipped"), more);
    let fewer = "the progress lines have 164 skipped transactions, but the report says 664";
    changed(RATED, ("164 (2.013%)", "664 (7.678%)"), fewer);
}

#[test]
fn counts_of_failures_retries_and_limits_agree() {
    for (change, expected) in [
        (
            (
                "serialization failures: 4 (0.049%)",
                "serialization failures: 14 (0.172%)",
            ),
            "16 serialization and deadlock failures, but 6 transactions failed",
        ),
        (
            ("retries: 53\n", "retries: 23\n"),
            "42 transactions were retried, but there were 23 retries",
        ),
        (
            ("retries: 53\n", "retries: 253\n"),
            "253 retries, but 42 transactions that were retried have at most 168",
        ),
        (
            ("retries: 53\n", "retries: 83\n"),
            "the statements have 53 retries, but the report says 83",
        ),
        (
            ("16/7978 (0.201%)", "16/9999 (0.160%)"),
            "16 of 9999 transactions were above the limit of 50 ms, but 7978 were processed",
        ),
        (
            ("16/7978 (0.201%)", "16/7978 (2.010%)"),
            "above the latency limit are 0.196 %, but the log says 2.010 %",
        ),
        (
            ("retried: 42 (0.515%)", "retried: 42 (1.743%)"),
            "retried are 0.515 %, but the log says 1.743 %",
        ),
    ] {
        changed(RATED, change, expected);
    }
}

#[test]
fn statements_take_no_longer_than_their_transaction() {
    let slow = (" 5.200  ", " 95.200  ");
    let run = changed(RATED, slow, "the statements of a transaction take 100.2");
    assert!(run.fact("import.statement[1]").is_none());
    // A statement that is rarely executed may be slow.
    let rare = RATED
        .replace(" BEGIN;", " \\if :rare")
        .replace(slow.0, slow.1);
    let run = one(&rare);
    assert!(!contradictions(&run).contains("statements of a transaction"));
    assert!(run.fact("import.statement[1]").is_some());
}

#[test]
fn scripts_have_parts_of_the_whole() {
    let update = "simple update";
    for (change, expected) in [
        (
            ("tps = 130.065", "tps = 1300.650"),
            "1300 transactions of simple update in 10.0 s are 130.1 per second",
        ),
        (
            ("- 1300 transactions", "- 130 transactions"),
            "130 transactions of simple update in 10.0 s are 13.0 per second",
        ),
    ] {
        let run = changed(SCRIPTS, change, expected);
        assert!(!figures(&run).contains(&update), "{:?}", figures(&run));
        assert!(figures(&run).contains(&"select only"));
    }
    let share = "are 32.5 % of 4000, but the log says 92.5 %";
    changed(SCRIPTS, ("32.5% of", "92.5% of"), share);
    let busy = "the latencies of the scripts keep 13.1 clients busy, but there were 4";
    let run = changed(SCRIPTS, ("25.546", "95.546"), busy);
    assert_eq!(figures(&run), ["select only", update]);
    let idle = SCRIPTS.replace("= 25.546", "= 1.100");
    let run = changed(&idle, ("= 2.500", "= 0.100"), "keep 0.2 clients busy");
    assert_eq!(figures(&run), ["select only", update]);
}

/// The scripts of one thread with their statements. The first has `\set` and one that takes
/// `select_ms`, the second one that takes `update_ms`.
fn with_statements(select_ms: f64, update_ms: f64) -> String {
    let statements = |rows: &[(f64, &str)]| {
        let head = " - statement latencies in milliseconds and failures:\n".to_owned();
        let rows = rows.iter();
        let rows = rows.map(|(ms, text)| format!("   {ms:11.3}           0  {text}\n"));
        head + &rows.collect::<String>()
    };
    let select = statements(&[(0.001, "\\set aid random(1, 9)"), (select_ms, "SELECT 1;")]);
    let update = statements(&[(update_ms, "UPDATE a SET b = 1;")]);
    let stddev = " - latency stddev = 1.100 ms\n";
    SCRIPTS.replace(stddev, &format!("{stddev}{select}")) + &update
}

#[test]
fn statements_take_the_time_of_their_script() {
    let run = one(&with_statements(2.498, 25.540));
    assert_eq!(contradictions(&run), "");
    assert!(run.fact("import.statement[3]").is_some());
    for select_ms in [9.498, 0.498] {
        let run = one(&with_statements(select_ms, 25.540));
        let expected = format!(
            "the statements of select only take {:.3} ms on average, but its transactions 2.500 ms",
            select_ms + 0.001
        );
        assert_has(contradictions(&run), &expected);
        // Those of the other script stay.
        let first = run.fact("import.statement[1]").unwrap();
        assert_has(first, "UPDATE");
        assert!(run.fact("import.statement[2]").is_none());
    }
    let run = one(&with_statements(2.498, 95.540));
    let expected = "the statements of simple update take 95.540 ms on average";
    assert_has(contradictions(&run), expected);
    // A log may end after the first statement of its last script.
    assert_eq!(contradictions(&one(&with_statements(2.498, 0.540))), "");
    let rare = with_statements(9.498, 25.540).replace("\\set aid random(1, 9)", "\\if :rare");
    assert_eq!(contradictions(&one(&rare)), "");
    // Threads count without a lock and may lose some of the statements' or the scripts' time.
    let threads = with_statements(1.498, 25.540).replace("threads: 1", "threads: 4");
    assert_eq!(contradictions(&one(&threads)), "");
}

const CONFLICTS: &str = include_str!("../../corpus/logs/pgbench/15-rated-conflicts.out");

#[test]
fn scripts_have_the_failed_and_skipped_transactions_of_the_run() {
    assert_eq!(contradictions(&one(CONFLICTS)), "");
    let failed = "failed transactions: 38 (11.621%)";
    let fewer = "failed transactions: 28 (8.833%)";
    for (change, expected) in [
        (
            (failed, "failed transactions: 48 (14.243%)"),
            "the scripts have 48 failed transactions, but the report says 38",
        ),
        (
            (failed, fewer),
            "the scripts have 28 failed transactions, but the report says 38",
        ),
        (
            ("skipped: 17 (5.199%)", "skipped: 1 (0.322%)"),
            "the scripts have 1 skipped transaction, but the report says 17",
        ),
        (
            ("17 (5.199%)", "17 (9.199%)"),
            "17 skipped transactions of 327 in conflict.sql are 5.199 %, but the log says 9.199 %",
        ),
        (
            ("38 (11.621%)", "38 (21.621%)"),
            "38 failed transactions of 327 in conflict.sql are 11.621 %, but the log says 21.621 %",
        ),
    ] {
        changed(CONFLICTS, change, expected);
    }
    // Threads count without a lock and may lose some transactions.
    let threads = CONFLICTS.replace("threads: 1", "threads: 4");
    let run = one(&threads.replace(failed, "failed transactions: 35 (10.802%)"));
    assert!(!contradictions(&run).contains("failed transactions, but"));
    // A log without its last script.
    let whole = include_str!("../../corpus/logs/pgbench/16-rated-conflicts.out");
    let (cut, _) = whole.split_once("SQL script 2").unwrap();
    assert_eq!(contradictions(&one(cut)), "");
}

/// A run with a schedule that skipped 400 transactions, with this share.
fn skipping(version: &str, percent: f64) -> String {
    format!(
        "pgbench ({version})\ntransaction type: <builtin: select only>\nscaling factor: 1\n\
         query mode: simple\nnumber of clients: 2\nnumber of threads: 1\nduration: 10 s\n\
         number of transactions actually processed: 1000\n\
         number of transactions skipped: 400 ({percent:.3}%)\n\
         number of transactions above the 100.0 ms latency limit: 0/1000 (0.000%)\n\
         latency average = 25.000 ms\nlatency stddev = 3.000 ms\n\
         rate limit schedule lag: avg 0.100 (max 5.000) ms\n\
         initial connection time = 5.000 ms\n\
         tps = 100.000000 (without initial connection time)\n"
    )
}

#[test]
fn skipped_transactions_are_not_processed() {
    let busy = "keep 2.5 clients busy, but there were 2";
    let share = "400 skipped transactions of 1400 are 28.571 %, but the log says 40.000 %";
    for version in ["14.9", "15.0"] {
        assert_has(contradictions(&one(&skipping(version, 28.571))), busy);
        assert_has(contradictions(&one(&skipping(version, 40.0))), share);
    }
}

#[test]
fn a_run_ends_no_later_than_its_longest_transaction() {
    let slow = ("tps = 1600.581", "tps = 800.290");
    let expected = "32000 transactions at 800.3 per second take 40.0 s, but the report's duration \
                    is 20.0 s; the rate is that of count and duration";
    let run = changed(TIMED, slow, expected);
    assert_eq!(common::summary(&run).rates.events_per_s, 1600.0);
    assert!(knows_mean(&run));
    // The transactions in progress at the end may have failed after a long time.
    let failed = TIMED.replace(
        "failed transactions: 0 (0.000%)",
        "failed transactions: 1 (0.003%)",
    );
    let run = one(&failed.replace(slow.0, slow.1));
    assert!(!contradictions(&run).contains("but the report's duration"));
}
