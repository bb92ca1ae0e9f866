//! Logs of pgbench without some of their progress lines.

// Clippy does not treat test helpers as tests.

use crate::common;
use dyno_core::record::RunRecord;
use dyno_import::Tool;
use dyno_samples::assert_has;

/// Lines of a run whose rate varies.
const LINES: [&str; 8] = [
    "progress: 1.0 s, 1051.9 tps, lat 3.669 ms stddev 2.825, 0 failed\n",
    "progress: 2.0 s, 826.0 tps, lat 4.824 ms stddev 5.366, 0 failed\n",
    "progress: 3.0 s, 787.0 tps, lat 4.960 ms stddev 4.352, 0 failed\n",
    "progress: 4.0 s, 978.0 tps, lat 4.189 ms stddev 8.447, 0 failed\n",
    "progress: 5.0 s, 1044.9 tps, lat 3.825 ms stddev 3.817, 0 failed\n",
    "progress: 6.0 s, 1788.9 tps, lat 2.230 ms stddev 1.511, 0 failed\n",
    "progress: 7.0 s, 1892.0 tps, lat 2.104 ms stddev 1.671, 0 failed\n",
    "progress: 8.0 s, 1502.0 tps, lat 2.660 ms stddev 2.109, 0 failed\n",
];

const REPORT: &str = "\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 2
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 8 s
number of transactions actually processed: 9874
number of failed transactions: 0 (0.000%)
latency average = 3.223 ms
latency stddev = 4.010 ms
initial connection time = 31.949 ms
tps = 1237.986708 (without initial connection time)
";

fn one(text: &str) -> RunRecord {
    common::one(Tool::Pgbench, text)
}

/// The ends, lengths and events of the intervals.
fn intervals(run: &RunRecord) -> Vec<(f64, f64, u64)> {
    let intervals = run.intervals.iter();
    let of = intervals.map(|own| (own.at_s, own.length_s, own.counters.events));
    of.collect()
}

fn warnings(run: &RunRecord) -> String {
    common::summary(run).warnings.join("; ")
}

#[test]
fn the_time_of_missing_first_lines_is_a_gap() {
    let lines = LINES[4..].concat();
    for text in [lines.clone(), lines.clone() + REPORT] {
        let run = one(&text);
        assert_eq!(intervals(&run)[0], (5.0, 1.0, 1045), "{text}");
        let gap = "the progress lines have 1 gap: the lines cover 4 of 8 s";
        assert_eq!(run.fact("import.gaps"), Some(gap));
        let here = "log:1: the progress lines have 1 gap, which ends here";
        assert_has(&warnings(&run), here);
        assert_eq!(run.fact("import.contradictions"), None);
    }
    // The rate is that of the time with lines.
    let run = one(&lines);
    let summary = common::summary(&run);
    assert_eq!(summary.measured_s, 8.0);
    assert!((summary.rates.events_per_s - 1557.0).abs() < 0.1);
    let whole = one(&(LINES.concat() + REPORT));
    assert_eq!(whole.fact("import.gaps"), None);
    assert_eq!(whole.intervals.len(), 8);
    // With `--progress=5`.
    let run = one(LINES[4]);
    assert_eq!(intervals(&run), [(5.0, 5.0, 5225)]);
    assert_eq!(run.fact("import.gaps"), None);
}

#[test]
fn the_time_of_missing_lines_in_the_middle_is_a_gap() {
    let text = LINES[..2].concat() + &LINES[4..].concat() + REPORT;
    let run = one(&text);
    assert_eq!(intervals(&run)[2], (5.0, 1.0, 1045));
    let gap = "the progress lines have 1 gap: the lines cover 6 of 8 s";
    assert_eq!(run.fact("import.gaps"), Some(gap));
}

