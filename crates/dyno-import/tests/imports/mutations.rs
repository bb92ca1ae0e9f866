//! Damaged logs never panic, and the imported data is consistent.

use crate::common::sysbench;
use dyno_core::record::RunRecord;
use dyno_import::{Log, Monitor, Options, Tool, import};
use proptest::prelude::*;

const SYSBENCH: [&str; 13] = [
    text!("ladder.out"),
    text!("stamped.out"),
    text!("histogram.out"),
    text!("checkpoints.out"),
    text!("rate.out"),
    text!("forced.out"),
    text!("hook_csv.out"),
    text!("hook_json.out"),
    text!("fileio.out"),
    text!("memory.out"),
    text!("written-0.4.out"),
    text!("written-0.5.out"),
    text!("written-tpcc.out"),
];
const OTHERS: [(Tool, &str); 8] = [
    (Tool::Pgbench, text!("pgbench-rate.out")),
    (Tool::Pgbench, text!("pgbench_log.18562")),
    (Tool::Pgbench, text!("pgbench-scripts.out")),
    (Tool::Pgbench, text!("pgbench-timestamps.out")),
    (Tool::Fio, text!("fio-jobs.json")),
    (Tool::Fio, text!("fio-status.json")),
    (Tool::Hammerdb, text!("written-hammerdb.log")),
    (Tool::Hammerdb, text!("written-hammerdb-profile.log")),
];
const SYSSTAT: [&str; 2] = [text!("sar.txt"), text!("mpstat.txt")];
const VMSTAT: [&str; 2] = [text!("ladder-vmstat.out"), text!("stamped-vmstat.out")];
const IOSTAT: [&str; 2] = [text!("ladder-iostat.out"), text!("stamped-iostat.out")];

/// A change at a position given as a share of the text.
#[derive(Clone, Debug)]
enum Change {
    Cut(f64),
    Remove(f64, usize),
    Repeat(f64, usize),
    Insert(f64, String),
    Replace(f64, char),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0.0..1.0f64;
    prop_oneof![
        place.clone().prop_map(Change::Cut),
        (place.clone(), 1..400usize).prop_map(|(at, n)| Change::Remove(at, n)),
        (place.clone(), 1..400usize).prop_map(|(at, n)| Change::Repeat(at, n)),
        (place.clone(), "[0-9a-z\\[\\]{}():,.%/ \n\r-]{1,20}")
            .prop_map(|(a, t)| Change::Insert(a, t)),
        (place.clone(), "\\PC{1,5}").prop_map(|(at, text)| Change::Insert(at, text)),
        (place, any::<char>()).prop_map(|(at, c)| Change::Replace(at, c)),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for change in changes {
        let length = chars.len();
        let place = |share: f64| ((share * length as f64) as usize).min(length);
        match change {
            Change::Cut(at) => chars.truncate(place(*at)),
            Change::Remove(at, n) => {
                let from = place(*at);
                chars.drain(from..(from + n).min(length));
            }
            Change::Repeat(at, n) => {
                let from = place(*at);
                let part = chars[from..(from + n).min(length)].to_vec();
                chars.splice(from..from, part);
            }
            Change::Insert(at, text) => {
                let from = place(*at);
                chars.splice(from..from, text.chars());
            }
            Change::Replace(at, c) => {
                if let Some(place) = chars.get_mut(place(*at)) {
                    *place = *c;
                }
            }
        }
    }
    chars.into_iter().collect()
}

fn holds_together(run: &RunRecord) {
    let times: Vec<f64> = run.intervals.iter().map(|interval| interval.at_s).collect();
    assert!(times.is_sorted(), "{times:?}");
    for interval in &run.intervals {
        assert!(interval.length_s >= 0.0 && interval.length_s <= interval.at_s);
        assert!(interval.counters.queries() < u64::MAX);
        for percentile in &interval.percentiles {
            assert!(percentile.percent > 0.0 && percentile.percent <= 100.0);
        }
    }
    for series in &run.series {
        assert!(!series.points.is_empty(), "{}", series.key.name);
        assert!(
            series.points.is_sorted_by(|a, b| a.0 <= b.0),
            "{}",
            series.key.name
        );
        let finite = |(at, value): &(f64, f64)| at.is_finite() && value.is_finite();
        assert!(series.points.iter().all(finite), "{}", series.key.name);
    }
    if let Some(summary) = &run.summary {
        assert!(summary.measured_s > 0.0 && summary.measured_s.is_finite());
        assert!(summary.rates.events_per_s >= 0.0);
        let figures = [summary.service.mean_ms, summary.service.sum_ms];
        assert!(figures.iter().flatten().all(|figure| *figure >= 0.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_logs(
        log in prop::sample::select(SYSBENCH.to_vec()),
        vmstat in prop::sample::select(VMSTAT.to_vec()),
        iostat in prop::sample::select(IOSTAT.to_vec()),
        of_log in prop::collection::vec(change(), 1..6),
        of_vmstat in prop::collection::vec(change(), 0..4),
        of_iostat in prop::collection::vec(change(), 0..4),
    ) {
        let log = changed(log, &of_log);
        let vmstat = changed(vmstat, &of_vmstat);
        let iostat = changed(iostat, &of_iostat);
        let logs = [Log { name: "log", text: &log }];
        let vmstat = Log { name: "vmstat", text: &vmstat };
        let iostat = Log { name: "iostat", text: &iostat };
        let options = Options::default();
        for (vmstat, iostat) in [(None, None), (Some(vmstat), None), (Some(vmstat), Some(iostat))] {
            match sysbench(&logs, vmstat, iostat, &options) {
                Ok(imported) => imported.runs.iter().for_each(holds_together),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn damaged_logs_of_other_tools(
        (tool, log) in prop::sample::select(OTHERS.to_vec()),
        sar in prop::sample::select(SYSSTAT.to_vec()),
        of_log in prop::collection::vec(change(), 1..6),
        of_sar in prop::collection::vec(change(), 0..4),
    ) {
        let (log, sar) = (changed(log, &of_log), changed(sar, &of_sar));
        let logs = [Log { name: "log", text: &log }];
        let sar = Log { name: "sar", text: &sar };
        for host in [vec![], vec![(Monitor::Sar, sar), (Monitor::Mpstat, sar)]] {
            match import(tool, &logs, &host, &Options::default()) {
                Ok(imported) => imported.runs.iter().for_each(holds_together),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn arbitrary_text(text in "\\PC*", lines in prop::collection::vec("\\PC{0,60}", 0..30)) {
        let joined = lines.join("\n");
        for text in [text.as_str(), joined.as_str()] {
            let log = Log { name: "x", text };
            let _ = sysbench(&[log], Some(log), Some(log), &Options::default());
            for tool in Tool::ALL {
                let _ = import(tool, &[log], &[(Monitor::Sar, log)], &Options::default());
            }
        }
    }
}
