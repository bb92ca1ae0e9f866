//! Reports with figures that cannot all be true.

// Clippy does not treat test helpers as tests.

use crate::common::{self, read, summary};
use dyno_import::Tool;
use dyno_samples::assert_has;

/// Only one of the two can be true.
#[test]
fn a_percentile_that_is_not_its_histograms_is_a_contradiction() {
    let fact = |text: &str| contradictions(text).0;
    let log = text!("histogram.out");
    assert_eq!(fact(log), None);
    let line = log
        .lines()
        .find(|line| line.contains("percentile:"))
        .unwrap();
    let changed = log.replace(
        line,
        "         99th percentile:                       50.00",
    );
    let found = fact(&changed).unwrap_or_default();
    let expected = "the 99th percentile is 50.00 ms, but that of the histogram ";
    assert_has(&found, expected);
}

#[test]
fn figures_of_one_report_that_cannot_all_be_true_are_a_fact() {
    let fact = |text: &str| contradictions(text).0;
    let log = text!("consistent.out");
    assert_eq!(fact(log), None);
    for (true_text, changed, expected) in [
        (
            "(100.00 per",
            "(200.00 per",
            "6000 transactions at 200.00 per second take 30.0 s",
        ),
        ("  40.00", "  4.00", "but the report says 4.00 ms"),
        (
            "60.0000s",
            "30.0000s",
            "says 30.0 s, but its counts and rates imply 60.0 s",
        ),
        ("   120000\n", "   130000\n", "but the total says 130000"),
        (
            "  60.00\n",
            "  9999.00\n",
            "the 95th percentile of the latencies, 9999.00 ms, is above the maximum, 90.00 ms",
        ),
        (
            "  60.00\n",
            "  12.00\n",
            "the percentiles of the latencies allow a mean of",
        ),
        (
            "  10.00\n",
            "  50.00\n",
            "the minimum of the latencies, 50.00 ms, is above the mean, 40.00 ms",
        ),
        (
            "1500.0000/10.00",
            "3.0000/10.00",
            "4 threads with 3.0 events each make 12, but the report says 6000",
        ),
        (
            "(2000.00 per sec.)\n",
            "(2000.00 per sec.)\n    ignored errors: 0 (50000.00 per sec.)\n",
            "0 ignored errors in 60.0 s are 0.00 per second, but the log says 50000.00",
        ),
    ] {
        let text = log.replacen(true_text, changed, 1);
        let found = fact(&text).unwrap_or_else(|| panic!("{changed}: nothing"));
        assert!(found.contains(expected), "{changed}: {found}");
    }
}

#[test]
fn more_than_events_threads_and_time_allow_is_a_fact() {
    let log = text!("consistent.out");
    let fact = |text: &str| contradictions(text).0;
    // More transactions than events, at an impossible rate for these threads.
    let more = log.replacen("6000   (100.00", "60000   (1000.00", 1);
    let found = fact(&more).unwrap();
    assert_has(&found, "6000 events, but 60000 transactions");
    let busy = "1000.0 events per second of 40.00 ms each keep 40.0 threads busy";
    assert_has(&found, busy);
    let still = fact(&log.replacen("60.0000s", "0.0000s", 1)).unwrap();
    assert_has(&still, "6000 events in a total time of 0 s");
    // Without the sum of latencies, the threads' times show it.
    let old = log.replacen("  40.00", "  4.00", 1);
    let old = old.replacen(
        "         sum:                               240000.00\n",
        "",
        1,
    );
    let found = fact(&old).unwrap();
    assert_has(&found, "make a mean of 40.00 ms");
}

/// The contradictions and all warnings for a log.
fn contradictions(text: &str) -> (Option<String>, String) {
    let imported = read(Tool::Sysbench, text);
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    let facts = Some(common::contradictions(&imported)).filter(|facts| !facts.is_empty());
    (facts, warnings.join("\n"))
}

