//! Logs of sysbench's tests of the host.

// Clippy does not treat test helpers as tests.

use crate::common::{self, sysbench};
use dyno_core::record::{RunRecord, Series};
use dyno_import::{Log, Options, Tool};

fn one(log: Log<'_>) -> RunRecord {
    let mut imported = sysbench(&[log], None, None, &Options::default()).unwrap();
    assert_eq!(imported.warnings, []);
    imported.runs.remove(0)
}

fn values(series: Option<&Series>) -> Vec<f64> {
    series.unwrap().points.iter().map(|point| point.1).collect()
}

#[test]
fn tests_without_a_database() {
    let cpu = one(fixture!("cpu.out"));
    assert_eq!(cpu.head.workload.name, "cpu");
    let summary = cpu.summary.as_ref().unwrap();
    assert_eq!((summary.totals.events, summary.totals.queries()), (9209, 0));
    assert_eq!(summary.rates.events_per_s, 4538.23);
    assert_eq!(cpu.intervals[0].counters.events, 4626);
    let files = one(fixture!("fileio.out"));
    assert_eq!(files.fact("import.fileio.writes_per_s"), Some("14370.35"));
    assert_eq!(
        values(files.series("import.fileio.fsyncs")),
        [1321.08, 1367.84, 1631.85]
    );
    assert_eq!(files.not_observed("intervals"), None);
    let machine = files.summary.as_ref().unwrap().machine.as_ref().unwrap();
    assert_eq!(
        (
            machine.figures[0].name.as_str(),
            machine.figures[0].unit.as_str()
        ),
        ("read", "MiB/s")
    );
    // Each event is one request: for the printed bytes, or an fsync.
    let first = files.intervals[0].events_per_s();
    let printed = (310.51 + 207.0) * 64.0 + 1321.08;
    assert!((first - printed).abs() < 1e-6, "{first}");
    assert_eq!(files.intervals[1].percentiles[0].value_ms, Some(0.009));
    let memory = one(fixture!("memory.out"));
    assert_eq!(memory.fact("import.memory.mib_per_s"), Some("4224.88"));
    assert_eq!(memory.summary.as_ref().unwrap().totals.events, 8_663_149);
}

#[test]
fn ignores_a_line_of_a_file_test_cut_off_anywhere() {
    let log = text!("fileio.out");
    let (second, third) = (log.find("[ 2s ]").unwrap(), log.find("[ 3s ]").unwrap());
    for end in second + 7..third - 1 {
        for after in ["", "\nKilled\n", "x.sh: line 7: 4711 Killed\n"] {
            // Then only the latency is missing.
            if after.starts_with('x') && log[second..end].contains("1367.84/s") {
                continue;
            }
            let run = common::one(Tool::Sysbench, &format!("{}{after}", &log[..end]));
            let read = (run.intervals.len(), run.series("import.fileio.fsyncs"));
            assert_eq!(read.0, 1, "{}{after}", &log[second..end]);
            assert_eq!(read.1.unwrap().points.len(), 1);
        }
    }
    // Also if it is the only one.
    for end in ["fsyncs: 13", "reads: 310.51 MiB/s", "latency (ms,95%): 0.0"] {
        let at = log.find(end).unwrap() + end.len();
        for after in ["", "\nKilled\n"] {
            let text = format!("{}{after}", &log[..at]);
            let logs = [Log::new("log", &text)];
            assert!(sysbench(&logs, None, None, &Options::default()).is_err());
        }
    }
}
