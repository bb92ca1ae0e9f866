//! Common parts of the records of all tools.

use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::interval::{Counters, LATENCY_NS_MAX, Latencies};
use dyno_core::plan::{Drive, OptionValue};
use dyno_core::record::{
    Fact, RunHead, RunRecord, RunState, Series, SeriesKey, SeriesKind, Source, Span,
};
use dyno_core::summary::{
    IntervalSummary, LatencySummary, RunSummary, TargetSummary, WorkloadSummary,
};
use hdrhistogram::Histogram;

use crate::Options;

/// The percentiles computed from single latencies.
pub(crate) const PERCENTS: [f64; 4] = [50.0, 95.0, 99.0, 99.9];
/// Significant digits of the distributions of parts of a run.
const SPAN_DIGITS: u8 = 2;

/// Information about a run apart from its figures.
pub(crate) struct About {
    pub(crate) source: Source,
    /// The tool's version; `None` if it is not printed.
    pub(crate) version: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) workload: String,
    /// The workload's options: name, and value as printed.
    pub(crate) options: Vec<(String, OptionValue)>,
    pub(crate) target: TargetSummary,
    pub(crate) drive: Option<Drive>,
    pub(crate) percentiles: Vec<f64>,
    /// The hash of all its lines.
    pub(crate) digest: String,
    /// The log and the line where it begins.
    pub(crate) place: String,
}

impl About {
    /// A record without figures.
    pub(crate) fn record(self, options: &Options) -> RunRecord {
        let tool = self.source.tool();
        let changed = self.options.iter().map(|(name, _)| name.clone()).collect();
        let mut run = RunRecord::new(RunHead {
            name: named(&self.workload, &self.digest),
            source: self.source,
            profile: options.profile,
            tool: match &self.version {
                Some(version) => format!("{tool} {version}"),
                None => tool.to_owned(),
            },
            created_unix_s: options.imported_unix_s,
            plan: None,
            argv: self.argv,
            workload: WorkloadSummary {
                name: self.workload,
                command: "run".to_owned(),
                options: self.options,
                changed,
            },
            script_sha256: String::new(),
            target: self.target,
            drive: self.drive,
            percentiles: self.percentiles,
            note: String::new(),
            factors: Default::default(),
            phase: None,
            trial: None,
        });
        run.state = RunState::Imported;
        run.facts = vec![
            Fact::new(names::IMPORT_SOURCE, self.place, "the imported log"),
            Fact::new(
                names::IMPORT_SHA256,
                self.digest,
                "the imported log's lines",
            ),
        ];
        run
    }
}

/// A summary with the run's name, drive and length, but no figures yet.
pub(crate) fn summary(run: &RunRecord, started: Option<f64>, measured_s: f64) -> RunSummary {
    RunSummary {
        started_unix_s: started,
        measured_s,
        elapsed_s: measured_s,
        ..RunSummary::of(&run.head)
    }
}

/// A unique name that is the same whenever the same log is imported.
pub(crate) fn named(workload: &str, digest: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let workload: String = match workload {
        "" => "unknown".to_owned(),
        workload => workload.chars().map(plain).take(40).collect(),
    };
    let digest: String = digest.chars().take(8).collect();
    format!("imported-{workload}-{digest}")
}

/// The fact that a log lacks its end, with the missing part.
pub(crate) fn cut_off(what: &str) -> Fact {
    Fact::new(names::IMPORT_CUT_OFF, what, "the imported log")
}

/// The fact that a log lacks report lines.
pub(crate) fn gaps(what: String) -> Fact {
    Fact::new(names::IMPORT_GAPS, what, "the imported log")
}

/// The fact that the load or rate was not steady, according to the log itself.
pub(crate) fn unsteady(why: Option<String>) -> Option<Fact> {
    why.map(|why| Fact::new(names::IMPORT_UNSTEADY, why, "the imported log"))
}

/// The fact that figures of one log cannot all be true; `None` without contradictions.
pub(crate) fn contradictions(all: &[String]) -> Option<Fact> {
    let source = "figures of the same log";
    (!all.is_empty()).then(|| Fact::new(names::IMPORT_CONTRADICTIONS, all.join("; "), source))
}

