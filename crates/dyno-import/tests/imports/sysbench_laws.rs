//! Figures of sysbench that break a law are left out and named.

use crate::common::{self, contradictions, read, summary};
use dyno_core::record::RunRecord;
use dyno_import::{Imported, Options, Tool, import};
use dyno_samples::assert_has;

pub(crate) fn log(text: &str) -> (Imported, String) {
    let imported = read(Tool::Sysbench, text);
    assert_eq!(imported.runs.len(), 1);
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    (imported, warnings.join("\n"))
}

/// A consistent report with one figure replaced.
fn changed(figure: &str, by: &str) -> String {
    let log = text!("consistent.out");
    assert!(log.contains(figure), "{figure}");
    log.replacen(figure, by, 1)
}

/// The run of a log that contradicts itself in this way.
pub(crate) fn broken(text: &str, expected: &str) -> RunRecord {
    let (mut imported, warnings) = log(text);
    assert_has(&contradictions(&imported), expected);
    assert_has(&warnings, expected);
    imported.runs.remove(0)
}

#[test]
fn no_event_is_longer_than_its_run() {
    let run = broken(
        &changed("  90.00\n", "  70000.00\n"),
        "the maximum of the latencies, 70000.00 ms, is longer than the run, 60.0 s; it is left out",
    );
    assert_eq!(summary(&run).service.max_ms, None);
    assert!(run.not_observed("service.max_ms").is_some());
    let (imported, _) = log(&changed("  90.00\n", "  60001.00\n"));
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn an_overflow_of_sysbench_is_named_and_left_out() {
    let (imported, warnings) = log(&changed("  90.00\n", "  18446744073709.55\n"));
    let expected = "the maximum of the latencies, 18446744073709.55 ms, is a time below zero that \
                    overflowed in sysbench; it is left out";
    assert_has(&warnings, expected);
    assert_eq!(contradictions(&imported), "");
    assert_eq!(summary(&imported.runs[0]).service.max_ms, None);
}

#[test]
fn latencies_are_in_order_to_their_last_digit() {
    let run = broken(
        &changed("  90.00\n", "  39.98\n"),
        "the mean of the latencies, 40.00 ms, is above the maximum, 39.98 ms; they are left out",
    );
    assert!(run.not_observed("service.mean_ms").is_some());
    let whole = changed("95th percentile:", "100th percentile:");
    broken(
        &whole,
        "the maximum of the latencies, 90.00 ms, is above the 100th percentile, 60.00 ms",
    );
    let (imported, _) = log(&whole.replacen("  60.00\n", "  89.16\n", 1));
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn latencies_beyond_the_histogram_contradict_nothing() {
    // sysbench counts latencies of more than 100 s as 100 s.
    let text = text!("consistent.out").replace("60.0000", "720000.0000");
    let text = ["10.00\n", "40.00\n", "90.00\n", "240000.00\n"]
        .iter()
        .fold(text, |text, ms| {
            let longer: f64 = ms.trim().parse().unwrap();
            text.replacen(
                &format!("  {ms}"),
                &format!("  {:.2}\n", longer * 12_000.0),
                1,
            )
        });
    let text = text.replacen("  60.00\n", "  100000.00\n", 1);
    let (imported, _) = log(&text);
    let found = contradictions(&imported);
    assert!(!found.contains("percentile"), "{found}");
}

#[test]
fn the_sum_implies_the_mean_to_its_last_digit() {
    let run = broken(
        &changed("  40.00\n", "  40.02\n"),
        "the sum of latencies implies a mean of 40.00 ms, but the report says 40.02 ms; they are \
         left out",
    );
    for what in ["service.mean_ms", "service.sum_ms"] {
        assert!(run.not_observed(what).is_some(), "{what}");
    }
    let (imported, _) = log(&changed("  240000.00\n", "  240024.00\n"));
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn threads_deviate_no_more_than_their_mean_allows() {
    let run = broken(
        &changed("1500.0000/10.00", "1500.0000/2700.00"),
        "the events of 4 threads deviate by 2700.00, but with a mean of 1500.0 by at most 2598.1; \
         it is left out",
    );
    assert!(summary(&run).fairness.is_none());
    let (imported, _) = log(&changed("1500.0000/10.00", "1500.0000/2598.08"));
    assert_eq!(contradictions(&imported), "");
    // A thread that is always in events has no more time.
    broken(
        &changed("60.0000/0.00", "60.0000/9.00"),
        "the times of 4 threads in events deviate by 9.00 s",
    );
}

#[test]
fn rates_that_imply_different_times_are_left_out() {
    let run = broken(
        &changed("(100.00 per", "(98.96 per"),
        "6000 transactions at 98.96 per second take 60.6 s",
    );
    assert_eq!(summary(&run).rates.events_per_s, 100.0);
    // The figures of an article, without decimals.
    let (imported, _) = log(&changed("(100.00 per", "(100 per"));
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn bytes_are_requests_of_a_block() {
    let files = text!("fileio.out");
    let run = broken(
        &files.replace("336.81", "3368.10"),
        "21555.53 reads of 16.00 KiB per second make 336.81 MiB/s, but the report says 3368.10; \
         they are left out",
    );
    assert_eq!(run.fact("import.fileio.read_mib_per_s"), None);
    assert_eq!(run.fact("import.fileio.written_mib_per_s"), Some("224.54"));
    // Requests of several blocks.
    let merged = "Block size 16KiB\nMerging requests up to 1MiB for sequential IO.\n";
    let merged = files.replace("Block size 16KiB\n", merged);
    let (imported, _) = log(&merged.replace("336.81", "3368.10"));
    assert_eq!(contradictions(&imported), "");
    let memory = text!("memory.out");
    let run = broken(
        &memory.replace("(4224.88", "(422.48"),
        "operations of 1.00 KiB per second make 4224.88 MiB/s, but the report says 422.48",
    );
    assert_eq!(run.fact("import.memory.mib_per_s"), None);
    broken(
        &memory.replace("8460.11", "84601.10"),
        "8663149 operations of 1.00 KiB make 8460.11 MiB, but the report says 84601.10",
    );
}

const REPORT: &str = "\
SQL statistics:
    queries performed:
        read:                            14000
        write:                           4000
        other:                           2000
        total:                           20000
    transactions:                        1000   (99.96 per sec.)
    queries:                             20000  (1999.26 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0037s
    total number of events:              1000

Latency (ms):
         min:                                   25.01
         avg:                                   40.01
         max:                                   81.30
         95th percentile:                       50.11
         sum:                                40012.00

Threads fairness:
    events (avg/stddev):           250.0000/1.00
    execution time (avg/stddev):   10.0030/0.00
";

/// A line of 100 events and 2,000 statements per second.
fn line(at_s: u32) -> String {
    format!(
        "[ {at_s}s ] thds: 4 tps: 100.00 qps: 2000.00 (r/w/o: 1400.00/400.00/200.00) \
         lat (ms,95%): 50.11 err/s: 0.00 reconn/s: 0.00\n"
    )
}

/// A run with lines at these times.
fn run_at(times: [u32; 5]) -> String {
    let lines: String = times.into_iter().map(line).collect();
    format!(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 4\n\
         Report intermediate results every 2 second(s)\n\nThreads started!\n\n{lines}{REPORT}"
    )
}

const TIMES: [u32; 5] = [2, 4, 6, 8, 10];

#[test]
fn intervals_add_up_to_the_events_of_the_report() {
    let (_, warnings) = log(&run_at(TIMES));
    assert_eq!(warnings, "");
    let second = |tps: &str| {
        let line = line(4);
        run_at(TIMES).replace(&line, &line.replace("tps: 100.00", &format!("tps: {tps}")))
    };
    let all = |events: u32| {
        format!("the intervals contain about {events} events, but the report says 1000")
    };
    broken(&second("150.50"), &all(1101));
    broken(&second("10.50"), &all(821));
    // A line may be late, so the one before it holds more.
    let (imported, _) = log(&second("113.00"));
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn a_percentile_is_between_those_of_the_intervals() {
    for ms in ["80.11", "26.11"] {
        let text = run_at(TIMES).replace("      50.11\n", &format!("      {ms}\n"));
        let expected = format!(
            "the 95th percentile of the run is {ms} ms, but those of its intervals are 50.11 to \
             50.11 ms; it is left out"
        );
        let run = broken(&text, &expected);
        assert_eq!(summary(&run).service.percentiles, []);
    }
    // A tenth of the events is in no line, and may be slower.
    let few = run_at([2, 4, 6, 8, 9]).replace("      50.11\n", "      80.11\n");
    let (imported, _) = log(&few);
    assert!(!contradictions(&imported).contains("95th percentile of the run"));
}

#[test]
fn lines_after_the_end_of_the_run_are_left_out() {
    let (imported, warnings) = log(&run_at([2, 4, 6, 18, 20]));
    let expected = "report lines up to 20 s, but the run ended at 10.0 s: 2 after its end are left \
                    out";
    assert_has(&warnings, expected);
    assert_eq!(imported.runs[0].intervals.len(), 3);
}

#[test]
fn statements_that_are_not_the_sum_of_their_kinds_are_left_out() {
    let first = line(2);
    let wrong = first.replace("qps: 2000.00", "qps: 9000.00");
    let (imported, warnings) = log(&run_at(TIMES).replace(&first, &wrong));
    let expected = "9000.00 queries/s, but reads, writes and other statements add up to 2000.00: \
                    the queries are left out";
    assert_has(&warnings, expected);
    let first = &imported.runs[0].intervals[0];
    assert_eq!(first.printed.unwrap().queries_per_s, Some(2000.0));
    // If the kinds fit the report no better, nothing is known.
    let lines = run_at(TIMES).replace("(r/w/o: 1400.00/400.00/200.00)", "(r/w/o: 1.00/1.00/1.00)");
    let (imported, _) = log(&lines);
    assert!(imported.runs[0].not_observed("intervals.queries").is_some());
}

#[test]
fn a_histogram_ascends_and_has_the_mean_of_the_report() {
    let last = "      36.894 |";
    let log = text!("histogram.out");
    assert!(log.contains(last));
    for (row, expected) in [
        (
            "       3.894 |",
            "the values of the histogram ascend, but 3.894 ms follows 19.645 ms; it is left out",
        ),
        (
            "    9036.894 |",
            "the values of the histogram have a mean of 8.38 ms, but the report says 3.94 ms; it \
             is left out",
        ),
    ] {
        let run = broken(&log.replace(last, row), expected);
        assert!(run.operations.is_empty(), "{row}");
        let why = run.not_observed("service.buckets").unwrap();
        assert_has(why, "histogram of latencies cannot be true");
        assert_eq!(summary(&run).service.mean_ms, Some(3.94));
    }
}

/// A log of `--histogram` without the rows that `without` names.
fn rows(without: impl Fn(usize) -> bool) -> String {
    let mut row = 0;
    let lines = text!("histogram.out").lines().filter(|line| {
        row += usize::from(line.contains(" |"));
        !line.contains(" |") || !without(row)
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_histogram_without_some_rows_is_left_out() {
    for without in [|row: usize| row > 40, |row: usize| row == 50] {
        let run = broken(
            &rows(without),
            "events, but the report 2028; it is left out",
        );
        assert!(run.operations.is_empty());
        assert!(run.not_observed("service.buckets").is_some());
        assert_eq!(summary(&run).service.percentiles.len(), 1);
    }
    // The report is missing.
    let whole = rows(|_| false);
    let end = whole.find("SQL statistics").unwrap();
    let (imported, _) = log(&whole[..end]);
    assert_eq!(imported.runs[0].operations.len(), 1);
    let last = whole[..end].trim_end();
    let middle = &last[..last.len() / 2];
    let killed = format!("{middle}\nKilled\n");
    for cut in [last, &last[..last.len() - 1], middle, &killed] {
        let (imported, warnings) = log(cut);
        assert!(imported.runs[0].operations.is_empty(), "{cut}");
        assert_has(&warnings, "of the histogram");
        let why = imported.runs[0].not_observed("service.buckets").unwrap();
        assert_has(why, "histogram of latencies");
    }
    // Without report lines, no figure remains.
    let bare = "Threads started!\nLatency histogram (values are in milliseconds)\n 1.003 |** 5\n";
    for text in [
        bare,
        "value_ms,count\n1.003,5\n1.021,1",
        "value_ms,count\n1.003,5\nx;y\n",
    ] {
        let logs = [common::log(text)];
        let error = import(Tool::Sysbench, &logs, &[], &Options::default()).unwrap_err();
        assert_has(&error.to_string(), "histogram of latencies");
    }
}

#[test]
fn a_histogram_since_a_checkpoint_is_left_out() {
    let log = text!("checkpoints.out");
    let table = "Latency histogram (values are in milliseconds)\n   0.069 |** 56493\n \n";
    let at = log.rfind("SQL statistics").unwrap();
    let run = &read(
        Tool::Sysbench,
        &format!("{}{table}{}", &log[..at], &log[at..]),
    )
    .runs[0];
    assert!(run.operations.is_empty());
    let why = run.not_observed("service.buckets").unwrap();
    assert_has(why, "since the last checkpoint");
}

#[test]
fn a_percentile_that_the_histogram_excludes_is_left_out() {
    let log = text!("histogram.out").replace("  12.08\n", "  50.00\n");
    let run = broken(&log, "the 99th percentile is 50.00 ms");
    assert!(summary(&run).service.percentiles.is_empty());
    assert_eq!(run.operations.len(), 1);
}

#[test]
fn extremes_are_those_of_the_histogram() {
    let log_of = |min: &str, max: &str| {
        let log = text!("histogram.out");
        assert!(log.contains("  0.82\n") && log.contains("  37.18\n"));
        let log = log.replace("  0.82\n", &format!("  {min}\n"));
        log.replace("  37.18\n", &format!("  {max}\n"))
    };
    for max in ["39.70", "900.47"] {
        let run = broken(
            &log_of("0.82", max),
            &format!(
                "the maximum of the latencies is {max} ms, but the histogram ends at 36.89 ms; it \
                 is left out"
            ),
        );
        assert_eq!(summary(&run).service.max_ms, None);
        assert_eq!(run.operations.len(), 1);
    }
    let run = broken(
        &log_of("1.95", "37.18"),
        "the minimum of the latencies is 1.95 ms, but the histogram begins at 0.83 ms",
    );
    assert_eq!(summary(&run).service.min_ms, None);
    // Next to the bucket.
    let (imported, _) = log(&log_of("0.85", "37.70"));
    assert_eq!(contradictions(&imported), "");
}
