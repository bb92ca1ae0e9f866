//! Aligns a host's logs with a run: converts sample times to seconds of the measurement.

use dyno_core::catalogue::names;
use dyno_core::record::{Fact, NotObserved, RunRecord, Series, SeriesKey};
use dyno_core::summary::IntervalSummary;

use crate::civil::Moment;
use crate::gaps::gap;
use crate::table::{Collected, Values};
use crate::tie::{self, Tie};
use crate::{Warning, observed};

/// A log of a host's monitor.
#[derive(Debug)]
pub(crate) struct HostLog {
    pub(crate) file: String,
    pub(crate) tool: &'static str,
    /// Whether its first sample is the mean since boot, as in `vmstat` and `iostat`.
    pub(crate) first_since_boot: bool,
    /// The interval between samples that have no times.
    pub(crate) interval_s: f64,
    /// Each sample's time as printed.
    pub(crate) moments: Vec<Option<Moment>>,
    pub(crate) collected: Collected,
    pub(crate) facts: Vec<Fact>,
    /// Data that has columns but is left out, with the reason.
    pub(crate) gaps: Vec<NotObserved>,
    pub(crate) warnings: Vec<Warning>,
}

/// The position of a run among those read together.
pub(crate) struct RunPosition {
    /// When it began, in seconds since the epoch.
    pub(crate) start: Option<f64>,
    /// Whether it is the only run.
    pub(crate) alone: bool,
    pub(crate) index: usize,
    /// How far local times without an offset are ahead of UTC.
    pub(crate) utc_offset_s: f64,
}

/// A warning about a run: its line and text.
type Said = Vec<(Option<usize>, String)>;

/// Adds the logs' samples from the time of the run. Returns the warnings of the logs that have any.
pub(crate) fn join(
    run: &mut RunRecord,
    logs: &[HostLog],
    place: &RunPosition,
    said: &mut Said,
) -> Vec<Warning> {
    let end_s = end_s(run);
    let drive = run.head.drive.as_ref();
    let warmup_s = drive.map_or(0.0, |drive| drive.warmup.as_secs_f64());
    let disks_apart = logs.iter().any(|log| has_devices(&log.collected));
    let mut warnings = Vec::new();
    let mut unaligned = Vec::new();
    let before = run.series.len();
    for log in logs {
        let Some((times, how)) = times(log, &run.intervals, place, said) else {
            let why = format!(
                "the log of {0} has no times, and several runs share it: run {0} with -t, and add \
                 times to the lines of {1}",
                log.tool,
                run.head.source.tool()
            );
            run.not_observed.push(gap("host.", &why));
            continue;
        };
        if how == Alignment::Assumed {
            unaligned.push(log);
        }
        let window = (
            -warmup_s,
            end_s.map_or(f64::INFINITY, |end| end + log.interval_s),
        );
        let own = run.series.len();
        for values in &log.collected.all {
            // The sum of all devices would count each of them twice.
            let doubled = disks_apart && values.name.starts_with("host.disk[all]");
            let known = |series: &Series| series.key.name == values.name;
            if doubled || run.series.iter().any(known) {
                continue;
            }
            if let Some(series) = series(log, values, &times, window) {
                run.series.push(series);
            }
        }
        if run.series.len() > own {
            warnings.extend(log.warnings.iter().cloned());
        }
        for fact in &log.facts {
            if run.fact(&fact.name).is_none() {
                run.facts.push(fact.clone());
            }
        }
    }
    said.extend(not_aligned(&unaligned).map(|text| (None, text)));
    if run.series.len() > before {
        note_gaps(run, logs);
    } else if !logs.is_empty() {
        let text = "no sample of the host's logs falls into the run: if their times are local and \
                    the run's are not, set the offset of local time from UTC (--utc-offset)"
            .to_owned();
        said.push((None, text));
    }
    warnings
}

/// Records which series the host's logs lack.
fn note_gaps(run: &mut RunRecord, logs: &[HostLog]) {
    observed(&mut run.not_observed, "host");
    let tools: Vec<&str> = logs.iter().map(|log| log.tool).collect();
    let why = format!("not in the log of {}", tools.join(", nor in that of "));
    for what in [
        names::HOST_PRESSURE,
        names::HOST_NETWORK,
        names::HOST_TCP,
        names::HOST_CGROUP,
        names::HOST_CLOCK,
    ] {
        let there = |series: &Series| series.key.name.starts_with(what);
        if !run.series.iter().any(there) {
            run.not_observed.push(gap(what, &why));
        }
    }
    run.not_observed.extend(unknown(run, logs));
    let first = logs.iter().filter_map(first_left_out);
    run.not_observed.extend(first);
}

/// The first report, if it is left out. Most logs do not show which period it covers.
fn first_left_out(log: &HostLog) -> Option<NotObserved> {
    let tool = log.tool;
    let why = format!(
        "taken as the mean since the machine started; if {tool} ran with -y, use --first-report"
    );
    log.first_since_boot
        .then(|| gap(&names::IMPORT_FIRST_REPORT_EACH.of(tool), &why))
}