/// A real log with changed report lines; `None` removes one.
fn lines(change: impl Fn(usize, &str) -> Option<String>) -> String {
    let mut number = 0;
    let log = text!("deadlocks.out").lines();
    let changed = log.filter_map(|line| match line.starts_with('[') {
        true => {
            number += 1;
            change(number, line)
        }
        false => Some(line.to_owned()),
    });
    changed.collect::<Vec<_>>().join("\n")
}

/// Replaces the figure after a label in a line.
fn with(line: &str, label: &str, figure: &str) -> String {
    let (before, rest) = line.split_once(label).unwrap();
    let end = rest.find([' ', '/']).unwrap_or(rest.len());
    format!("{before}{label}{figure}{}", &rest[end..])
}

/// Replaces the rates of reads, writes and other statements in a line.
fn with_kinds(line: &str, rates: &str) -> String {
    let (before, rest) = line.split_once("(r/w/o: ").unwrap();
    let end = rest.find(')').unwrap();
    format!("{before}(r/w/o: {rates}{}", &rest[end..])
}

fn contradicts(text: &str, expected: &str) {
    let facts = contradictions(text).0.unwrap_or_default();
    assert_has(&facts, expected);
}

#[test]
fn real_logs_contradict_nothing() {
    for log in [
        fixture!("checkpoints.out"),
        fixture!("cpu.out"),
        fixture!("deadlocks.out"),
        fixture!("fileio.out"),
        fixture!("forced.out"),
        fixture!("forced-sleeps.out"),
        fixture!("fsync-all.out"),
        fixture!("histogram.out"),
        fixture!("hook_csv.out"),
        fixture!("hook_default.out"),
        fixture!("hook_json.out"),
        fixture!("ladder.out"),
        fixture!("low-percentile.out"),
        fixture!("long-events.out"),
        fixture!("memory.out"),
        fixture!("nopercentile.out"),
        fixture!("rate.out"),
        fixture!("seven-events.out"),
        fixture!("slow-rate.out"),
        fixture!("small-blocks.out"),
        fixture!("stamped.out"),
        fixture!("written-0.4.out"),
        fixture!("written-0.5.out"),
        fixture!("written-tpcc.out"),
    ] {
        let name = log.name;
        assert_eq!(contradictions(log.text), (None, String::new()), "{name}");
    }
    // Each write of this test is synced, and both are one event.
    let run = &read(Tool::Sysbench, text!("fsync-all.out")).runs[0];
    let held: u64 = run.intervals.iter().map(|one| one.counters.events).sum();
    assert!((100_000..120_000).contains(&held), "{held}");
    // A different time on the command line, and late lines, cause warnings.
    for text in [text!("written-1.1.out"), text!("stopped.out")] {
        assert_eq!(contradictions(text).0, None);
    }
}

#[test]
fn reports_missing_lines_and_no_contradiction() {
    let without = |gone: fn(usize) -> bool| {
        contradictions(&lines(|number, line| {
            (!gone(number)).then(|| line.to_owned())
        }))
    };
    for (gone, expected) in [
        (
            (|number| (5..=8).contains(&number)) as fn(usize) -> bool,
            "log:17: the report lines have 1 gap, which ends here: the lines cover 8 of 12 s, and \
             about 5630 of 16340 events are outside them",
        ),
        (
            |number| number < 4,
            "1 gap, which ends here: the lines cover 9 of 12 s, and about 3971 of 16340 events",
        ),
        (
            |number| number % 2 == 1,
            "6 gaps, the first of which ends here: the lines cover 6 of 12 s, and about",
        ),
        (
            |number| number > 6,
            "the report lines end at 6 s: the lines cover 6 of 12 s, and about 8441 of 16340",
        ),
    ] {
        let (facts, warnings) = without(gone);
        assert_eq!(facts, None);
        assert_has(&warnings, expected);
    }
    // The last interval is often not printed.
    assert_eq!(without(|number| number == 12), (None, String::new()));
    // The gap is also a fact of the run, without a place in the log.
    let gaps = |gone: fn(usize) -> bool| {
        let text = lines(|number, line| (!gone(number)).then(|| line.to_owned()));
        let run = read(Tool::Sysbench, &text).runs.remove(0);
        run.fact("import.gaps").map(str::to_owned)
    };
    assert_eq!(gaps(|number| number == 12), None);
    let fact = gaps(|number| number == 5 || number == 8).unwrap_or_default();
    assert_has(
        &fact,
        "the report lines have 2 gaps: the lines cover 10 of 12 s",
    );
    // Without a report, the number of events is unknown.
    let text = lines(|number, line| (number != 3 && number != 4).then(|| line.to_owned()));
    let text = text.split("SQL statistics").next().unwrap();
    let (_, warnings) = contradictions(text);
    let expected = "1 gap, which ends here: seconds are missing";
    assert_has(&warnings, expected);
}

