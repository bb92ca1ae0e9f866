//! Checks sysbench's report lines for contradictions, and leaves out figures that cannot be true.

use crate::consistency::{TIME_TOLERANCE, is_above};
use crate::coverage::{self, Coverage};
use crate::intervals::is_own;
use crate::laws::Statistic;
use crate::sysbench::laws::{Broken, Figure};
use crate::sysbench::model::{Draft, Point, Report};

/// sysbench prints times in whole seconds.
const TIME_ROUNDING_S: f64 = 0.5;
/// The rounding of statements of all kinds and of each kind (`%.2f`), and of floating point.
const SUM_ROUNDING: f64 = 4.0 * 0.005 + 1e-6;
/// The mix of statements may change during a run, so the lines' mix may differ from the report's.
const MIX_TOLERANCE: f64 = 0.25;
/// The number of events beyond a percentile must be this many times the number that may shift its
/// rank: then chance cannot keep every interval on the same side.
const SHIFTS: f64 = 10.0;

/// Leaves out lines after the end of the run, with a warning. If there are many, the report belongs
/// to another run: the comparison of sums reports that.
pub(crate) fn leave_out_late(draft: &mut Draft) {
    let Some(end_s) = end_s(draft).filter(|_| coverage::is_comparable(draft) && is_own(draft))
    else {
        return;
    };
    let latest_s = end_s + TIME_ROUNDING_S;
    let is_late = |point: &&Point| point.at_s > latest_s;
    let late: Vec<usize> = draft
        .points
        .iter()
        .filter(is_late)
        .map(|p| p.line)
        .collect();
    if late.is_empty() || late.len() * 2 > draft.points.len() {
        return;
    }
    let (last_s, lines) = (draft.last_s(), late.len());
    let time_s = draft.report.as_ref().and_then(Report::time_s);
    let time_s = time_s.unwrap_or(end_s);
    draft.points.retain(|point| point.at_s <= latest_s);
    draft.throughput.retain(|line| line.at_s <= latest_s);
    let text = format!(
        "report lines up to {last_s:.0} s, but the run ended at {time_s:.1} s: {lines} after its \
         end are left out"
    );
    draft.warnings.push((late.first().copied(), text));
}

/// The latest possible end of the run. Without a printed time, rates imply it less precisely.
fn end_s(draft: &Draft) -> Option<f64> {
    let report = draft.report.as_ref()?;
    let printed = report.total_time_s.filter(|seconds| *seconds > 0.0);
    let implied = report.implied_time_s();
    let implied = implied.map(|seconds| seconds * (1.0 + TIME_TOLERANCE));
    printed.into_iter().chain(implied).reduce(f64::max)
}

/// Leaves out percentiles of intervals above the maximum of the run. The report does not include a
/// warm-up.
pub(crate) fn leave_out_above_maximum(draft: &mut Draft) -> Option<Broken> {
    if !is_own(draft) || draft.warmup_s.is_some_and(|s| s > 0.0) {
        return None;
    }
    let checkpoints = draft.checkpoints.iter().map(|(_, report)| report);
    let reports = checkpoints.chain([draft.report.as_ref()?]);
    let maxima = reports.map(|report| report.max_ms);
    let maxima = maxima.collect::<Option<Vec<f64>>>()?;
    let max_ms = maxima.into_iter().reduce(f64::max)?;
    let mut above = Vec::new();
    for point in &mut draft.points {
        let at_s = point.at_s;
        let removed = point
            .latencies
            .extract_if(.., |own| is_above(own.ms, max_ms));
        above.extend(removed.map(|own| (at_s, own)));
    }
    let count = above.len();
    let (at_s, highest) = above.into_iter().max_by(|a, b| a.1.ms.total_cmp(&b.1.ms))?;
    let which = highest
        .percent
        .map_or("a".to_owned(), |percent| format!("the {percent}th"));
    let left_out = match count {
        1 => "it is left out".to_owned(),
        _ => format!("{count} such percentiles are left out"),
    };
    let text = format!(
        "{which} percentile of the latencies at {at_s:.0} s, {:.2} ms, is above the run's \
         maximum, {max_ms:.2} ms; {left_out}",
        highest.ms
    );
    Some(Broken::new(&text, &[]))
}

