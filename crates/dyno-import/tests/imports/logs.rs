//! Imports real logs, and logs in old layouts.

// Clippy does not treat test helpers as tests.

use crate::common::sysbench;
use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, RunState, Series, Source};
use dyno_import::{ImportError, Imported, Log, Options};
use dyno_samples::{assert_begins, assert_has};

fn import(log: Log<'_>) -> Imported {
    sysbench(&[log], None, None, &Options::default()).unwrap()
}

fn one(log: Log<'_>) -> RunRecord {
    let mut imported = import(log);
    assert_eq!(imported.warnings, []);
    assert_eq!(imported.runs.len(), 1);
    imported.runs.remove(0)
}

fn values(series: Option<&Series>) -> Vec<f64> {
    series.unwrap().points.iter().map(|point| point.1).collect()
}

#[test]
fn a_loop_over_threads_is_several_runs() {
    let imported = import(fixture!("ladder.out"));
    assert_eq!(imported.warnings, []);
    let drives = imported
        .runs
        .iter()
        .map(|run| run.summary.as_ref().unwrap().drive.as_ref());
    let sessions: Vec<u32> = drives.map(|drive| drive.unwrap().sessions).collect();
    assert_eq!(sessions, [1, 2, 4]);
    let run = &imported.runs[2];
    assert_eq!(
        (run.state, run.head.source),
        (RunState::Imported, Source::Sysbench)
    );
    assert_eq!(run.head.tool, "sysbench 1.0.20");
    assert_eq!(run.head.drive, None);
    let summary = run.summary.as_ref().unwrap();
    assert_eq!(summary.totals.events, 1954);
    assert_eq!(
        (
            summary.totals.reads,
            summary.totals.writes,
            summary.totals.other
        ),
        (27_384, 7820, 3910)
    );
    assert_eq!(summary.rates.events_per_s, 650.14);
    assert_eq!((summary.measured_s, summary.totals.errors), (3.0041, 2));
    assert_eq!(
        (
            summary.service.min_ms,
            summary.service.mean_ms,
            summary.service.max_ms
        ),
        (Some(1.05), Some(6.14), Some(34.46))
    );
    let p95 = summary.service.percentiles[0];
    assert_eq!((p95.percent, p95.value_ms), (95.0, Some(12.3)));
    assert_eq!(run.intervals.len(), 3);
    assert_eq!(
        (run.intervals[1].at_s, run.intervals[1].length_s),
        (2.0, 1.0)
    );
    assert_eq!(run.intervals[1].counters.events, 601);
    assert_eq!(run.intervals[2].sessions, Some(2));
    assert_eq!(run.intervals[0].percentiles[0].value_ms, Some(11.45));
    for what in [
        "client.cpu",
        "host.cpu.user",
        "db.status.x",
        "rand",
        "service.buckets",
    ] {
        assert!(run.not_observed(what).is_some(), "{what}");
    }
    assert_eq!(run.fact("import.stated_time_s"), Some("3.004"));
    let implied: f64 = run.fact("import.implied_time_s").unwrap().parse().unwrap();
    assert!((implied - 3.0055).abs() < 0.001, "{implied}");
    let names: Vec<&str> = imported
        .runs
        .iter()
        .map(|run| run.head.name.as_str())
        .collect();
    assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
}