#[test]
fn a_log_with_a_gap_is_compared_with_its_report() {
    let log = lines(|number, line| {
        let kept = !(5..=8).contains(&number);
        kept.then(|| with(line, "tps: ", "3000.00"))
    });
    contradicts(
        &log,
        "the intervals contain about 24000 events, but the report says 16340",
    );
}

#[test]
fn errors_of_intervals_are_errors_of_the_run() {
    let with_errors = |figure: &'static str| lines(move |_, l| Some(with(l, "err/s: ", figure)));
    let log = with_errors("700.00");
    contradicts(&log, "about 8400 ignored errors, but the report says 781");
    let none = "ignored errors:                      0      (0.00 per sec.)";
    let changed = log.replace(
        "ignored errors:                      781    (65.05 per sec.)",
        none,
    );
    assert!(changed.contains(none));
    contradicts(&changed, "8400 ignored errors, but the report says 0");
    // A few in one line are just as impossible.
    let one = lines(|number, line| {
        let figure = if number == 3 { "2.00" } else { "0.00" };
        Some(with(line, "err/s: ", figure))
    });
    let one = one.replace(
        "ignored errors:                      781    (65.05 per sec.)",
        none,
    );
    contradicts(&one, "about 2.0 ignored errors, but the report says 0");
    // All of them may have occurred in the missing seconds.
    let first = lines(|number, line| (number < 7).then(|| with(line, "err/s: ", "0.00")));
    assert_eq!(contradictions(&first).0, None);
    let log = lines(|_, line| Some(with(line, "reconn/s: ", "3.00")));
    contradicts(&log, "about 36 reconnects, but the report says 0");
}

#[test]
fn latencies_of_intervals_are_latencies_of_the_run() {
    let log = lines(|number, line| {
        Some(match number {
            7 => with(line, "(ms,95%): ", "5000.00"),
            _ => line.to_owned(),
        })
    });
    contradicts(
        &log,
        "the 95th percentile of the latencies at 7 s, 5000.00 ms, is above the run's maximum, \
         36.57 ms; it is left out",
    );
    let run = &read(Tool::Sysbench, &log).runs[0];
    let mut without = run
        .intervals
        .iter()
        .filter(|one| one.percentiles.is_empty());
    assert_eq!(without.next().unwrap().at_s, 7.0);
    assert!(without.next().is_none());
    // If all are above it, those of the whole run do not contradict what is left.
    let log = lines(|_, line| Some(with(line, "(ms,95%): ", "500.00")));
    let (found, _) = contradictions(&log);
    let found = found.unwrap();
    assert_has(&found, "12 such percentiles are left out");
    assert!(!found.contains("percentile of the run"), "{found}");
    // Percentiles are bounds of buckets.
    let log = lines(|_, line| Some(with(line, "(ms,95%): ", "37.56")));
    let log = log.replace("9.91\n", "37.56\n");
    assert_eq!(contradictions(&log).0, None);
}

