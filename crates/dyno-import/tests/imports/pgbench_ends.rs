//! pgbench outputs that lack their end, or whose clients were aborted.

// Clippy does not treat test helpers as tests.

use crate::common::{self, log};
use crate::pgbench_laws::contradictions;
use dyno_core::record::RunRecord;
use dyno_core::summary::RunEnd;
use dyno_import::{Options, Tool, import};
use dyno_samples::assert_has;

/// Two scripts with failed, skipped and retried transactions.
const WHOLE: &str = "\
pgbench (16.1)
progress: 5.0 s, 100.0 tps, lat 9.000 ms stddev 2.000, 4 failed, lag 1.000 ms, 20 skipped, \
30 retried, 40 retries
progress: 10.0 s, 100.0 tps, lat 9.000 ms stddev 2.000, 6 failed, lag 1.000 ms, 20 skipped, \
30 retried, 40 retries
transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 1
maximum number of tries: 5
duration: 10 s
number of transactions actually processed: 1000
number of failed transactions: 10 (0.952%)
number of serialization failures: 10 (0.952%)
number of deadlock failures: 0 (0.000%)
number of transactions retried: 60 (5.714%)
total number of retries: 80
number of transactions skipped: 40 (3.810%)
number of transactions above the 20.0 ms latency limit: 30/1000 (3.000%)
latency average = 9.000 ms
latency stddev = 2.000 ms
rate limit schedule lag: avg 1.000 (max 15.000) ms
initial connection time = 5.000 ms
tps = 100.050000 (without initial connection time)
SQL script 1: a.sql
 - weight: 1 (targets 50.0% of total)
 - 400 transactions (40.0% of total, tps = 40.020000)
 - number of failed transactions: 10 (2.222%)
 - number of serialization failures: 10 (2.222%)
 - number of deadlock failures: 0 (0.000%)
 - number of transactions retried: 60 (13.333%)
 - total number of retries: 80
 - number of transactions skipped: 40 (8.889%)
 - latency average = 12.000 ms
 - latency stddev = 1.500 ms
SQL script 2: b.sql
 - weight: 1 (targets 50.0% of total)
 - 600 transactions (60.0% of total, tps = 60.030000)
 - number of failed transactions: 0 (0.000%)
 - number of serialization failures: 0 (0.000%)
 - number of deadlock failures: 0 (0.000%)
 - number of transactions retried: 0 (0.000%)
 - total number of retries: 0
 - number of transactions skipped: 0 (0.000%)
 - latency average = 7.000 ms
 - latency stddev = 1.500 ms
";

fn one(text: &str) -> RunRecord {
    common::one(Tool::Pgbench, text)
}

fn cut_off(run: &RunRecord) -> &str {
    run.fact("import.cut_off").unwrap_or_default()
}

#[test]
fn an_output_cut_off_anywhere_has_no_contradictions() {
    let whole = one(WHOLE);
    assert_eq!((contradictions(&whole), cut_off(&whole)), ("", ""));
    assert_eq!(whole.head.workload.name, "a.sql+b.sql");
    let end = " - latency stddev = 1.500";
    let last = WHOLE.rfind(end).unwrap() + end.len();
    for length in 1..last {
        let cut = &WHOLE[..length];
        let imported = import(Tool::Pgbench, &[log(cut)], &[], &Options::default());
        let Ok(imported) = imported else {
            continue;
        };
        let run = &imported.runs[0];
        assert_eq!(contradictions(run), "", "{cut}");
        assert_ne!(cut_off(run), "", "{cut}");
        assert_ne!(run.head.workload.name, "a.sql", "{cut}");
        let warnings = &common::summary(run).warnings;
        assert!(!warnings.is_empty(), "{cut}");
        let errors = common::summary(run).totals.errors;
        assert!([44, 90].contains(&errors), "{errors}: {cut}");
    }
}

#[test]
fn a_report_that_ends_within_its_scripts_is_cut_off() {
    let names = |cut: &str| {
        let run = one(cut);
        assert_eq!(cut_off(&run), "the report ends within its scripts", "{cut}");
        assert_eq!(contradictions(&run), "", "{cut}");
        run.head.workload.name
    };
    let before = |text: &str| WHOLE.split_once(text).unwrap().0.to_owned();
    assert_eq!(names(&before("SQL script 1")), "multiple-scripts");
    assert_eq!(names(&before("SQL script 2")), "multiple-scripts");
    assert_eq!(names(&before("b.sql")), "multiple-scripts");
    assert_eq!(names(&before(" - total number")), "multiple-scripts");
    let (whole, _) = WHOLE.rsplit_once(" - latency stddev").unwrap();
    assert_eq!(names(whole), "multiple-scripts");
    // The second rate of versions before 14.
    let old = "transaction type: <builtin: select only>\nscaling factor: 1\n\
               query mode: simple\nnumber of clients: 1\nnumber of threads: 1\nduration: 10 s\n\
               number of transactions actually processed: 1000\nlatency average = 10.000 ms\n\
               tps = 99.9 (including connections establishing)\n";
    assert_eq!(cut_off(&one(old)), "the report ends before its second rate");
}

