//! Logs that are cut off, damaged, wrapped, doubled or shortened, with the right figures.

// Clippy does not treat test helpers as tests.

use crate::common::{one, read, summary};
use dyno_core::catalogue::names;
use dyno_core::record::RunRecord;
use dyno_import::{Imported, Log, Options, Tool, import};

fn events_per_s(run: &RunRecord) -> f64 {
    summary(run).rates.events_per_s
}

fn warns(imported: &Imported, what: &str) -> usize {
    let warnings = imported.warnings.iter();
    warnings.filter(|one| one.text.contains(what)).count()
}

fn line(at_s: u32, tps: f64) -> String {
    let (reads, writes, other) = (tps * 3.0, tps, tps * 2.0);
    let queries = tps * 6.0;
    format!(
        "[ {at_s}s ] thds: 4 tps: {tps:.2} qps: {queries:.2} \
         (r/w/o: {reads:.2}/{writes:.2}/{other:.2}) lat (ms,95%): 6.21 err/s: 0.00 reconn/s: 0.00\n"
    )
}

const HEAD: &str = "Running the test with following options:\nNumber of threads: 4\n\
                    Report intermediate results every 1 second(s)\n\
                    Threads started!\n";

/// This many seconds of 700 events, with a different count in one of them.
fn lines(seconds: u32, odd: (u32, f64)) -> String {
    let tps = |at_s| if at_s == odd.0 { odd.1 } else { 700.0 };
    let lines: String = (1..=seconds).map(|at_s| line(at_s, tps(at_s))).collect();
    format!("{HEAD}{lines}")
}

/// The report that sysbench prints after this many events in this many seconds.
fn report(events: u32, seconds: f64) -> String {
    let per_s = f64::from(events) / seconds;
    let (reads, queries) = (events * 3, events * 6);
    format!(
        "SQL statistics:\n    queries performed:\n        read: {reads}\n        write: {events}\n\
         \x20       other: {}\n        total: {queries}\n\
         \x20   transactions: {events} ({per_s:.2} per sec.)\n\
         \x20   queries: {queries} ({:.2} per sec.)\n\
         General statistics:\n    total time: {seconds:.4}s\n\
         \x20   total number of events: {events}\nLatency (ms):\n         min: 2.10\n\
         \x20        avg: 5.70\n         max: 31.00\n         95th percentile: 6.21\n\
         \x20        sum: {:.2}\nThreads fairness:\n    events (avg/stddev): {:.4}/2.10\n\
         \x20   execution time (avg/stddev): {seconds:.4}/0.00\n",
        events * 2,
        per_s * 6.0,
        f64::from(events) * 5.7,
        f64::from(events) / 4.0,
    )
}

#[test]
fn ignores_a_figure_cut_off_at_the_end_of_a_sysbench_log() {
    let whole = lines(30, (0, 0.0));
    let next = line(31, 1234.0);
    // Within the rate of events, of statements, and of reads; with and without a shell's words.
    for end in ["tps: 12", "tps: 1234.0", "qps: 74", "(r/w/o: 37", "/12"] {
        let end = next.find(end).unwrap() + end.len();
        for after in ["", "\nKilled\n", "x.sh: line 7: 4711 Killed\n"] {
            let text = format!("{whole}{}{after}", &next[..end]);
            let run = one(Tool::Sysbench, &text);
            let read = (events_per_s(&run), run.intervals.len());
            assert_eq!(read, (700.0, 30), "{text}");
            assert_eq!(run.summary.as_ref().unwrap().measured_s, 30.0);
            assert!(run.fact(names::IMPORT_CUT_OFF).is_some());
            assert!(run.not_observed("service.mean_ms").is_some());
        }
    }
}

