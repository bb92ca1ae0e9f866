//! The part of a run that its report lines cover.

use dyno_core::text::{number_of, tenths};

use crate::consistency::TIME_TOLERANCE;
use crate::sysbench::model::{Draft, Point};

/// Report missing lines from this share of the time on, even if they are scattered.
const MISSING_REPORTED: f64 = 0.05;

/// The time covered by report lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// The length of each line in seconds.
    pub(crate) lengths_s: Vec<f64>,
    /// Whether each line begins where the one before it ended, or at the beginning.
    pub(crate) joined: Vec<bool>,
    /// Time before or between lines that no line covers, in seconds.
    pub(crate) between_s: f64,
    /// Whether there is a gap that rounded times do not explain.
    wide: bool,
}

impl Coverage {
    /// sysbench prints times in whole seconds only, so use the requested length.
    pub(crate) fn of(draft: &Draft) -> Self {
        let usual = usual_s(draft);
        let mut coverage = Self::default();
        let mut before = 0.0;
        for point in &draft.points {
            let distance = (point.at_s - before).max(0.0);
            let length = usual.unwrap_or(distance).min(distance);
            let joined = distance <= length * 1.5;
            coverage.lengths_s.push(length);
            coverage.joined.push(joined);
            if !joined {
                coverage.between_s += distance - length;
            }
            // Times are rounded to seconds, so neighbours may be one more second apart.
            coverage.wide |= distance > length * 1.5 + 1.0;
            before = point.at_s;
        }
        coverage
    }

    /// The time covered by all lines, in seconds.
    pub(crate) fn covered_s(&self) -> f64 {
        self.lengths_s.iter().sum()
    }

    /// Whether no line before the last one is missing.
    pub(crate) fn is_whole(&self) -> bool {
        self.joined.iter().all(|joined| *joined)
    }
}

/// The report interval, from the log or the most frequent distance; `None` with fewer than two
/// reports.
pub(crate) fn usual_s(draft: &Draft) -> Option<f64> {
    draft.report_interval_s.or_else(|| step(&draft.points))
}

/// The usual distance of reports; `None` with fewer than two.
fn step(points: &[Point]) -> Option<f64> {
    let mut steps: Vec<f64> = points.windows(2).map(|p| p[1].at_s - p[0].at_s).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied()
}

/// Whether lines and report can be compared. After a checkpoint the report covers only part of the
/// run, and neither includes a warm-up.
pub(crate) fn is_comparable(draft: &Draft) -> bool {
    draft.checkpoints.is_empty() && draft.warmup_s.is_none_or(|s| s == 0.0)
}

/// Lines that a log lacks.
pub(crate) struct MissingLines {
    /// The line after the first gap.
    pub(crate) line: usize,
    /// A warning about that line.
    pub(crate) warning: String,
    /// The same without a place.
    pub(crate) what: String,
}

/// The missing lines and their share of the run.
pub(crate) fn missing(draft: &Draft, coverage: &Coverage) -> Option<MissingLines> {
    let last = draft.points.last()?;
    let report = draft.report.as_ref().filter(|_| is_comparable(draft));
    let time_s = report.and_then(|report| report.time_s());
    // The last interval is usually not printed.
    let length = usual_s(draft).unwrap_or(last.at_s);
    let tail_s = time_s.map_or(0.0, |time_s| time_s - last.at_s);
    let tail_s = if tail_s > length * 1.5 { tail_s } else { 0.0 };
    let wide = coverage.wide || tail_s > length * 1.5 + 1.0;
    let missing_s = coverage.between_s + tail_s;
    let whole_s = time_s.unwrap_or(last.at_s);
    if !wide && missing_s <= MISSING_REPORTED * whole_s {
        return None;
    }
    let mut gaps = draft.points.iter().zip(&coverage.joined);
    let first = gaps.find(|(_, joined)| !**joined).map(|(point, _)| point);
    let count = coverage.joined.iter().filter(|joined| !**joined).count();
    let what = match count {
        0 => format!("the report lines end at {} s", tenths(last.at_s)),
        _ => format!("the report lines have {}", number_of(count, "gap")),
    };
    let place = match count {
        0 => "",
        1 => ", which ends here",
        _ => ", the first of which ends here",
    };
    let how_much = match time_s.filter(|time_s| *time_s > 0.0) {
        None => "seconds are missing".to_owned(),
        Some(time_s) => {
            let covered = (tenths(coverage.covered_s()), tenths(time_s));
            let seconds = format!("the lines cover {} of {} s", covered.0, covered.1);
            match outside(draft, coverage) {
                Some((0, _)) | None => seconds,
                Some((outside, all)) => {
                    format!("{seconds}, and about {outside} of {all} events are outside them")
                }
            }
        }
    };
    Some(MissingLines {
        line: first.unwrap_or(last).line,
        warning: format!("{what}{place}: {how_much}"),
        what: format!("{what}: {how_much}"),
    })
}

/// Number of events outside all lines, and in total; 0 if almost none are missing.
fn outside(draft: &Draft, coverage: &Coverage) -> Option<(u64, u64)> {
    let all = draft.report.as_ref()?.events()?;
    let lines = draft.points.iter().zip(&coverage.lengths_s);
    let held: f64 = lines
        .map(|(point, length)| point.tps.map(|tps| tps * length))
        .sum::<Option<f64>>()?;
    let outside = (all as f64 - held).max(0.0);
    let differs = outside > TIME_TOLERANCE * all as f64;
    Some((if differs { outside.round() as u64 } else { 0 }, all))
}
