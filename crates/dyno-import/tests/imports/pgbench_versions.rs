//! Versions of pgbench print figures differently; the imported runs are comparable.

// Clippy does not treat test helpers as tests.

use crate::common::{self, log};
use crate::pgbench_laws::contradictions;
use dyno_core::record::RunRecord;
use dyno_core::summary::RunSummary;
use dyno_import::{Log, Options, Tool, import};
use dyno_samples::assert_has;

/// A report of version 13 with four skipped transactions for each one that ran.
const SKIPPED: &str = "\
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 8
number of threads: 1
duration: 10 s
number of transactions actually processed: 1000
number of transactions skipped: 4000 (80.000 %)
number of transactions above the 70.0 ms latency limit: 0/1000 (0.000 %)
latency average = 50.000 ms
latency stddev = 3.000 ms
rate limit schedule lag: avg 8.000 (max 49.000) ms
tps = 99.900000 (including connections establishing)
tps = 100.000000 (excluding connections establishing)
";

fn one(text: &str) -> RunRecord {
    common::one(Tool::Pgbench, text)
}

fn figure(summary: &RunSummary, name: &str) -> Option<f64> {
    let mut figures = summary.figures.iter();
    figures.find(|own| own.name == name).map(|own| own.value)
}

/// Mean service time, mean lag, transactions and rate, rounded.
fn found(text: &str) -> (f64, f64, u64, f64) {
    let run = one(text);
    assert_eq!(contradictions(&run), "", "{text}");
    let summary = common::summary(&run);
    let round = |value: f64| (value * 1e3).round() / 1e3;
    (
        round(summary.service.mean_ms.unwrap()),
        round(figure(summary, "schedule lag, mean").unwrap()),
        summary.totals.events,
        round(summary.rates.events_per_s),
    )
}

#[test]
fn the_lag_excludes_skipped_transactions() {
    // The mean lag is 40 ms per transaction that ran, and 8 ms per transaction.
    assert_eq!(found(SKIPPED), (10.0, 40.0, 1000, 100.0));
    let banner = |version: &str| format!("pgbench ({version})\n{SKIPPED}");
    assert_eq!(found(&banner("14.5")), (10.0, 40.0, 1000, 100.0));
    // From version 15 on, the lag is per transaction that ran.
    let recent = banner("15.1").replace("avg 8.000", "avg 40.000");
    assert_eq!(found(&recent), (10.0, 40.0, 1000, 100.0));
    let without_banner = recent.split_once('\n').unwrap().1;
    let failed = "latency average";
    let line = format!("number of failed transactions: 0 (0.000%)\n{failed}");
    assert_eq!(
        found(&without_banner.replace(failed, &line)),
        (10.0, 40.0, 1000, 100.0)
    );
    let compact = without_banner.replace(" %)", "%)");
    assert_eq!(found(&compact), (10.0, 40.0, 1000, 100.0));
    // The lines have the lag of those that ran, too.
    let line = |at: u32| {
        format!(
            "progress: {at}.0 s, 100.0 tps, lat 50.000 ms stddev 3.000, lag 40.000 ms, \
             400 skipped\n"
        )
    };
    let lines: String = (1..10).map(line).collect();
    assert_eq!(found(&(lines + SKIPPED)), (10.0, 40.0, 1000, 100.0));
    let other = |at: u32| line(at).replace("lag 40.000", "lag 20.000");
    let lines: String = (1..10).map(other).collect();
    assert_has(
        contradictions(&one(&(lines + SKIPPED))),
        "mean lag behind the schedule of 20.000 ms",
    );
}

#[test]
fn versions_9_6_and_10_count_skipped_transactions_as_processed() {
    let old = SKIPPED
        .replace("processed: 1000", "processed: 5000")
        .replace("4000 (80.000 %)", "4000 (44.444 %)")
        .replace("0/1000 (0.000 %)", "0 (0.000 %)")
        .replace("tps = 99.9", "tps = 499.5")
        .replace("tps = 100.0", "tps = 500.0");
    assert_eq!(found(&old), (10.0, 40.0, 1000, 100.0));
    let line = |at: u32| {
        format!(
            "progress: {at}.0 s, 500.0 tps, lat 10.000 ms stddev 9.000, lag 8.000 ms, \
             400 skipped\n"
        )
    };
    let lines: String = (1..10).map(line).collect();
    let text = lines + &old;
    assert_eq!(found(&text), (10.0, 40.0, 1000, 100.0));
    let run = one(&text);
    assert_eq!(run.intervals[3].counters.events, 100);
    let lag = run.series("import.lag.mean").unwrap();
    assert!((lag.points[3].1 - 40.0).abs() < 1e-6, "{lag:?}");
    // Version 9.5 counts them separately.
    let oldest = SKIPPED
        .replace("0/1000 (0.000 %)", "0 (0.000 %)")
        .replace("latency average =", "latency average:")
        .replace("latency stddev =", "latency stddev:")
        .replace("avg 8.000", "avg 40.000");
    assert_eq!(found(&oldest), (10.0, 40.0, 1000, 100.0));
}