#[test]
fn a_line_that_pgbench_printed_late_has_all_its_time() {
    // 978 transactions in 3 s.
    let late = LINES[4].replace("1044.9 tps", "326.0 tps");
    let text = LINES[..2].concat() + &late + &LINES[5..].concat();
    let report = REPORT.replace("9874", "8040").replace("1237.98", "1009.20");
    let run = one(&(text + &report));
    assert_eq!(intervals(&run)[2], (5.0, 3.0, 978));
    assert_eq!(run.fact("import.gaps"), None);
}

#[test]
fn a_damaged_line_leaves_a_gap_and_a_warning() {
    let warning = "a truncated line, perhaps within a figure, is skipped";
    let (head, tail) = (&LINES[2][..22], &LINES[3][27..]);
    for damaged in [head.to_owned() + tail, format!("{head}\n"), tail.to_owned()] {
        let text = LINES[..2].concat() + &damaged + &LINES[4..].concat() + REPORT;
        let run = one(&text);
        assert_has(&warnings(&run), &format!("log:3: {warning}"));
        assert_eq!(intervals(&run)[2], (5.0, 1.0, 1045), "{damaged}");
    }
}

#[test]
fn lines_hold_the_transactions_of_the_report() {
    let report = REPORT.replace("9874", "13000");
    let report = report.replace("1237.986708", "1629.907900");
    let run = one(&(LINES.concat() + &report));
    let expected = "the progress lines contain about 9871 transactions, but the report says 13000";
    assert_has(run.fact("import.contradictions").unwrap(), expected);
    // The lines of the last two seconds are missing.
    let run = one(&(LINES[..6].concat() + &report));
    assert!(!format!("{:?}", run.fact("import.contradictions")).contains("progress lines contain"));
}

#[test]
fn a_banner_after_a_truncated_line_begins_a_run() {
    let banner = "pgbench (15.18 (Debian 15.18-0+deb12u1))\n";
    let whole = banner.to_owned() + &LINES.concat() + REPORT;
    // Otherwise, it would be the beginning of the same run.
    let first = banner.to_owned() + &LINES[..3].concat().replace("1051.9", "1051.8");
    for truncated in [
        "progress: 4.0 s, 9",
        "progress: 4.0 s, 978.0 tps, lat 4.1",
        "pro",
    ] {
        let text = first.clone() + truncated + &whole;
        let imported = common::read(Tool::Pgbench, &text);
        let lengths: Vec<usize> = imported
            .runs
            .iter()
            .map(|run| run.intervals.len())
            .collect();
        assert_eq!(lengths, [3, 8], "{truncated}");
        assert_eq!(common::contradictions(&imported), "");
        let version = imported.runs[1].fact("client.version").unwrap();
        assert_eq!(version, "15.18 (Debian 15.18-0+deb12u1)");
    }
    let text = banner.to_owned() + &LINES.concat() + "number of clients: 4\ninitial con" + &whole;
    assert_eq!(common::read(Tool::Pgbench, &text).runs.len(), 2);
}

#[test]
fn lines_of_two_runs_are_not_one_run() {
    let mixed = "the lines of two runs are mixed: line 2 is at 1 s";
    let other = |line: &str| line.replace(" tps, lat ", "1 tps, lat ");
    let both = LINES.map(|line| line.to_owned() + &other(line)).concat();
    for text in [both.clone(), both + REPORT] {
        let run = one(&text);
        assert_has(run.fact("import.contradictions").unwrap(), mixed);
        assert_eq!(intervals(&run)[0], (1.0, 1.0, 1052));
    }
    // Both reports are mixed, too.
    let kind = "transaction type: <builtin: select only>\n";
    let text = LINES[..2].concat() + LINES[0] + &other(LINES[1]) + kind + &LINES[2..].concat();
    let imported = common::read(Tool::Pgbench, &(text + REPORT));
    assert_eq!(imported.runs.len(), 2);
    for run in &imported.runs {
        assert_has(
            run.fact("import.contradictions").unwrap(),
            "two runs are mixed",
        );
    }
    // A repeated line.
    let again = LINES[..3].concat() + &LINES[1..].concat() + REPORT;
    assert_eq!(one(&again).fact("import.contradictions"), None);
}
