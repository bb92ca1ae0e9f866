//! Logs of pgbench that contradict themselves or their report, or hold lines twice.

// Clippy does not treat test helpers as tests.

use crate::common::{self, log};
use crate::pgbench_laws::{TIMED, contradictions};
use dyno_core::record::RunRecord;
use dyno_import::{Imported, Log, Options, Tool, import};
use dyno_samples::assert_has;

/// One thread's sums over each second of a run of four seconds, which began within the first.
const SUMS: &str = "\
1795797217 28 146172 1089477906 859 14041 16617 56474393 14 4943 0 0 0 0 0
1795797218 49 293225 2205266719 1257 12835 11552 21202844 44 3242 0 0 0 0 0
1795797219 56 292694 1910779280 1076 10557 19975 49293669 31 5169 1 0 0 0 0
1795797220 67 347488 2316663244 668 13098 19047 39779053 20 3995 0 0 0 0 0
";

const OF_SUMS: &str = "\
pgbench (17.12)
transaction type: <builtin: simple update>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 4 s
number of transactions actually processed: 213
number of failed transactions: 0 (0.000%)
number of transactions skipped: 1 (0.467%)
number of transactions above the 3.0 ms latency limit: 166/213 (77.934%)
latency average = 5.440 ms
latency stddev = 2.921 ms
rate limit schedule lag: avg 0.332 (max 5.169) ms
initial connection time = 11.134 ms
tps = 53.631467 (without initial connection time)
";

fn read(text: &str) -> Imported {
    common::read(Tool::Pgbench, text)
}

fn one(text: &str) -> RunRecord {
    common::one(Tool::Pgbench, text)
}

/// A report with a log of sums.
fn with_sums(sums: &str) -> Imported {
    let logs = [Log::new("out", OF_SUMS), Log::new("pgbench_log.1", sums)];
    import(Tool::Pgbench, &logs, &[], &Options::default()).unwrap()
}

