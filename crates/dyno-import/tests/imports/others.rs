//! Imports logs of pgbench, fio and HammerDB.

// Clippy does not treat test helpers as tests.

use crate::common::{self, log, summary};
use dyno_core::record::{RunRecord, Source};
use dyno_core::summary::{OperationSummary, RunEnd};
use dyno_import::{Imported, Log, Monitor, Options, Tool, import};
use dyno_samples::assert_has;

fn read(tool: Tool, logs: &[Log<'_>]) -> Imported {
    import(tool, logs, &[], &Options::default()).unwrap()
}

fn one(tool: Tool, logs: &[Log<'_>]) -> RunRecord {
    let mut imported = read(tool, logs);
    assert_eq!(imported.warnings, []);
    assert_eq!(imported.runs.len(), 1);
    imported.runs.remove(0)
}

fn unknown(run: &RunRecord, what: &str) -> bool {
    run.not_observed.iter().any(|gap| gap.what == what)
}

fn operation<'a>(run: &'a RunRecord, name: &str) -> &'a OperationSummary {
    let mut all = summary(run).operations.iter();
    all.find(|operation| operation.name == name).unwrap()
}

/// The value at a nearest rank, computed independently of the import.
fn nearest(mut values: Vec<u64>, percent: u64) -> f64 {
    values.sort_unstable();
    let rank = (percent * values.len() as u64).div_ceil(100) as usize;
    values[rank - 1] as f64 / 1e3
}