#[test]
fn aligns_host_logs_with_a_run_by_their_times() {
    let log = fixture!("stamped.out");
    let imported = sysbench(
        &[log],
        Some(fixture!("stamped-vmstat.out")),
        Some(fixture!("stamped-iostat.out")),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(imported.warnings, []);
    let run = &imported.runs[0];
    // procps 4.0.2 repeats its first memory figures.
    assert!(run.series("host.memory.free").is_none());
    assert!(run.not_observed.iter().any(|gap| gap.what == "host.memory"));
    // Threads started at 13:35:42.
    let user = run.series("host.cpu.user").unwrap();
    assert_eq!(user.key.source, "vmstat, column us");
    let expected = [
        (1.0, 83.0),
        (2.0, 81.0),
        (3.0, 83.0),
        (4.0, 83.0),
        (5.0, 81.0),
    ];
    assert_eq!(user.points, expected);
    assert!(run.series("host.disk[vda].read_bytes").is_some());
    // The sum of all devices would count each of them twice.
    assert!(run.series("host.disk[all].read_bytes").is_none());
    assert!(run.series("host.disk[vda].utilisation").is_some());
    assert_eq!(run.not_observed("host.cpu.user"), None);
    assert!(run.not_observed("host.pressure.io.some").is_some());
    assert_eq!(run.fact("host.cpu.threads"), Some("2"));
    assert_eq!(run.head.workload.name, "oltp_point_select");
    assert_eq!(run.head.percentiles, [99.0]);
    let url = "mysql://root@/import_logs?socket=/run/mysqld/mysqld.sock";
    assert_eq!(run.head.target.url, url);
    let drive = run.head.drive.as_ref().unwrap();
    assert_eq!((drive.sessions, drive.time.unwrap().as_secs()), (2, 5));
    let started = run.summary.as_ref().unwrap().started_unix_s;
    assert_eq!(started, Some(1_795_268_142.0));
}

#[test]
fn a_run_keeps_the_warnings_about_its_host_logs() {
    let iostat = text!("stamped-iostat.out");
    let cut = Log::new("cut.out", &iostat[..iostat.len() - 20]);
    let log = fixture!("stamped.out");
    let imported = sysbench(&[log], None, Some(cut), &Options::default()).unwrap();
    let kept = &imported.runs[0].summary.as_ref().unwrap().warnings;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_has(&kept[0], "cut.out:");
    assert_has(&kept[0], "the log ends within a row");
}

#[test]
fn a_host_log_without_matching_times_begins_with_the_run() {
    let text = fixture!("ladder.out").text;
    let second = text.find("== threads 2").unwrap();
    let first = Log::new("one.out", &text[..second]);
    let vmstat = fixture!("ladder-vmstat.out");
    let imported = sysbench(&[first], Some(vmstat), None, &Options::default()).unwrap();
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    assert!(imported.warnings[0].text.contains("assumed to start with"));
    let run = &imported.runs[0];
    assert_eq!(
        values(run.series("host.cpu.user")),
        [78.0, 81.0, 82.0, 86.0]
    );
    assert_eq!(
        values(run.series("host.disk[all].read_bytes"))[0],
        716_800.0
    );
    let warned = &run.summary.as_ref().unwrap().warnings;
    assert_has(&warned[0], "ladder-vmstat.out");
    // Several of them share a warning.
    let iostat = fixture!("ladder-iostat.out");
    let imported = sysbench(&[first], Some(vmstat), Some(iostat), &Options::default()).unwrap();
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    assert_has(&imported.warnings[0].text, "2 files: their times");

    // Only the first of several runs can have begun with it.
    let all = fixture!("ladder.out");
    let imported = sysbench(&[all], Some(vmstat), None, &Options::default()).unwrap();
    assert!(imported.runs[0].series("host.cpu.user").is_some());
    assert!(imported.runs[1].series("host.cpu.user").is_none());
    assert_has(
        imported.runs[1].not_observed("host.cpu.user").unwrap(),
        "no times",
    );

    // Unless the user gives a start time.
    let options = Options {
        started_unix_s: Some(1_795_266_469.0),
        ..Options::default()
    };
    let imported = sysbench(&[first], Some(vmstat), None, &options).unwrap();
    assert_eq!(imported.warnings, []);
    let user = imported.runs[0].series("host.cpu.user").unwrap();
    assert_eq!(user.points[0], (1.0, 81.0));
}

#[test]
fn a_printed_histogram_is_the_distribution() {
    let run = one(fixture!("histogram.out"));
    let total = run.operations[0].total.as_ref().unwrap();
    let summary = run.summary.as_ref().unwrap();
    assert_eq!(total.count, summary.totals.events);
    assert_eq!(total.service.len(), total.count);
    let mean = total.service.mean() / 1e6;
    assert!(
        (mean / summary.service.mean_ms.unwrap() - 1.0).abs() < 0.01,
        "{mean}"
    );
    // The printed percentile, and the histogram's others: 2,028 events are too few for the 99.9th.
    let percentiles = &summary.service.percentiles;
    let percents: Vec<f64> = percentiles.iter().map(|own| own.percent).collect();
    assert_eq!(percents, [50.0, 95.0, 99.0]);
    assert_eq!(percentiles[2].value_ms, Some(12.08));
    for own in &percentiles[..2] {
        let ms = total.service.value_at_quantile(own.percent / 100.0) as f64 / 1e6;
        assert_eq!(own.value_ms, Some(ms));
    }
    let buckets: u64 = summary
        .service
        .buckets
        .iter()
        .map(|bucket| bucket.count)
        .sum();
    assert_eq!(buckets, total.count);
    assert_eq!(run.not_observed("service.buckets"), None);
    assert_eq!(summary.drive.as_ref().unwrap().seed, 42);
}

/// "sysbench Histograms: A Helpful Feature Often Overlooked" (Percona): its values and counts.
#[test]
fn a_histogram_in_a_separate_log() {
    let text = "value_ms,count\n0.053,54\n0.053,79\n0.172,1807832\n17.954,1\n";
    let log = Log::new("histogram.csv", text);
    let imported = import(log);
    assert_eq!(imported.runs.len(), 1);
    let run = &imported.runs[0];
    assert!(run.summary.is_none());
    let total = run.operations[0].total.as_ref().unwrap();
    assert_eq!(total.count, 1_807_966);
    assert!((total.service.value_at_quantile(0.5) as f64 / 1e6 - 0.172).abs() < 0.001);

    // With the log of a run without a histogram, it belongs to that run.
    let report = fixture!("rate.out");
    let imported = sysbench(&[report, log], None, None, &Options::default()).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert!(imported.runs[0].operations.is_empty());
    let warning = imported.warnings[0].to_string();
    assert_has(&warning, "the histogram holds 1807966 events");
}

#[test]
fn parts_between_checkpoints_are_added_up() {
    let run = one(fixture!("checkpoints.out"));
    let summary = run.summary.as_ref().unwrap();
    assert_eq!(summary.totals.events, 129_462 + 147_536 + 56_493);
    assert_eq!(summary.measured_s, 5.0033);
    let rate = 333_491.0 / 5.0033;
    assert!((summary.rates.events_per_s - rate).abs() < 0.01);
    assert_eq!(
        (summary.service.min_ms, summary.service.max_ms),
        (Some(0.01), Some(42.18))
    );
    assert!(summary.service.percentiles.is_empty());
    assert_eq!(run.events.len(), 2);
    assert_eq!(run.intervals.len(), 4);
}

#[test]
fn reports_of_hooks() {
    for log in [
        fixture!("hook_csv.out"),
        fixture!("hook_json.out"),
        fixture!("hook_default.out"),
    ] {
        let run = one(log);
        assert_eq!(run.intervals.len(), 3, "{}", log.name);
        let first = &run.intervals[0];
        assert!(first.counters.events > 50_000, "{}", log.name);
        assert!(
            first.counters.events.abs_diff(first.counters.reads) <= 1,
            "{}",
            log.name
        );
        assert_eq!(first.percentiles[0].percent, 95.0, "{}", log.name);
        assert!(run.summary.is_some(), "{}", log.name);
    }
}

#[test]
fn an_open_loop_keeps_its_queue() {
    let run = one(fixture!("rate.out"));
    let summary = run.summary.as_ref().unwrap();
    let open = summary.open_loop.as_ref().unwrap();
    assert_eq!((open.offered_per_s, open.backlog_max), (300.0, Some(1)));
    assert_eq!(run.intervals[0].concurrency, Some(1));
    assert_eq!(run.intervals[3].backlog, Some(1));
    assert!(open.pacing_lag.is_none() && run.not_observed("open_loop.pacing_lag").is_some());
    // Its latencies include the wait in the queue.
    let response = summary.response.as_ref().unwrap();
    assert_eq!(
        (response.mean_ms, response.max_ms),
        (Some(4.52), Some(136.77))
    );
    assert_eq!(response.percentiles[0].value_ms, Some(28.67));
    assert_eq!(summary.service.count, 0);
    assert!(run.not_observed("service").is_some());
}

#[test]
fn reports_forced_shutdowns_and_disabled_percentiles() {
    let forced = one(fixture!("forced.out"));
    let summary = forced.summary.as_ref().unwrap();
    assert_eq!(summary.totals.events, 0);
    assert_eq!(
        (summary.events_in_grace, summary.events_unfinished),
        (None, Some(2))
    );
    assert!(summary.fairness.is_none());
    assert!(forced.events[0].text.contains("forcing shutdown"));
    let disabled = one(fixture!("nopercentile.out"));
    assert!(
        disabled
            .summary
            .as_ref()
            .unwrap()
            .service
            .percentiles
            .is_empty()
    );
    assert!(
        disabled
            .intervals
            .iter()
            .all(|interval| interval.percentiles.is_empty())
    );
}

#[test]
fn reports_a_run_that_failed_at_once() {
    let error = sysbench(&[fixture!("fatal.out")], None, None, &Options::default()).unwrap_err();
    let text = error.to_string();
    assert_has(&text, "fatal.out:1: a run without a figure: FATAL:");
    assert!(matches!(error, ImportError::NotRecognised { .. }));
    let empty = Log::new("e", " \n");
    let error = sysbench(&[empty], None, None, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("it is empty"));
    assert_eq!(
        sysbench(&[], None, None, &Options::default()).unwrap_err(),
        ImportError::NoLogs {
            tool: dyno_import::Tool::Sysbench
        }
    );
}

#[test]
fn old_layouts() {
    let old = one(fixture!("written-0.4.out"));
    let summary = old.summary.as_ref().unwrap();
    assert_eq!((summary.totals.events, summary.totals.errors), (10_001, 1));
    assert_eq!(summary.service.percentiles[0].value_ms, Some(58.51));
    assert_eq!(old.head.workload.name, "oltp");
    let newer = one(fixture!("written-0.5.out"));
    assert_eq!(newer.intervals.len(), 3);
    let second = &newer.intervals[1];
    assert_eq!((second.length_s, second.counters.events), (10.0, 5987));
    assert_eq!(second.percentiles[0].value_ms, Some(43.01));
    assert_eq!(newer.intervals[0].errors_seen, 1);
    // Its lines have reads and writes only.
    assert_eq!(second.printed.unwrap().queries_per_s, None);
    assert!(newer.not_observed("intervals.other").is_some());
    assert_eq!(newer.not_observed("counters.other"), None);
    assert_eq!(newer.summary.as_ref().unwrap().totals.other, 36_301);
    let lines = fixture!("written-0.5.out").text;
    let cut = Log::new("cut", lines.split("OLTP test").next().unwrap());
    let cut = import(cut).runs.remove(0);
    let sum = cut.summary.as_ref().unwrap();
    assert_eq!((sum.totals.other, sum.rates.queries_per_s), (0, None));
    assert!(sum.totals.reads > 250_000 && cut.not_observed("counters.other").is_some());
    let service = &newer.summary.as_ref().unwrap().service;
    assert_eq!(service.sum_ms, Some(479_886.0));
}

#[test]
fn reports_a_time_that_the_figures_contradict() {
    let imported = import(fixture!("written-1.1.out"));
    let run = &imported.runs[0];
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    let text = imported.warnings[0].to_string();
    assert_has(
        &text,
        "says 600.0 s, but its counts and rates imply 120.0 s",
    );
    assert_eq!(run.fact("import.stated_time_s"), Some("600.000"));
    assert_eq!(run.fact("import.implied_time_s"), Some("120.000"));
    let drive = run.head.drive.as_ref().unwrap();
    assert_eq!((drive.warmup.as_secs(), drive.seed), (5, 42));
    assert_eq!(drive.open_loop.unwrap().per_second, 250.0);
    assert_eq!(run.head.target.url, "mysql://sbtest@db1.example.org/");
    assert!(run.head.argv.contains(&"--mysql-password=***".to_owned()));
    assert!(!format!("{imported:?}").contains("geheim"));
}

/// "One Million Tables in MySQL 8.0" (Percona): 120 s, not the 600 s of the command shown.
#[test]
fn derives_the_length_of_a_run_from_an_articles_figures() {
    let text = "sysbench oltp_read_write --threads=64 --time=600 run\n\
        transactions: 243533 (2029.21 per sec.)\nqueries: 16879188 (140611.72 per sec.)\n";
    let log = Log::new("article", text);
    let imported = import(log);
    let run = &imported.runs[0];
    let summary = run.summary.as_ref().unwrap();
    assert!(
        (summary.measured_s - 120.0).abs() < 0.1,
        "{}",
        summary.measured_s
    );
    assert_eq!(run.fact("import.stated_time_s"), Some("600.000"));
    let implied: f64 = run.fact("import.implied_time_s").unwrap().parse().unwrap();
    assert!((implied - 120.0).abs() < 0.1, "{implied}");
    let warned = |what: &str| imported.warnings.iter().any(|w| w.text.contains(what));
    assert!(warned("says 600.0 s") && warned("the end of the log is missing"));
}

#[test]
fn a_script_with_its_own_csv() {
    let run = one(fixture!("written-tpcc.out"));
    assert_eq!(run.head.workload.name, "tpcc");
    assert_eq!(run.head.workload.changed, ["tables", "scale"]);
    let tps: Vec<u64> = run.intervals.iter().map(|i| i.counters.events).collect();
    assert_eq!(tps, [102, 98, 100]);
    assert_eq!(run.intervals[0].counters.errors, 1);
    assert_eq!(run.intervals[2].percentiles[0].value_ms, Some(68.05));
}

#[test]
fn the_same_log_is_the_same_run() {
    let log = fixture!("rate.out");
    let first = one(log);
    let again = sysbench(&[log, log], None, None, &Options::default()).unwrap();
    assert_eq!(again.runs.len(), 1);
    assert!(again.warnings[0].text.contains("the same run twice"));
    assert_eq!(again.runs[0].head.name, first.head.name);
}

#[test]
fn damage_costs_only_the_damaged_lines() {
    let text = fixture!("ladder.out").text;
    let cut = text.find("General statistics").unwrap();
    let windows = text[..cut].replace('\n', "\r\n");
    let coloured = windows.replace("[ 1s ]", "\u{1b}[1m[ 1s ]\u{1b}[0m");
    let comma = coloured.replace("4862.21", "4862,21");
    let log = Log::new("cut", &comma);
    let imported = import(log);
    assert_eq!(imported.warnings.len(), 1);
    let run = &imported.runs[0];
    assert_has(run.fact(names::IMPORT_CUT_OFF).unwrap(), "the total time");
    // The rate of a count still gives the length.
    let summary = run.summary.as_ref().unwrap();
    assert!(
        (summary.measured_s - 3.0067).abs() < 0.001,
        "{}",
        summary.measured_s
    );
    assert_eq!(run.intervals[0].counters.queries(), 3406 + 970 + 486);

    let lines_only: String = text
        .lines()
        .filter(|l| l.starts_with('['))
        .collect::<Vec<_>>()
        .join("\n");
    let log = Log::new("grepped", &lines_only);
    let imported = import(log);
    assert_eq!(imported.runs.len(), 3);
    let grepped = imported.runs[0].summary.as_ref().unwrap();
    assert!(grepped.totals.events > 0 && grepped.service.count == 0);
    let text: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert!(
        text.iter()
            .any(|w| w.starts_with("grepped:3: the times restart")),
        "{text:?}"
    );
    assert!(
        text.iter()
            .any(|w| w.contains("statistics at the end are missing")),
        "{text:?}"
    );

    let garbled = "[ 1s ] thds: 1 tps: 5.00\n[ 2s ] thds: \u{fffd}\n[ 9s ] thds: 1 tps: 7.00\n";
    let log = Log::new("g", garbled);
    let imported = import(log);
    assert_eq!(imported.runs[0].intervals.len(), 2);
    assert_begins(
        &imported.warnings[0].to_string(),
        "g:2: a report line that is incomplete or has no rate",
    );
}