#[test]
fn counts_cut_off_a_progress_line_are_not_zero() {
    let lines: Vec<&str> = WHOLE.lines().take(3).collect();
    let text = lines.join("\n");
    let cut = text.strip_suffix("ries").unwrap();
    let run = one(cut);
    assert_eq!(run.intervals.len(), 1);
    assert_eq!(common::summary(&run).totals.errors, 44);
    let warnings = common::summary(&run).warnings.join(" ");
    assert_has(
        &warnings,
        "log:3: a progress line without its end is skipped",
    );
    // The only line: nothing is known.
    let alone = lines[..2].join("\n");
    let alone = alone.strip_suffix("ries").unwrap();
    let error = import(Tool::Pgbench, &[log(alone)], &[], &Options::default());
    let error = error.unwrap_err().to_string();
    assert_has(&error, "no complete progress line and no totals");
    assert_eq!(one(&lines[..2].join("\n")).intervals.len(), 1);
}

#[test]
fn scripts_have_the_mean_and_the_retries_of_the_run() {
    for (part, other, expected) in [
        (
            "latency average = 9.000",
            "latency average = 9.300",
            "the scripts have a mean latency of 9.000 ms together, but the report says 9.300 ms",
        ),
        (
            "latency average = 7.000",
            "latency average = 7.300",
            "the scripts have a mean latency of 9.180 ms together",
        ),
        (
            "retries: 80\nnumber",
            "retries: 118\nnumber",
            "the scripts have 80 retries, but the report says 118",
        ),
        (
            "retried: 60 (13.333%)",
            "retried: 50 (11.111%)",
            "the scripts have 50 retried transactions, but the report says 60",
        ),
        (
            "- 600 transactions",
            "- 599 transactions",
            "the scripts have 999 transactions, but the report says 1000",
        ),
    ] {
        assert!(WHOLE.contains(part), "{part}");
        let run = one(&WHOLE.replacen(part, other, 1));
        assert_has(contradictions(&run), expected);
        if expected.contains("mean") {
            assert!(run.not_observed("service.mean_ms").is_some());
            let figures = common::summary(&run).figures.iter();
            let means = figures.filter(|own| own.name.contains("mean latency"));
            assert_eq!(means.count(), 0);
        }
    }
    // Threads count without a lock.
    let threads = WHOLE.replace("threads: 1", "threads: 4");
    assert_eq!(
        contradictions(&one(&threads.replace("= 7.000", "= 7.300"))),
        ""
    );
}

#[test]
fn statements_of_one_thread_take_no_longer_than_their_script() {
    let statements = |ms: f64| {
        format!(
            " - statement latencies in milliseconds, failures and retries:\n   \
             {ms:11.3}           0           0  SELECT 1;\n"
        )
    };
    let text = |ms: f64| WHOLE.to_owned() + &statements(ms);
    assert_eq!(contradictions(&one(&text(7.001))), "");
    let expected = "the statements of b.sql take 7.088 ms on average, but its transactions 7.000";
    assert_has(contradictions(&one(&text(7.088))), expected);
}

/// A run of which one of two clients was aborted in the middle.
fn aborted(during: &str, at_end: &str) -> String {
    format!(
        "pgbench (15.4)\nprogress: 1.0 s, 100.0 tps, lat 20.000 ms stddev 2.000, 0 failed\n\
         {during}progress: 2.0 s, 50.0 tps, lat 20.000 ms stddev 2.000, 0 failed\n\
         transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
         number of clients: 2\nnumber of threads: 1\nmaximum number of tries: 1\n\
         duration: 3 s\nnumber of transactions actually processed: 200\n\
         number of failed transactions: 0 (0.000%)\nlatency average = 20.000 ms\n\
         latency stddev = 2.000 ms\ninitial connection time = 2.163 ms\n\
         tps = 66.700000 (without initial connection time)\n{at_end}"
    )
}

#[test]
fn aborted_clients_are_detected_in_any_language() {
    const DURING: &str = "pgbench: Fehler: Client 1 Skript 0 in Befehl 4 abgebrochen: ERROR:  x\n";
    assert_has(contradictions(&one(&aborted("", ""))), "clients busy");
    for at_end in [
        "pgbench: error: Run was aborted; the above results are incomplete.\n",
        "pgbench: Fehler: Lauf wurde abgebrochen; die obigen Ergebnisse sind unvollständig\n",
        "pgbench: error: la ejecución fue abortada; los resultados están incompletos\n",
    ] {
        for during in ["", DURING] {
            let run = one(&aborted(during, at_end));
            let end = &common::summary(&run).end;
            assert!(matches!(end, RunEnd::Failed(_)), "{at_end}: {end:?}");
            assert_eq!(contradictions(&run), "", "{at_end}");
        }
    }
    // Without the last message it is unknown.
    let run = one(&aborted(DURING, ""));
    let summary = common::summary(&run);
    assert_eq!(
        (&summary.end, contradictions(&run)),
        (&RunEnd::Completed, "")
    );
    let warnings = summary.warnings.join(" ");
    assert_has(&warnings, "it is unknown whether clients were aborted");
}