fn warnings(imported: &Imported) -> String {
    let texts = imported.warnings.iter();
    texts
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_log_of_sums_that_cannot_be_true_is_not_used() {
    assert_eq!(contradictions(&one(OF_SUMS)), "");
    let imported = with_sums(SUMS);
    assert!(
        !warnings(&imported).contains("not used"),
        "{}",
        warnings(&imported)
    );
    assert_eq!(imported.runs[0].intervals.len(), 2);
    let line = "49 293225 2205266719 1257 12835 11552 21202844 44 3242 0";
    for (other, expected) in [
        (
            "49 2932250 2205266719 1257 12835 11552 21202844 44 3242 0",
            "above the maximum 12835",
        ),
        (
            "490 293225 2205266719 1257 12835 11552 21202844 44 3242 0",
            "below the minimum 1257",
        ),
        (
            "49 293225 5266719 1257 12835 11552 21202844 44 3242 0",
            "a sum of squares that is too small",
        ),
        (
            "49 293225 9205266719 1257 12835 11552 21202844 44 3242 0",
            "a sum of squares that is too large",
        ),
        (
            "49 293225 2205266719 12835 1257 11552 21202844 44 3242 0",
            "the minimum 12835 µs above",
        ),
        (
            "49 293225 2205266719 1257 12835 11552 21202844 1 2 0",
            "the lags have the mean 236 µs",
        ),
    ] {
        let sums = SUMS.replace(line, other);
        let imported = with_sums(&sums);
        assert_has(&warnings(&imported), expected);
        let run = &imported.runs[0];
        assert!(run.intervals.is_empty() && contradictions(run).is_empty());
        // Alone it leaves nothing.
        let run = one(&sums);
        assert_has(contradictions(&run), expected);
        assert!(run.summary.is_none() && run.intervals.is_empty());
    }
}

#[test]
fn a_log_of_sums_agrees_with_its_report() {
    for (sums, expected) in [
        (
            SUMS.replace("5169 1 0", "5169 100 0"),
            "100 skipped transactions, but the report 1",
        ),
        (
            SUMS.replace(" 20 3995 ", " 20 9995 "),
            "9.995 ms in the log, but 5.169 ms",
        ),
        (
            SUMS.replace("1795797220", "1795797320"),
            "at least 103 s long",
        ),
        (
            SUMS.lines()
                .map(|line| format!("{line}\n{}\n", line.replace("17957972", "17957973")))
                .collect(),
            "the log has 400 transactions, more than the 213 of the report",
        ),
    ] {
        let imported = with_sums(&sums);
        assert_has(&warnings(&imported), expected);
        assert!(imported.runs[0].intervals.is_empty());
    }
}

/// Transactions of two clients without a pause.
fn transactions(latency_us: u32) -> String {
    let line = |at: u32| {
        let (second, us) = (at / 50, at % 50 * 20_000);
        let line = |client| {
            format!(
                "{client} {} {latency_us} 0 17957972{second:02} {us}\n",
                at + 1
            )
        };
        line(0) + &line(1)
    };
    (0..500).map(line).collect()
}

fn twice(text: &str) -> String {
    text.lines()
        .map(|line| format!("{line}\n{line}\n"))
        .collect()
}

#[test]
fn repeated_lines_of_a_log_are_read_once() {
    let once = transactions(19_900);
    let events = |text: &str| common::summary(&one(text)).totals.events;
    assert_eq!(events(&once), 1000);
    let doubled = twice(&once);
    for text in [&doubled, &format!("{once}{once}")] {
        let imported = read(text);
        assert_eq!(events(text), 1000);
        assert_has(
            &warnings(&imported),
            "1000 lines occur twice; each is read once",
        );
        assert_eq!(contradictions(&imported.runs[0]), "");
    }
    let imported = read(&twice(SUMS));
    assert_has(&warnings(&imported), "4 lines occur twice");
    assert_eq!(imported.runs[0].intervals.len(), 2);
    let first = SUMS.lines().next().unwrap();
    let imported = read(&format!("{SUMS}{first}\n"));
    assert_has(&warnings(&imported), "1 line occurs twice; it is read once");
    // Version 9.5 skips transactions with equal lines.
    let skipped = "0 500 skipped 0 1795797210 5 9\n".repeat(3);
    let imported = read(&format!("{once}{skipped}"));
    assert!(
        !warnings(&imported).contains("twice"),
        "{}",
        warnings(&imported)
    );
}

#[test]
fn a_client_has_one_transaction_at_a_time() {
    let run = one(&transactions(99_500));
    let expected = "the transactions of client 0 take 49.8 s in 10.1 s";
    assert_has(contradictions(&run), expected);
    assert!(run.summary.is_none() && run.operations.is_empty());
    let other = transactions(19_000).replace(" 17957972", " 17957982");
    let run = one(&format!("{}{other}", transactions(19_900)));
    assert_has(
        contradictions(&run),
        "client 0 has two transactions with the number 1",
    );
}

/// The report of 1,000 transactions with this deviation.
fn report_of(stddev: &str) -> String {
    format!(
        "pgbench (17.12)\ntransaction type: <builtin: simple update>\nscaling factor: 1\n\
         query mode: simple\nnumber of clients: 2\nnumber of threads: 1\n\
         maximum number of tries: 1\nduration: 10 s\n\
         number of transactions actually processed: 1000\n\
         number of failed transactions: 0 (0.000%)\nlatency average = 19.000 ms\n\
         latency stddev = {stddev} ms\ninitial connection time = 5.000 ms\n\
         tps = 100.000000 (without initial connection time)\n"
    )
}

#[test]
fn a_log_has_the_deviation_of_its_report() {
    let lines = transactions(19_900);
    let lines = lines.lines().map(|line| match line.starts_with('0') {
        true => format!("{}\n", line.replace(" 19900 ", " 18100 ")),
        false => format!("{line}\n"),
    });
    let single: String = lines.collect();
    // 1,000 transactions of 18.1 and 19.9 ms.
    let sums = (0..10).map(|at| format!("179579720{at} 100 1900000 36181000000 18100 19900\n"));
    let sums: String = sums.collect();
    for text in [&single, &sums] {
        let with = |stddev: &str| {
            let report = report_of(stddev);
            let logs = [Log::new("out", &report), Log::new("pgbench_log.1", text)];
            warnings(&import(Tool::Pgbench, &logs, &[], &Options::default()).unwrap())
        };
        for stddev in ["0.900", "0.930"] {
            let found = with(stddev);
            assert!(!found.contains("not used"), "{found}");
        }
        let expected = "the latencies deviate by 0.900 ms in the log, but by 1.900 ms in the \
                        report: this log of transactions is not used";
        assert_has(&with("1.900"), expected);
    }
}

#[test]
fn an_output_with_each_line_twice_is_one_run() {
    let imported = read(&twice(TIMED));
    assert_eq!(imported.runs.len(), 1);
    assert_eq!(imported.warnings.len(), 1, "{}", warnings(&imported));
    assert_has(&warnings(&imported), "each line of the log occurs twice");
    let run = &imported.runs[0];
    assert_eq!((run.intervals.len(), contradictions(run)), (4, ""));
    assert_eq!(run.head.name, one(TIMED).head.name);
}

#[test]
fn a_few_lines_of_a_report_are_a_run() {
    let kept = [
        "number of clients",
        "number of transactions actually",
        "latency average",
        "tps",
    ];
    let lines = TIMED
        .lines()
        .filter(|line| kept.iter().any(|kept| line.starts_with(kept)));
    let run = one(&lines.map(|line| format!("{line}\n")).collect::<String>());
    let summary = common::summary(&run);
    assert_eq!(
        (summary.totals.events, summary.rates.events_per_s),
        (32_000, 1600.581)
    );
    assert_eq!(contradictions(&run), "");
    let other = import(
        Tool::Pgbench,
        &[log("tps = 5\nnumber of clients\n")],
        &[],
        &Options::default(),
    );
    assert!(other.is_err());
}

#[test]
fn seconds_after_the_requested_time_are_not_stalls() {
    let stalls = |duration_s: u32| {
        let lines = (1..=9).map(|second| {
            let tps = if second == 9 { 3.0 } else { 100.0 };
            format!("progress: {second}.0 s, {tps:.1} tps, lat 10.000 ms stddev 9.000\n")
        });
        let report = format!(
            "scaling factor: 1\nnumber of clients: 1\nnumber of threads: 1\n\
             duration: {duration_s} s\nnumber of transactions actually processed: 803\n\
             latency average = 10.000 ms\ntps = 89.222222 (without initial connection time)\n"
        );
        let run = one(&(lines.collect::<String>() + &report));
        let found = dyno_analysis::stalls::of_run(&run).unwrap();
        found.stalls.len()
    };
    // The sessions finish their last events.
    assert_eq!(stalls(8), 0);
    assert_eq!(stalls(9), 1);
}

#[test]
fn tries_that_are_not_read_are_unknown() {
    let rows = (0..300_u64).map(|at| format!("0 {at} 900 0 1795600000 {} 2\n", at * 2000));
    let run = one(&rows.collect::<String>());
    assert!(run.not_observed("counters.retries").is_some());
    let rows = (0..300_u64).map(|at| format!("0 {at} 900 0 1795600000 {}\n", at * 2000));
    let run = one(&rows.collect::<String>());
    assert_eq!(run.not_observed("counters.retries"), None);
}