#[test]
fn scripts_of_old_versions_have_no_skipped_transactions() {
    let scripts = "\
SQL script 1: a.sql
 - weight: 1 (targets 50.0% of total)
 - 2600 transactions (52.0% of total, tps = 60.000000)
 - number of transactions skipped: 2000 (76.923%)
 - latency average = 40.000 ms
 - latency stddev = 3.000 ms
SQL script 2: b.sql
 - weight: 1 (targets 50.0% of total)
 - 2400 transactions (48.0% of total, tps = 40.000000)
 - number of transactions skipped: 2000 (83.333%)
 - latency average = 65.000 ms
 - latency stddev = 3.000 ms
";
    let text = SKIPPED.replace("<builtin: select only>", "multiple scripts") + scripts;
    let run = one(&text);
    assert_eq!(contradictions(&run), "");
    assert_eq!(run.head.workload.name, "a.sql+b.sql");
    let wrong = one(&text.replace("= 65.000 ms", "= 55.000 ms"));
    assert_has(
        contradictions(&wrong),
        "the scripts have a mean latency of 46.000 ms together, but the report says 50.000 ms",
    );
}

#[test]
fn sums_of_old_versions_have_no_skipped_transactions() {
    // In the second line 3 transactions ran, with latencies of 10, 20 and 30 ms.
    let sums = "1795797217 2 30000 500000000 10000 20000 2000 2000000 1000 1000 0\n\
                1795797218 5 60000 1400000000 10000 30000 6000 14000000 1000 3000 2\n\
                1795797219 2 30000 500000000 10000 20000 2000 2000000 1000 1000 0\n";
    let run = one(sums);
    assert_eq!(contradictions(&run), "");
    let summary = common::summary(&run);
    assert_eq!(summary.totals.events, 3);
    assert_eq!(summary.service.mean_ms, Some(18.0));
    let response = summary.response.as_ref().unwrap();
    assert_eq!((response.mean_ms, response.count), (Some(20.0), 3));
    let lag = run.series("import.lag.mean").unwrap();
    assert!(lag.points.iter().any(|(_, ms)| *ms == 2.0), "{lag:?}");
}

#[test]
fn the_rate_of_reconnecting_clients_includes_connecting() {
    let old = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
               number of clients: 2\nnumber of threads: 1\nduration: 4 s\n\
               number of transactions actually processed: 800\nlatency average = 10.000 ms\n\
               tps = 200.000000 (including connections establishing)\n\
               tps = 400.000000 (excluding connections establishing)\n";
    let recent = "pgbench (14.5)\ntransaction type: <builtin: select only>\nscaling factor: 1\n\
                  query mode: simple\nnumber of clients: 2\nnumber of threads: 1\n\
                  duration: 4 s\nnumber of transactions actually processed: 800\n\
                  latency average = 10.000 ms\naverage connection time = 5.000 ms\n\
                  tps = 200.000000 (including reconnection times)\n";
    for text in [old, recent] {
        let run = one(text);
        let summary = common::summary(&run);
        assert_eq!(
            (summary.rates.events_per_s, summary.measured_s),
            (200.0, 4.0)
        );
        assert_eq!(summary.service.mean_ms, Some(5.0));
        assert_eq!(figure(summary, "mean time to connect"), Some(5.0));
        let connect = run.head.workload.options.iter();
        assert!(connect.clone().any(|(name, _)| name == "connect"));
        assert_eq!(contradictions(&run), "");
    }
    // If clients connect only once, the rate excludes connecting.
    let once = old.replace("tps = 200.0", "tps = 399.0");
    let once = once
        .replace("= 10.000 ms", "= 5.013 ms")
        .replace("800\n", "1600\n");
    assert_eq!(common::summary(&one(&once)).rates.events_per_s, 400.0);
    let command = format!("$ pgbench -T 4 -c 2 bench\n{old}");
    assert_eq!(common::summary(&one(&command)).rates.events_per_s, 400.0);
}