#[test]
fn statements_of_intervals_are_statements_of_the_run() {
    let log = lines(|_, line| Some(with(line, "(r/w/o: ", "1.00")));
    contradicts(&log, "about 12 reads, but the report says 239694");
    contradicts(
        &log,
        "the intervals' mean is 28294.31 queries/s, but their reads, writes and other statements \
         add up to 8323.65",
    );
    // Their sum is right, and the last interval is not printed.
    let log = lines(|number, line| {
        let line = with_kinds(&with(line, "qps: ", "1203.00"), "1.00/602.00/600.00");
        (number < 12).then_some(line)
    });
    contradicts(&log, "about 11 reads, but the report says 239694");
    let log = lines(|_, line| {
        let line = with(line, "qps: ", "98000.00");
        Some(with_kinds(&line, "90000.00/5000.00/3000.00"))
    });
    contradicts(&log, "about 1080000 reads, but the report says 239694");
}

#[test]
fn threads_may_end_but_none_is_added() {
    let log = lines(|_, line| Some(with(line, "thds: ", "64")));
    contradicts(&log, "64 threads ran at 12 s, but the run had 8");
    let log = lines(|_, line| Some(with(line, "thds: ", "2")));
    assert_eq!(contradictions(&log), (None, String::new()));
}

#[test]
fn reports_a_report_without_its_end() {
    let log = text!("consistent.out");
    let cut = &log[..log.find("General statistics").unwrap()];
    let (facts, warnings) = contradictions(cut);
    assert_eq!(facts, None);
    assert_has(
        &warnings,
        "the end of the log is missing: the statistics lack the total time",
    );
    // With a total time of zero, counts and rates still give the figures.
    let still = log.replacen("60.0000s", "0.0000s", 1);
    let imported = read(Tool::Sysbench, &still);
    assert_eq!(summary(&imported.runs[0]).measured_s, 60.0);
}

#[test]
fn figures_whose_lines_are_missing_are_unknown() {
    let log = text!("consistent.out");
    let without = |labels: &[&str]| {
        let is_left = |line: &&str| !labels.iter().any(|label| line.trim().starts_with(label));
        let lines: Vec<&str> = log.lines().filter(is_left).collect();
        read(Tool::Sysbench, &lines.join("\n")).runs.remove(0)
    };
    let gaps = |labels: &[&str]| -> Vec<String> {
        let run = without(labels);
        let names = [
            "service.sum_ms",
            "counters.kinds",
            "counters.queries",
            "totals",
        ];
        let gaps = run.not_observed.into_iter().map(|gap| gap.what);
        gaps.filter(|what| names.contains(&what.as_str())).collect()
    };
    assert_eq!(gaps(&[]), [""; 0]);
    assert_eq!(gaps(&["sum:"]), ["service.sum_ms"]);
    for labels in [&["write:"][..], &["SQL statistics:"], &["other:", "total:"]] {
        assert_eq!(gaps(labels), ["counters.kinds"], "{labels:?}");
        let totals = without(labels).summary.unwrap().totals;
        let kinds = (totals.reads, totals.writes, totals.queries());
        assert_eq!(kinds, (0, 0, 120_000), "{labels:?}");
    }
    let labels = ["read:", "total:", "queries:"];
    assert_eq!(gaps(&labels), ["counters.queries"]);
    assert_eq!(without(&labels).summary.unwrap().totals.queries(), 0);
    let labels = ["transactions:", "queries:", "total number", "events (avg"];
    assert_eq!(gaps(&labels), ["totals"]);
    assert!(without(&labels).summary.is_none());
}

#[test]
fn all_statements_are_the_queries() {
    let log = text!("consistent.out");
    let changed = log.replace("120000 (2000.00", "121000 (2000.00");
    let expected = "a total of 120000 statements, but 121000 queries";
    assert_eq!(contradictions(&changed).0.as_deref(), Some(expected));
}

#[test]
fn events_of_all_threads_are_the_events() {
    let log = text!("consistent.out");
    let changed = log.replace("1500.0000/10.00", "1501.0000/10.00");
    contradicts(&changed, "make 6004, but the report says 6000");
}