/// A series of printed values; `None` without a value.
pub(crate) fn series(
    name: &str,
    unit: &str,
    source: String,
    points: impl Iterator<Item = (f64, Option<f64>)>,
) -> Option<Series> {
    let points = points.filter_map(|(at, value)| Some((at, value?)));
    let finite = |(at, value): &(f64, f64)| at.is_finite() && value.is_finite();
    let mut points: Vec<(f64, f64)> = points.filter(finite).collect();
    // Lines of a damaged log may be out of order.
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then(|| Series {
        key: SeriesKey {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source,
        },
        kind: SeriesKind::Gauge,
        points,
    })
}

/// Limits the last interval to the end of the measurement if it exceeds it only by rounding: its
/// printed end has few digits.
pub(crate) fn end_with(intervals: &mut [IntervalSummary], measured_s: f64) {
    /// A larger excess is not due to rounding.
    const ROUNDING: f64 = 0.1;
    let Some(last) = intervals.last_mut() else {
        return;
    };
    let beyond_s = last.at_s - measured_s;
    if beyond_s > 0.0 && beyond_s < ROUNDING * last.length_s {
        last.at_s = measured_s;
        last.length_s -= beyond_s;
    }
}

/// Latencies over a part of a run, with fewer digits than those of the whole run.
pub(crate) fn span(latencies: &Latencies, (from_s, to_s): (f64, f64)) -> Span {
    let none = latencies.service.is_empty();
    Span {
        from_s,
        to_s,
        count: latencies.service.len(),
        service_ns_sum: latencies.service_ns_sum,
        service_ns_min: if none { 0 } else { latencies.service_ns_min },
        service_ns_max: latencies.service_ns_max,
        service: coarse(&latencies.service),
        response: coarse(&latencies.response),
    }
}

fn coarse(fine: &Histogram<u64>) -> Histogram<u64> {
    let mut coarse = small(fine.max());
    // Each value is within the bounds.
    let _ = coarse.add(fine);
    coarse
}

/// An empty histogram for values up to this one.
fn small(highest_ns: u64) -> Histogram<u64> {
    let highest = highest_ns.clamp(2, LATENCY_NS_MAX) * 2;
    #[allow(clippy::expect_used)] // valid bounds: at least 1 and 2
    Histogram::new_with_bounds(1, highest, SPAN_DIGITS).expect("the bounds are valid")
}

/// Latencies with only mean and deviation known, and optionally the extremes.
pub(crate) fn mean_only(count: u64, mean_ms: f64, stddev_ms: Option<f64>) -> LatencySummary {
    LatencySummary {
        count,
        mean_ms: Some(mean_ms),
        sum_ms: Some(mean_ms * count as f64),
        stddev_ms,
        ..LatencySummary::default()
    }
}

/// Replaces the percentiles of a histogram with exact ones. The values ascend.
pub(crate) fn exact_percentiles(summary: &mut LatencySummary, sorted_ms: &[f64]) {
    for percentile in &mut summary.percentiles {
        if percentile.value_ms.is_none() || sorted_ms.is_empty() {
            continue;
        }
        // The smallest value that this percentage does not exceed.
        let rank = (percentile.percent / 100.0 * sorted_ms.len() as f64).ceil() as usize;
        let rank = rank.clamp(1, sorted_ms.len());
        percentile.value_ms = Some(sorted_ms[rank - 1]);
    }
}

/// Counters with only these known.
pub(crate) fn counted(events: u64) -> Counters {
    Counters {
        events,
        ..Counters::default()
    }
}

/// A drive with only the number of sessions and workers known.
pub(crate) fn sessions(sessions: u32, workers: u32) -> Drive {
    Drive {
        sessions,
        workers,
        time: None,
        events: None,
        warmup: Duration::ZERO,
        grace: Duration::ZERO,
        ramp_up: Duration::ZERO,
        open_loop: None,
        schedule: None,
        latency_limit: None,
        spin: None,
        roles: Vec::new(),
        init_timeout: Duration::from_secs(30),
        interval: Duration::ZERO,
        seed: 0,
        shard: None,
        begin_unix_s: None,
    }
}