/// Gaps of the logs that no other log fills.
fn unknown(run: &RunRecord, logs: &[HostLog]) -> Vec<NotObserved> {
    let gaps = logs.iter().flat_map(|log| &log.gaps);
    let unknown = |gap: &&NotObserved| {
        let mut series = run.series.iter();
        !series.any(|series| series.key.name.starts_with(&gap.what))
    };
    gaps.filter(unknown).cloned().collect()
}

/// The end of the run, according to its last data.
fn end_s(run: &RunRecord) -> Option<f64> {
    run.summary
        .as_ref()
        .map(|summary| summary.elapsed_s)
        .or(run.intervals.last().map(|interval| interval.at_s))
        .or(run
            .series
            .first()
            .and_then(|s| s.points.last())
            .map(|point| point.0))
}

fn has_devices(collected: &Collected) -> bool {
    let device = |values: &Values| {
        values.name.starts_with("host.disk[") && !values.name.starts_with("host.disk[all]")
    };
    collected.all.iter().any(device)
}

/// Whether the times of a log are known.
#[derive(Clone, Copy, PartialEq)]
enum Alignment {
    /// From its own times, or from the throughput.
    Known,
    /// It is assumed to begin with the measurement.
    Assumed,
}

/// Each sample's time in seconds of the measurement; `None` if the log cannot be assigned to this
/// run.
fn times(
    log: &HostLog,
    intervals: &[IntervalSummary],
    place: &RunPosition,
    said: &mut Said,
) -> Option<(Vec<f64>, Alignment)> {
    let stamped: Option<Vec<Moment>> = log.moments.iter().copied().collect();
    if let (Some(moments), Some(start)) = (&stamped, place.start) {
        if moments.iter().any(|moment| moment.ambiguous) {
            let file = &log.file;
            let text =
                format!("{file}: the order of day and month is ambiguous; month first was assumed");
            said.push((None, text));
        }
        let at_s = |moment: &Moment| moment.unix_s(place.utc_offset_s) - start;
        return Some((moments.iter().map(at_s).collect(), Alignment::Known));
    }
    // Only the first run can have begun with the log.
    if !place.alone && place.index > 0 {
        return None;
    }
    let from_first = |at: usize| match &stamped {
        Some(moments) => moments[at].seconds - moments[0].seconds,
        None => at as f64 * log.interval_s,
    };
    let nominal: Vec<f64> = (0..log.moments.len()).map(from_first).collect();
    if let Some(tie) = tie::tie(intervals, &nominal, &log.collected.all) {
        said.push((None, aligned(log, &tie)));
        let times = nominal.into_iter().map(|at| tie.at(at)).collect();
        return Some((times, Alignment::Known));
    }
    Some((nominal, Alignment::Assumed))
}

/// The warning about logs that are assumed to begin with the measurement.
fn not_aligned(logs: &[&HostLog]) -> Option<String> {
    let every = |log: &HostLog| match log.moments.iter().all(Option::is_some) {
        true => "by its own times".to_owned(),
        false => format!("as one sample every {} s", log.interval_s),
    };
    match logs {
        [] => None,
        [log] => Some(format!(
            "{}: its times do not match the run (set the run's start with --started), and no \
             column follows the throughput closely enough to align it: {} is assumed to start \
             with the measurement, {}",
            log.file,
            log.tool,
            every(log)
        )),
        several => {
            let each = several.iter();
            let each = each.map(|log| format!("{} {}", log.file, every(log)));
            Some(format!(
                "{} files: their times do not match the run (set the run's start with --started), \
                 and no column follows the throughput closely enough to align them: each is \
                 assumed to start with the measurement ({})",
                several.len(),
                each.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// Describes how a log was aligned by its correlation with throughput.
fn aligned(log: &HostLog, tie: &Tie) -> String {
    let (file, tool) = (&log.file, log.tool);
    let began = match tie.offset_s {
        offset if offset < 0.0 => format!("{:.1} s before the measurement", -offset),
        offset => format!("{offset:.1} s after the start of the measurement"),
    };
    let drift = tie.drift_s_per_hour();
    let pace = match drift.abs() >= 0.1 {
        true => format!(
            ", and its samples {} {:.1} s an hour",
            if drift > 0.0 {
                "lag by"
            } else {
                "are ahead by"
            },
            drift.abs()
        ),
        false => String::new(),
    };
    format!(
        "{file}: {tool} is aligned by {}, which moves {} the throughput (correlation {}{:.2}): it \
         started {began}{pace}",
        tie.signal,
        if tie.inverse { "against" } else { "with" },
        if tie.inverse { "−" } else { "" },
        tie.correlation
    )
}

/// The samples in the window, without a mean since boot.
fn series(log: &HostLog, values: &Values, times: &[f64], window: (f64, f64)) -> Option<Series> {
    let first = usize::from(log.first_since_boot);
    let points = values.values.iter().filter(|(sample, _)| *sample >= first);
    let mut points: Vec<(f64, f64)> = points
        .filter_map(|&(sample, value)| Some((*times.get(sample)?, value)))
        .filter(|&(at, _)| at > window.0 && at <= window.1)
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then(|| Series {
        key: SeriesKey {
            name: values.name.clone(),
            unit: values.unit.to_owned(),
            source: values.source.clone(),
        },
        kind: values.kind,
        points,
    })
}