/// The report's percentiles that are not between those of the intervals.
pub(crate) fn broken(draft: &Draft) -> Vec<Broken> {
    let coverage = Coverage::of(draft);
    let compared = coverage::is_comparable(draft) && is_own(draft) && coverage.is_whole();
    let Some(report) = draft.report.as_ref().filter(|_| compared) else {
        return Vec::new();
    };
    let all = report.percentiles.iter();
    all.filter_map(|own| outside(draft, report, &coverage, *own))
        .collect()
}

/// A percentile of the whole is between the least and the greatest one of its parts, up to the
/// events that are in no line and the rounding of ranks.
fn outside(
    draft: &Draft,
    report: &Report,
    coverage: &Coverage,
    (percent, ms): (f64, f64),
) -> Option<Broken> {
    let (mut held, mut parts) = (0.0, Vec::new());
    for (point, length_s) in draft.points.iter().zip(&coverage.lengths_s) {
        let events = point.tps? * length_s;
        if events == 0.0 {
            continue;
        }
        held += events;
        let own = (point.latencies.iter()).find(|own| own.percent == Some(percent))?;
        parts.push(own.ms);
    }
    let events = report.events()? as f64;
    // sysbench rounds the rank of each interval, and of the whole, to the nearest event.
    let shift = (events - held).abs() + 0.5 * (parts.len() as f64 + 1.0);
    let beyond = events * (1.0 - percent / 100.0).min(percent / 100.0);
    if parts.len() < 2 || beyond < SHIFTS * shift {
        return None;
    }
    let least = parts.iter().copied().reduce(f64::min)?;
    let most = parts.iter().copied().reduce(f64::max)?;
    (is_above(least, ms) || is_above(ms, most)).then(|| {
        let text = format!(
            "the {percent}th percentile of the run is {ms:.2} ms, but those of its intervals are \
             {least:.2} to {most:.2} ms"
        );
        Broken::new(&text, &[Figure::Latency(Statistic::Percentile(percent))])
    })
}

/// Leaves out statements where their number is not the sum of their kinds, with warnings: the
/// number, if the kinds of all lines fit the report, else all statements of all lines.
pub(crate) fn leave_out_sums(draft: &mut Draft) {
    if !is_own(draft) {
        return;
    }
    let fits = kinds_fit(draft);
    let mut any = false;
    for point in &mut draft.points {
        let (Some(all), Some(kinds)) = (point.queries, kinds(point)) else {
            continue;
        };
        if (all - kinds).abs() <= SUM_ROUNDING {
            continue;
        }
        any = true;
        point.queries = None;
        let left_out = match fits {
            true => "the queries are left out",
            false => "the statements of all lines are left out",
        };
        let text = format!(
            "{all:.2} queries/s, but reads, writes and other statements add up to {kinds:.2}: \
             {left_out}"
        );
        draft.warnings.push((Some(point.line), text));
    }
    if any && !fits {
        for point in &mut draft.points {
            point.queries = None;
            (point.reads, point.writes, point.other) = (None, None, None);
        }
    }
}

fn kinds(point: &Point) -> Option<f64> {
    Some(point.reads? + point.writes? + point.other?)
}

/// Whether the kinds of all lines add up to about as many statements per event as the report has.
fn kinds_fit(draft: &Draft) -> bool {
    let report = draft.report.as_ref();
    let whole = report.and_then(|own| Some(own.statements()? as f64 / own.events()? as f64));
    let (mut events, mut statements) = (0.0, 0.0);
    for point in &draft.points {
        if let (Some(tps), Some(kinds)) = (point.tps, kinds(point)) {
            events += tps;
            statements += kinds;
        }
    }
    let part: f64 = statements / events;
    whole.is_some_and(|whole| (part / whole - 1.0).abs() <= MIX_TOLERANCE)
}