#[test]
fn reconnects_are_unknown() {
    let run = one(SKIPPED);
    assert!(run.not_observed("counters.reconnects").is_some());
    assert_eq!(common::summary(&run).rates.reconnects_per_s, None);
    let lines = "progress: 1.0 s, 5.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n".to_owned()
        + "progress: 2.0 s, 5.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n";
    assert_eq!(common::summary(&one(&lines)).rates.reconnects_per_s, None);
}

#[test]
fn the_user_can_give_the_start_of_a_run() {
    let options = Options {
        started_unix_s: Some(1_795_272_312.0),
        ..Options::default()
    };
    let hammerdb = "Vuser 1:Timing test period of 5 in minutes\n\
                    Vuser 1:TEST RESULT : System achieved 439 NOPM from 1010 MySQL TPM\n";
    for (tool, text) in [(Tool::Pgbench, SKIPPED), (Tool::Hammerdb, hammerdb)] {
        let imported = import(tool, &[log(text)], &[], &options).unwrap();
        let run = &imported.runs[0];
        let started = common::summary(run).started_unix_s;
        assert_eq!(started, options.started_unix_s);
        assert_eq!(run.not_observed("started_unix_s"), None);
    }
    // The time applies to the first of several runs. A time in the log takes precedence.
    let two = format!(
        "{SKIPPED}pgbench (14.2)\n{}",
        SKIPPED.replace("1000", "1001")
    );
    let imported = import(Tool::Pgbench, &[log(&two)], &[], &options).unwrap();
    let started = |index: usize| common::summary(&imported.runs[index]).started_unix_s;
    assert_eq!((started(0), started(1)), (options.started_unix_s, None));
    let dated = format!("2026-11-21 10:00:00\n{SKIPPED}");
    let logs = [Log::new("dated", &dated)];
    let imported = import(Tool::Pgbench, &logs, &[], &options).unwrap();
    let started = common::summary(&imported.runs[0]).started_unix_s;
    assert_eq!(started, Some(1_795_255_200.0));
}

#[test]
fn times_before_the_lines_are_removed() {
    let hammerdb = "HammerDB CLI v4.10\nVuser 1:Beginning rampup time of 1 minutes\n\
                    Vuser 1:Timing test period of 5 in minutes\n\
                    Vuser 1:TEST RESULT : System achieved 439 NOPM from 1010 MySQL TPM\n";
    for (tool, text) in [(Tool::Pgbench, SKIPPED), (Tool::Hammerdb, hammerdb)] {
        let plain = common::one(tool, text);
        for prefix in ["Nov 29 09:30:01 ", "2026-11-29T09:30:01.123456Z 00O "] {
            let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
            let run = common::one(tool, &lines.collect::<String>());
            let rate = |run: &RunRecord| common::summary(run).rates.events_per_s;
            assert_eq!(rate(&run), rate(&plain), "{prefix}");
            assert_eq!(run.head.drive.is_some(), plain.head.drive.is_some());
        }
    }
}

#[test]
fn failures_and_retries_missing_from_a_recent_report_are_unknown() {
    let text = "pgbench (17.2)\nnumber of clients: 2\n\
                number of transactions actually processed: 10\nlatency average = 100.000 ms\n\
                tps = 20.000000 (without initial connection time)\n";
    let unknown = |text: &str| -> Vec<String> {
        let run = one(text);
        let all = run.not_observed.into_iter().map(|gap| gap.what);
        all.filter(|what| what == "errors" || what == "counters.retries")
            .collect()
    };
    assert_eq!(unknown(text), ["errors", "counters.retries"]);
    let failed = "number of failed transactions: 0 (0.000%)\nlatency";
    let failed = text.replace("latency", failed);
    assert_eq!(unknown(&failed), ["counters.retries"]);
    let tries = "maximum number of tries: 1\nnumber of transactions";
    assert!(unknown(&failed.replace("number of transactions", tries)).is_empty());
    // Earlier versions abort a client at its first failure.
    assert!(unknown(&text.replace("17.2", "13.5")).is_empty());
}