/// The lines of logs of transactions with a lag, as numbers.
fn transactions(logs: &[Log<'_>]) -> Vec<Vec<u64>> {
    let lines = logs.iter().flat_map(|log| log.text.lines());
    let numbers = |line: &str| {
        line.split(' ')
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let rows: Vec<Vec<u64>> = lines
        .map(numbers)
        .filter(|row: &Vec<u64>| row.len() == 7)
        .collect();
    assert!(rows.len() > 100);
    rows
}

#[test]
fn pgbench_with_single_transactions() {
    let files = [
        fixture!("pgbench-rate.out"),
        fixture!("pgbench_log.18562"),
        fixture!("pgbench_log.18562.1"),
    ];
    let run = one(Tool::Pgbench, &files);
    assert_eq!(
        (run.head.source, run.head.tool.as_str()),
        (Source::Pgbench, "pgbench 15.18")
    );
    assert_eq!(run.head.workload.name, "tpcb-like");
    let summary = summary(&run);
    let printed = |label: &str| -> f64 {
        let line = files[0]
            .text
            .lines()
            .find(|line| line.starts_with(label))
            .unwrap();
        let value = line[label.len()..].trim_start_matches([' ', '=', ':']);
        value.split([' ', '/']).next().unwrap().parse().unwrap()
    };
    assert_eq!(summary.rates.events_per_s, printed("tps"));
    assert_eq!(
        summary.totals.events as f64,
        printed("number of transactions actually processed")
    );
    let rows = transactions(&files[1..]);
    let response: Vec<u64> = rows.iter().map(|row| row[2]).collect();
    let service: Vec<u64> = rows.iter().map(|row| row[2] - row[6]).collect();
    let of = |percent: f64, latency: &dyno_core::summary::LatencySummary| {
        let found = latency
            .percentiles
            .iter()
            .find(|own| own.percent == percent);
        found.unwrap().value_ms.unwrap()
    };
    let took = summary.response.as_ref().unwrap();
    for percent in [50, 95] {
        assert_eq!(of(percent as f64, took), nearest(response.clone(), percent));
        assert_eq!(
            of(percent as f64, &summary.service),
            nearest(service.clone(), percent)
        );
    }
    assert_eq!(
        took.max_ms,
        response.iter().max().map(|us| *us as f64 / 1e3)
    );
    // The requested rate is not printed.
    let drive = run.head.drive.as_ref().unwrap();
    assert_eq!((drive.sessions, drive.open_loop), (2, None));
    assert!(unknown(&run, "open_loop") && !unknown(&run, "drive"));
    let events: u64 = run
        .intervals
        .iter()
        .map(|interval| interval.counters.events)
        .sum();
    assert_eq!(events, summary.totals.events);
    assert_eq!(summary.latency_limit.unwrap().limit_ms, 3.0);
    assert_eq!(run.operations[0].spans.len(), run.intervals.len());
    let first = rows
        .iter()
        .map(|row| row[4] * 1_000_000 + row[5] - row[2])
        .min()
        .unwrap();
    assert_eq!(summary.started_unix_s, Some(first as f64 / 1e6));
}

#[test]
fn pgbench_without_single_transactions() {
    let run = one(Tool::Pgbench, &[fixture!("pgbench-timestamps.out")]);
    let summary = summary(&run);
    assert_eq!(summary.rates.events_per_s, 34_502.218_839);
    assert_eq!(
        (summary.service.mean_ms, summary.service.stddev_ms),
        (Some(0.057), Some(0.058))
    );
    assert_eq!(
        (summary.service.max_ms, summary.service.min_ms),
        (None, None)
    );
    assert!(unknown(&run, "service.max_ms") && unknown(&run, "service.percentiles"));
    assert_eq!(summary.started_unix_s, Some(1_795_615_940.56));
    let rates: Vec<f64> = run.intervals.iter().map(|own| own.events_per_s()).collect();
    assert_eq!(rates, [36_223.5, 36_686.3, 30_470.2]);
    assert_eq!(run.intervals[2].at_s.round(), 3.0);
    assert_eq!(run.head.drive.as_ref().unwrap().sessions, 2);
    assert!(
        run.series
            .iter()
            .any(|series| series.key.name == "import.latency.mean")
    );
}

#[test]
fn scripts_of_pgbench_apart() {
    let run = one(Tool::Pgbench, &[fixture!("pgbench-scripts.out")]);
    assert_eq!(run.head.workload.name, "a.sql+b.sql");
    let figures = summary(&run).figures.iter();
    let figures: Vec<(&str, f64)> = figures.map(|own| (own.name.as_str(), own.value)).collect();
    assert_eq!(
        figures,
        [
            ("a.sql", 736.128_284),
            ("a.sql, mean latency", 2.209),
            ("b.sql", 2_450.574_244),
            ("b.sql, mean latency", 0.079),
        ]
    );
    let statement = run.fact("import.statement[2]").unwrap();
    assert_eq!(statement, "2.093 ms: \\sleep 2ms");
}

#[test]
fn a_log_of_pgbench_that_lacks_a_file() {
    let files = [fixture!("pgbench-rate.out"), fixture!("pgbench_log.18562")];
    let imported = read(Tool::Pgbench, &files);
    let warning = imported.warnings[0].to_string();
    assert_has(&warning, "it is a sample, or one of its files is missing");
    // Its latencies cover only a part; the intervals come from progress lines.
    let run = &imported.runs[0];
    assert!(
        run.intervals
            .iter()
            .all(|interval| interval.printed.is_some())
    );
    assert!(summary(run).fairness.is_none());
    // Without the output, an additional column is ambiguous.
    let alone = read(Tool::Pgbench, &files[1..]);
    assert_has(&alone.warnings[0].to_string(), "it is not read");
    assert!(summary(&alone.runs[0]).response.is_none());
}

#[test]
fn groups_of_fio_are_runs() {
    let imported = read(Tool::Fio, &[fixture!("fio-jsonplus.json")]);
    assert_eq!(imported.warnings, []);
    let [write, mixed] = imported.runs.as_slice() else {
        panic!("two groups");
    };
    assert_eq!(
        (write.head.source, write.head.tool.as_str()),
        (Source::Fio, "fio 3.33")
    );
    assert_eq!(summary(write).rates.events_per_s, 109_072.975_675);
    assert_eq!(summary(write).totals.events, 327_328);
    assert_eq!(summary(write).drive.as_ref().unwrap().sessions, 2);
    let sync = operation(write, "sync");
    assert_eq!(
        (sync.totals.done, sync.service.max_ms),
        (10_229, Some(5.350_468))
    );
    // Percentiles are those printed, to the nanosecond.
    let p95 = operation(mixed, "read").service.percentiles[1];
    let json: serde_json::Value = serde_json::from_str(text!("fio-jsonplus.json")).unwrap();
    let clat = &json["jobs"][1]["read"]["clat_ns"];
    assert_eq!(
        p95.value_ms,
        Some(clat["percentile"]["95.000000"].as_f64().unwrap() / 1e6)
    );
    // Those of both directions together come from all bins.
    let mut bins: Vec<(u64, u64)> = ["read", "write"]
        .into_iter()
        .flat_map(|name| {
            json["jobs"][1][name]["clat_ns"]["bins"]
                .as_object()
                .unwrap()
        })
        .map(|(ns, count)| (ns.parse().unwrap(), count.as_u64().unwrap()))
        .collect();
    bins.sort_unstable();
    let all: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut sum = 0;
    let middle = bins.iter().find(|(_, count)| {
        sum += count;
        sum * 2 >= all
    });
    let p50 = summary(mixed).service.percentiles[0].value_ms.unwrap();
    let expected = middle.unwrap().0 as f64 / 1e6;
    assert!((p50 / expected - 1.0).abs() < 0.002, "{p50} {expected}");
    assert_eq!(summary(mixed).service.count, all);
}

#[test]
fn seconds_and_jobs_of_fio() {
    let run = one(Tool::Fio, &[fixture!("fio-status.json")]);
    assert_eq!(run.intervals.len(), 4);
    let events: u64 = run
        .intervals
        .iter()
        .map(|interval| interval.counters.events)
        .sum();
    assert_eq!(events, summary(&run).totals.events);
    assert!(summary(&run).started_unix_s.is_some());
    let jobs = one(Tool::Fio, &[fixture!("fio-jobs.json")]);
    assert_eq!(summary(&jobs).drive.as_ref().unwrap().sessions, 2);
    // The percentiles of two jobs are not those of all.
    assert_eq!(summary(&jobs).service.percentiles, []);
    assert!(unknown(&jobs, "service.percentiles"));
    assert_eq!(summary(&jobs).end, RunEnd::Completed);
    // The same jobs run again are another run, even with more I/Os.
    let mut again: serde_json::Value = serde_json::from_str(text!("fio-jobs.json")).unwrap();
    again["timestamp_ms"] = (again["timestamp_ms"].as_u64().unwrap() + 5_000).into();
    let twice = format!("{}\n{again}\n", text!("fio-jobs.json"));
    assert_eq!(read(Tool::Fio, &[log(&twice)]).runs.len(), 2);
    // If a document is cut off, those before it remain.
    let text = text!("fio-status.json");
    let cut = &text[..text.len() - 2000];
    let imported = read(Tool::Fio, &[log(cut)]);
    assert_has(
        &imported.warnings[0].to_string(),
        "the JSON is damaged here",
    );
    assert!(imported.runs[0].intervals.len() < 4);
}

#[test]
fn hammerdb_with_its_profile() {
    let files = [
        fixture!("written-hammerdb.log"),
        fixture!("written-hammerdb-profile.log"),
    ];
    let imported = read(Tool::Hammerdb, &files);
    assert_eq!(imported.runs.len(), 1);
    assert_has(
        &imported.warnings[0].text,
        "the time profile includes the ramp-up",
    );
    let run = &imported.runs[0];
    assert_eq!(run.head.tool, "HammerDB 4.10");
    assert_eq!(summary(run).figures[0].value, 43_912.0);
    assert_eq!(summary(run).rates.events_per_s, 101_003.0 / 60.0);
    assert_eq!(summary(run).measured_s, 300.0);
    assert_eq!(summary(run).started_unix_s, Some(1_791_368_522.0));
    let drive = summary(run).drive.as_ref().unwrap();
    assert_eq!((drive.sessions, drive.warmup.as_secs()), (8, 120));
    assert_eq!(operation(run, "neword").service.max_ms, Some(220.165));
    let counter = &run.series[0];
    assert_eq!(counter.points[0], (10.0, 101_234.0 / 60.0));
    assert!(unknown(run, "service") && unknown(run, "errors"));
}

#[test]
fn rejects_logs_of_another_tool() {
    for (tool, text, expected) in [
        (
            Tool::Pgbench,
            text!("cpu.out"),
            "it looks like a log of sysbench",
        ),
        (
            Tool::Sysbench,
            text!("pgbench-rate.out"),
            "a log of pgbench",
        ),
        (Tool::Fio, text!("cpu.out"), "no fio JSON"),
        (
            Tool::Hammerdb,
            text!("fio-jobs.json"),
            "it looks like fio's JSON",
        ),
        (Tool::Pgbench, "", "it is empty"),
    ] {
        let error = import(tool, &[log(text)], &[], &Options::default());
        let error = error.unwrap_err().to_string();
        assert_has(&error, expected);
    }
}

#[test]
fn host_logs_match_the_seconds_of_the_run() {
    let pgbench = "+ pgbench -c 2 -T 5 bench\n2026-11-25 14:12:57\n\
        progress: 1.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n\
        progress: 2.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n\
        progress: 3.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n\
        number of clients: 2\nnumber of transactions actually processed: 30\n\
        tps = 10.0 (without initial connection time)\n";
    let host = [(Monitor::Sar, fixture!("sar.txt"))];
    let imported = import(Tool::Pgbench, &[log(pgbench)], &host, &Options::default()).unwrap();
    let run = &imported.runs[0];
    let series = |name: &str| {
        run.series
            .iter()
            .find(|series| series.key.name == name)
            .unwrap()
    };
    // Samples from 14:12:58 to 14:13:01; the last one is less than a second after the run's end.
    assert_eq!(
        series("host.cpu.system").points,
        [(1.0, 1.0), (2.0, 0.5), (3.0, 0.5), (4.0, 0.5)]
    );
    // Devices are listed, so their sum is not.
    assert_eq!(
        series("host.disk[vda].write_bytes").points[1],
        (2.0, 4096.0)
    );
    assert!(
        run.series
            .iter()
            .all(|series| !series.key.name.starts_with("host.disk[all]"))
    );
    assert!(!unknown(run, "host.network") && unknown(run, "host.pressure"));
    assert_eq!(run.fact("host.cpu.threads"), Some("2"));
}

/// The contradictions in a log after a change.
fn contradictions(tool: Tool, text: &str) -> String {
    common::contradictions(&common::read(tool, text))
}

#[test]
fn contradictions_of_fio() {
    let json: serde_json::Value = serde_json::from_str(text!("fio-jsonplus.json")).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json = json.clone();
        change(&mut json["jobs"][0]["write"]);
        contradictions(Tool::Fio, &json.to_string())
    };
    assert_eq!(changed(&|_| {}), "");
    let tripled = changed(&|own| {
        for bin in own["clat_ns"]["bins"].as_object_mut().unwrap().values_mut() {
            *bin = (bin.as_u64().unwrap() * 3).into();
        }
    });
    let expected = "write, write: its bins hold 981984 latencies, but the log says 327328";
    assert_eq!(tripled, expected);
    let wide = changed(&|own| own["bw_bytes"] = (446_762_908_u64 * 1000).into());
    assert_has(&wide, "bw_bytes is 446762908000 bytes per second");
    let narrow = changed(&|own| (own["bw_bytes"], own["bw"]) = (1.into(), 0.into()));
    assert_has(&narrow, "but the log says 1");
    assert_has(&narrow, "less than a byte each");
    let still = changed(&|own| own["runtime"] = 0.into());
    assert_has(&still, "in a runtime of 0 ms");
    let few = changed(&|own| (own["total_ios"], own["iops"]) = (10.into(), 3.3.into()));
    assert_has(&few, "327328 latencies of 10 I/Os");
    let low = changed(&|own| own["clat_ns"]["percentile"]["99.000000"] = 1.into());
    assert_has(&low, "is above the 99th percentile, 1 ns");
    let early = changed(&|own| own["lat_ns"]["mean"] = 1.0.into());
    assert_has(&early, "a mean lat of 1 ns");
    let mut jobs: serde_json::Value = serde_json::from_str(text!("fio-jobs.json")).unwrap();
    for name in ["bw_bytes", "bw", "io_bytes"] {
        let own = &mut jobs["jobs"][0]["read"][name];
        *own = (own.as_u64().unwrap() * 1000).into();
    }
    let large = contradictions(Tool::Fio, &jobs.to_string());
    assert_has(&large, "but a block has 4096");
    for text in [text!("fio-jobs.json"), text!("fio-status.json")] {
        assert_eq!(contradictions(Tool::Fio, text), "");
    }
}

#[test]
fn sums_of_fio_are_exact() {
    let imported = read(Tool::Fio, &[fixture!("fio-jsonplus.json")]);
    let mixed = summary(&imported.runs[1]);
    assert_eq!(mixed.rates.events_per_s, 16_139.620_127);
}

#[test]
fn contradictions_of_hammerdb() {
    let log = text!("written-hammerdb.log");
    assert_eq!(contradictions(Tool::Hammerdb, log), "");
    let long = log.replace("test period of 5 in", "test period of 500 in");
    let expected = "the test period should be 30000 s, but the log's times span 300 s";
    assert_eq!(contradictions(Tool::Hammerdb, &long), expected);
    let minutes = "Vuser 1:4 ...,\nVuser 1:5 ...,\nVuser 1:Test complete";
    let counted = log.replace("Vuser 1:Test complete", minutes);
    assert_eq!(contradictions(Tool::Hammerdb, &counted), "");
    let expected = "should be 5 minutes, but the log counts 4 until";
    let found = contradictions(Tool::Hammerdb, &counted.replace("Vuser 1:5 ...,\n", ""));
    assert_has(&found, expected);
    let slow = ["101234", "104410", "99872"]
        .iter()
        .fold(log.to_owned(), |log, tpm| log.replace(tpm, "5"));
    let expected = "showed 5 to 5 transactions per minute, but the result says 101003";
    let found = contradictions(Tool::Hammerdb, &slow);
    assert_has(&found, expected);
    let none = log.replace("from 101003", "from 44000");
    let found = contradictions(Tool::Hammerdb, &none);
    assert_has(&found, "but the result says 44000");
}

#[test]
fn contradicting_figures_of_hammerdb_are_left_out() {
    let log = text!("written-hammerdb.log");
    let run = |text: &str| common::one(Tool::Hammerdb, text);
    let long = run(&log.replace("test period of 5 in", "test period of 500 in"));
    assert!(unknown(&long, "measured_s"));
    assert_eq!(summary(&long).rates.events_per_s, 101_003.0 / 60.0);
    for (from, to, expected) in [
        (
            "43912 NOPM",
            "0 NOPM",
            "0 new orders of 101003 transactions",
        ),
        (
            "43912",
            "143912",
            "143912 new orders of 101003 transactions",
        ),
        ("from 101003", "from 44000", "but the result says 44000"),
    ] {
        let imported = common::read(Tool::Hammerdb, &log.replace(from, to));
        assert_has(&common::contradictions(&imported), expected);
        let run = &imported.runs[0];
        assert!(run.summary.is_none() && run.series.is_empty(), "{to}");
        assert!(unknown(run, "totals"), "{to}");
        let left = |own: &dyno_import::Warning| own.text.contains("the result and the");
        assert!(imported.warnings.iter().any(left), "{to}");
    }
    // All of them said that they run.
    let running: String = (1..=9)
        .map(|user| format!("Vuser {user}:RUNNING\n"))
        .collect();
    let text = format!("{running}{log}");
    assert_eq!(contradictions(Tool::Hammerdb, &text), "");
    let many = text.replace("8 Active", "80 Active");
    let expected = "80 virtual users were configured, but 9 ran, of which one measures";
    assert_eq!(contradictions(Tool::Hammerdb, &many), expected);
    assert!(run(&many).head.drive.is_none() && unknown(&run(&many), "drive"));
    // A log that lacks a line of them proves nothing.
    let cut = many.replace("Vuser 5:RUNNING\n", "");
    assert_eq!(contradictions(Tool::Hammerdb, &cut), "");
}