#[test]
fn a_log_glued_to_a_cut_line_begins_there() {
    let next = line(6, 700.0);
    let banner = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";
    let second = format!("{banner}{}{}", lines(12, (0, 0.0)), report(8400, 12.002));
    for end in ["tps: 70", "qp", "(r/w/o: 2100.00/", "6.21 "] {
        let end = next.find(end).unwrap() + end.len();
        let text = format!("{}{}{second}", lines(5, (2, 650.0)), &next[..end]);
        let imported = read(Tool::Sysbench, &text);
        assert_eq!(warns(&imported, "a truncated line"), 1, "{text}");
        let runs = imported.runs.iter();
        let runs = runs.map(|run| (run.head.tool.as_str(), run.intervals.len()));
        let expected = [("sysbench", 5), ("sysbench 1.0.20", 12)];
        assert_eq!(runs.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn ignores_a_sysbench_report_cut_within_a_figure() {
    let whole = format!("{}{}", lines(20, (0, 0.0)), report(14_000, 20.003));
    for at in [
        "total: 84",
        "transactions: 14",
        "14000 (69",
        "total time: 2",
        "sum: 79",
        "events (avg/stddev):",
        "events (avg/stddev): 3500.0000/",
    ] {
        let end = whole.find(at).unwrap() + at.len();
        let run = one(Tool::Sysbench, &whole[..end]);
        let rate = events_per_s(&run);
        assert!((rate - 700.0).abs() < 1.0, "{at}: {rate}");
        assert!(run.fact(names::IMPORT_CUT_OFF).is_some(), "{at}");
        assert_eq!(run.fact("import.contradictions"), None, "{at}");
    }
    // Only the last deviation is missing.
    let last = whole.trim_end().strip_suffix("0.00").unwrap();
    let run = one(Tool::Sysbench, last);
    assert_eq!(run.fact("import.contradictions"), None);
    assert_eq!(run.summary.unwrap().service.mean_ms, Some(5.7));
    // A complete report without a line feed is complete.
    let run = one(Tool::Sysbench, whole.trim_end());
    assert_eq!(run.fact(names::IMPORT_CUT_OFF), None);
}

#[test]
fn other_text_within_a_figure_of_a_report_is_reported() {
    let text = format!("{}{}", lines(20, (0, 0.0)), report(14_000, 20.003));
    let text = text.replace(
        "transactions: 14000 (",
        "transactions: 14x.sh: line 7: Killed (",
    );
    let imported = read(Tool::Sysbench, &text);
    assert_eq!(
        warns(&imported, "a truncated line, perhaps within a figure"),
        1
    );
    assert_eq!(summary(&imported.runs[0]).totals.events, 14_000);
}

#[test]
fn a_line_beyond_the_report_is_left_out_and_named() {
    let text = format!("{}{}", lines(40, (17, 2400.0)), report(28_010, 40.003));
    let imported = read(Tool::Sysbench, &text);
    assert_eq!(warns(&imported, "implies about 2400 events"), 1);
    let run = &imported.runs[0];
    assert_eq!(run.intervals.len(), 39);
    assert_eq!(run.fact("import.contradictions"), None);
    // A burst that the report includes stays.
    let text = format!("{}{}", lines(40, (17, 2400.0)), report(29_710, 40.003));
    let run = one(Tool::Sysbench, &text);
    assert_eq!(run.intervals.len(), 40);
    // The rate is impossible, regardless of the report.
    let text = lines(40, (17, 18_446_744_073_709_551_616.0));
    let run = one(Tool::Sysbench, &text);
    assert_eq!((run.intervals.len(), events_per_s(&run)), (39, 700.0));
}

#[test]
fn a_queue_that_is_not_printed_is_unknown() {
    let head = "Running the test with following options:\nNumber of threads: 4\n\
                Target transaction rate: 900/sec\nThreads started!\n";
    let run = one(Tool::Sysbench, &format!("{head}{}", report(14_000, 20.003)));
    let open = run.summary.as_ref().unwrap().open_loop.clone().unwrap();
    assert_eq!((open.backlog, open.backlog_max), (None, None));
    assert!(run.not_observed("open_loop.backlog").is_some());
}

#[test]
fn prefixes_of_lines_and_doubled_lines() {
    let plain = format!("{}{}", lines(12, (0, 0.0)), report(8400, 12.002));
    let expected = one(Tool::Sysbench, &plain);
    for prefix in ["bench-1  | ", "> ", "Nov 21 13:07:48 db7 sysbench[47]: "] {
        let wrapped: String = plain
            .lines()
            .map(|line| format!("{prefix}{line}\n"))
            .collect();
        let run = one(Tool::Sysbench, &wrapped);
        assert_eq!(events_per_s(&run), events_per_s(&expected), "{prefix}");
        assert_eq!(run.intervals.len(), 12, "{prefix}");
    }
    let twice: String = lines(12, (0, 0.0))
        .lines()
        .map(|line| format!("{line}\n{line}\n"))
        .collect();
    let imported = read(Tool::Sysbench, &twice);
    assert_eq!(imported.runs[0].intervals.len(), 12);
    assert_eq!(warns(&imported, "each line of the log occurs twice"), 1);
    assert_eq!(warns(&imported, "second report of the same time"), 0);
    // A whole log with its command line is the same run.
    let doubled = |text: &str| -> String {
        let lines = text.lines();
        lines.map(|line| format!("{line}\n{line}\n")).collect()
    };
    let whole = format!("+ sysbench oltp_delete --time=12 --threads=4 run\n{plain}");
    let run = one(Tool::Sysbench, &doubled(&whole));
    assert_eq!(run.head.workload.name, "oltp_delete");
    assert_eq!(run.head.name, one(Tool::Sysbench, &whole).head.name);
    assert_eq!(summary(&run).service.percentiles.len(), 1);
    // Only the report lines are doubled.
    let lines = doubled(&lines(12, (0, 0.0)));
    let report = report(8400, 12.002);
    let imported = read(Tool::Sysbench, &format!("{lines}{report}"));
    assert_eq!(imported.runs[0].intervals.len(), 12);
    assert_eq!(warns(&imported, "second report of the same time"), 1);
    assert_eq!(warns(&imported, "11 more like this"), 1);
}

const PGBENCH: &str = "pgbench (16.3 (Debian 16.3-1))\ntransaction type: multiple scripts\n\
                       scaling factor: 7\nquery mode: simple\nnumber of clients: 6\n\
                       number of threads: 2\nmaximum number of tries: 1\n";

#[test]
fn a_report_of_pgbench_cut_within_its_rate() {
    let timed = "duration: 40 s\nnumber of transactions actually processed: 32000\n\
                 number of failed transactions: 0 (0.000%)\nlatency average = 7.499 ms\ntps = 80";
    let run = one(Tool::Pgbench, &format!("{PGBENCH}{timed}"));
    assert_eq!(events_per_s(&run), 800.0);
    assert!(run.fact(names::IMPORT_CUT_OFF).is_some());
    // By 6 clients with 7.5 ms each.
    let counted = "number of transactions per client: 4000\n\
                   number of transactions actually processed: 24000/24000\n\
                   latency average = 7.500 ms\ntps = 8";
    let run = one(Tool::Pgbench, &format!("{PGBENCH}{counted}"));
    assert_eq!(events_per_s(&run).round(), 800.0);
    assert_eq!(run.fact("client.version"), Some("16.3 (Debian 16.3-1)"));
}

#[test]
fn a_sampled_transaction_log_is_detected_by_its_numbers() {
    let log = |step: u32| -> String {
        let numbers = (1..=200).step_by(step as usize);
        let line = |n: u32| {
            format!(
                "0 {n} 900 0 17957970{:02} {}\n",
                n / 20,
                n % 20 * 50_000 + 7
            )
        };
        numbers.map(line).collect()
    };
    assert_eq!(
        one(Tool::Pgbench, &log(1)).fact(names::IMPORT_CUT_OFF),
        None
    );
    let imported = read(Tool::Pgbench, &log(4));
    let fact = imported.runs[0].fact(names::IMPORT_CUT_OFF).unwrap();
    assert!(fact.contains("contains 50 of 197"), "{fact}");
    assert_eq!(warns(&imported, "contains 50 of 197"), 1);
}

#[test]
fn a_transaction_log_that_lacks_clients_is_doubted() {
    let log = |clients: &[u32]| -> String {
        let line = |client: &u32| {
            (1..=20)
                .map(|n| format!("{client} {n} 900 0 1795797000 {}\n", n * 40_000 + client))
                .collect::<String>()
        };
        clients.iter().map(line).collect()
    };
    let fact = |clients: &[u32]| {
        let run = one(Tool::Pgbench, &log(clients));
        run.fact(names::IMPORT_CUT_OFF).map(str::to_owned)
    };
    assert_eq!(fact(&[0, 1, 2, 3]), None);
    for clients in [&[2, 3][..], &[0, 3]] {
        let found = fact(clients).unwrap_or_default();
        assert!(found.contains("nothing from 2 of the clients"), "{found}");
    }
}

#[test]
fn a_transaction_log_of_another_run_is_doubted() {
    let line = |n: u32| {
        let at_us = n * 10_000;
        let (s, us) = (1_795_797_000 + at_us / 1_000_000, at_us % 1_000_000);
        format!("0 {n} 900 0 {s} {us}\n")
    };
    let report = |processed: u32| {
        format!(
            "number of transactions actually processed: {processed}\n\
             latency average = 0.9 ms\ntps = {processed}.0 (without initial connection time)\n"
        )
    };
    let fact = |logged: u32| {
        let log: String = (1..=logged).map(line).collect();
        let begin = PGBENCH.replace("multiple scripts", "<builtin: select only>");
        let text = format!("{begin}{}", report(100));
        let logs = [("out", text.as_str()), ("log", log.as_str())];
        let logs = logs.map(|(name, text)| Log { name, text });
        let mut imported = import(Tool::Pgbench, &logs, &[], &Options::default()).unwrap();
        assert_eq!(imported.runs.len(), 1);
        let run = imported.runs.remove(0);
        run.fact(names::IMPORT_CUT_OFF).map(str::to_owned)
    };
    assert_eq!(fact(100), None);
    let found = fact(120).unwrap_or_default();
    assert!(
        found.contains("contains 120 transactions, more than the 100 of the report"),
        "{found}"
    );
    // A log that ends at another time.
    let found = fact(2000).unwrap_or_default();
    assert!(found.contains("is 20.0 s long"), "{found}");
}

#[test]
fn other_text_within_a_figure_of_pgbench_is_named() {
    let text = "duration: 40 s\nnumber of transactions actually processed: 32000\n\
                latency average = 7.499 ms\nlatency stddev = 3.initial connection time = 9.1 ms\n\
                tps = 800.0 (without initial connection time)\n";
    let imported = read(Tool::Pgbench, &format!("{PGBENCH}{text}"));
    assert_eq!(
        warns(
            &imported,
            "unexpected text within a figure: 'latency stddev = 3.initial"
        ),
        1
    );
    let service = &imported.runs[0].summary.as_ref().unwrap().service;
    assert_eq!((service.mean_ms, service.stddev_ms), (Some(7.499), None));
}

#[test]
fn shortened_reports_of_pgbench_are_runs() {
    let part = |seconds: u32, per_s: u32| {
        format!(
            "duration: {seconds} s\nnumber of transactions actually processed: {}\n\
             latency average = 2.000 ms\ntps = {per_s}.5 (without initial connection time)\n",
            seconds * per_s
        )
    };
    let head = PGBENCH.replace("multiple scripts", "<builtin: select only>");
    let text = format!(
        "{head}{}== 2 ==\n{}{}",
        part(20, 900),
        part(60, 950),
        part(60, 970)
    );
    let imported = read(Tool::Pgbench, &text);
    let rates: Vec<f64> = imported.runs.iter().map(events_per_s).collect();
    assert_eq!(rates, [900.5, 950.5, 970.5]);
    let names = imported
        .runs
        .iter()
        .map(|run| run.head.workload.name.as_str());
    assert!(names.eq(["select-only"; 3]));
    assert_eq!(warns(&imported, "statistics restart here"), 2);
    // Versions before 14 print the rate twice.
    let old = "transaction type: <builtin: select only>\nnumber of clients: 2\n\
               number of transactions actually processed: 300\n\
               tps = 99.5 (including connections establishing)\n\
               tps = 100.5 (excluding connections establishing)\n";
    assert_eq!(events_per_s(&one(Tool::Pgbench, old)), 100.5);
}

#[test]
fn scripts_of_the_same_name_are_distinguished() {
    let script = |number: u32, name: &str, tps: f64| {
        format!(
            "SQL script {number}: {name}\n - weight: 1 (targets 50.0% of total)\n \
             - 900 transactions (50.0% of total)\n \
             - number of transactions actually processed: 800 (tps = {tps})\n \
             - latency average = 66.000 ms\n"
        )
    };
    let text = format!(
        "{PGBENCH}duration: 20 s\nnumber of transactions actually processed: 1600\n\
         number of failed transactions: 200 (11.111%)\n\
         latency average = 66.253 ms (including failures)\n\
         tps = 80.5 (without initial connection time)\n{}{}",
        script(1, "a/x/read.sql", 40.25),
        script(2, "a/y/read.sql", 40.5)
    );
    let run = one(Tool::Pgbench, &text);
    assert_eq!(run.head.workload.name, "x/read.sql+y/read.sql");
    let figures = &run.summary.unwrap().figures;
    let values: Vec<(&str, f64)> = figures
        .iter()
        .map(|one| (one.name.as_str(), one.value))
        .collect();
    assert_eq!(values[0], ("x/read.sql", 40.25));
    assert_eq!(values[2], ("y/read.sql", 40.5));
}

#[test]
fn the_last_progress_line_counts() {
    let rates = [480, 470, 460, 450, 250, 190];
    let progress: String = (1..)
        .zip(rates)
        .map(|(at, tps)| format!("progress: {at}0.0 s, {tps}.0 tps, lat 9.000 ms stddev 1.000\n"))
        .collect();
    let processed: u32 = rates.iter().sum::<u32>() * 10;
    let text = format!(
        "{progress}{PGBENCH}duration: 60 s\n\
         number of transactions actually processed: {processed}\n\
         latency average = 9.000 ms\ntps = 383.345 (without initial connection time)\n"
    );
    let run = one(Tool::Pgbench, &text);
    // 23,000 at 383.345 per second take 59.998 s, and the line says 60.0 s.
    assert_eq!(dyno_analysis::bins::of(&run).len(), 6);
}

#[test]
fn latency_excludes_the_connection_time_of_each_transaction() {
    let text = format!(
        "{PGBENCH}duration: 20 s\nnumber of transactions actually processed: 9000\n\
         latency average = 13.000 ms\naverage connection time = 12.500 ms\n\
         tps = 461.5 (including reconnection times)\n"
    );
    let run = one(Tool::Pgbench, &text);
    assert_eq!(run.summary.as_ref().unwrap().service.mean_ms, Some(0.5));
    let figure = |name: &str| {
        let summary = run.summary.as_ref().unwrap();
        summary
            .figures
            .iter()
            .find(|one| one.name == name)
            .map(|one| one.value)
    };
    assert_eq!(figure("mean time to connect"), Some(12.5));
    assert!(
        run.head
            .workload
            .options
            .iter()
            .any(|(name, _)| name == "connect")
    );
}

#[test]
fn a_log_of_sums_alone_is_a_complete_run() {
    let row = |at: u32, rest: &str| format!("17956000{at:02} {rest}\n");
    let text = [
        row(10, "1000 250000 80000000 50 900 0 0 0 0 0 0 0 0 0"),
        row(20, "1900 475000 152000000 40 1500 0 0 0 0 20 0 0 300 30"),
        row(30, "2000 500000 160000000 45 1200 0 0 0 0 10 7 9 200 20"),
        row(40, "800 200000 64000000 60 1800 0 0 0 0 0 0 0 0 0"),
    ];
    let imported = read(Tool::Pgbench, &text.concat());
    let run = &imported.runs[0];
    let summary = run.summary.as_ref().unwrap();
    let service = &summary.service;
    assert_eq!(
        (service.mean_ms, service.min_ms, service.max_ms),
        (Some(0.25), Some(0.04), Some(1.5))
    );
    assert_eq!((service.count, service.percentiles.len()), (3900, 0));
    for what in [
        "service.mean_ms",
        "service.min_ms",
        "service.max_ms",
        "errors",
    ] {
        assert_eq!(run.not_observed(what), None, "{what}");
    }
    assert!(run.not_observed("service.percentiles").is_some());
    // Within the complete periods, 550 of 4,450 failed.
    assert_eq!((summary.totals.not_done, summary.totals.retries), (550, 9));
    assert_eq!(
        (summary.totals.events, summary.rates.events_per_s),
        (3900, 195.0)
    );
    assert_eq!(warns(&imported, "30 transactions were skipped"), 1);
    let left_out = "1800 transactions of the first and the last interval are left out";
    assert_eq!(warns(&imported, left_out), 1);
    // Columns of zeros may not have been requested.
    let none = [
        text[0].clone(),
        text[3].clone(),
        row(50, "800 200000 64000000 60 1800"),
    ];
    let run = one(Tool::Pgbench, &none.concat());
    assert!(run.not_observed("errors").is_some());
}

#[test]
fn times_of_zero_are_left_out_of_latencies() {
    let rows = (0..400_u64).map(|at| {
        let us = if at % 5 == 0 { 0 } else { 100 + at };
        format!("0 {at} {us} 0 1795600000 {}\n", at * 2000)
    });
    let imported = read(Tool::Pgbench, &rows.collect::<String>());
    let run = &imported.runs[0];
    let service = &run.summary.as_ref().unwrap().service;
    assert_eq!((service.count, service.min_ms), (320, Some(0.101)));
    assert_eq!(run.summary.as_ref().unwrap().totals.events, 400);
    assert_eq!(run.fact("import.untimed"), Some("80"));
    assert_eq!(
        warns(&imported, "80 of 400 transactions have a time of 0 µs"),
        1
    );
}
