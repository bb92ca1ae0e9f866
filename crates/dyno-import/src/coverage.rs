//! How much of a run its report lines cover.

use crate::consistency::TIME_TOLERANCE;
use crate::sysbench::model::{Draft, Point};

/// Lines of this share of the time that are missing are told, however they are scattered.
const MISSING_TOLD: f64 = 0.05;

/// The time that report lines are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// For each line how many seconds it covers.
    pub(crate) lengths_s: Vec<f64>,
    /// For each line whether it begins where the one before it ended, or at the beginning.
    pub(crate) joined: Vec<bool>,
    /// What lies between or before lines and is in none, in seconds.
    pub(crate) between_s: f64,
    /// Whether there is a hole that rounded times do not explain.
    wide: bool,
}

impl Coverage {
    /// sysbench prints times in whole seconds only, so that the lengths are what was asked for.
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
            // Times are rounded to seconds, so that neighbours may be one apart more.
            coverage.wide |= distance > length * 1.5 + 1.0;
            before = point.at_s;
        }
        coverage
    }

    /// All seconds that are in a line.
    pub(crate) fn covered_s(&self) -> f64 {
        self.lengths_s.iter().sum()
    }

    /// Whether no line is missing before the last one.
    pub(crate) fn is_whole(&self) -> bool {
        self.joined.iter().all(|joined| *joined)
    }
}

/// How far reports are apart, as the log says or as most of them are; `None` of fewer than two.
pub(crate) fn usual_s(draft: &Draft) -> Option<f64> {
    draft.report_interval_s.or_else(|| step(&draft.points))
}

/// The usual distance of reports; `None` of fewer than two.
fn step(points: &[Point]) -> Option<f64> {
    let mut steps: Vec<f64> = points.windows(2).map(|p| p[1].at_s - p[0].at_s).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied()
}

/// Whether the lines' seconds and counts can be laid beside those of the report. After a
/// checkpoint it is about a part of the run, and a warm-up is in neither.
pub(crate) fn is_comparable(draft: &Draft) -> bool {
    draft.checkpoints.is_empty() && draft.warmup_s.is_none_or(|s| s == 0.0)
}

/// A warning about lines that are missing, with its line: how much of the run they would hold.
pub(crate) fn missing(draft: &Draft, coverage: &Coverage) -> Option<(Option<usize>, String)> {
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
    if !wide && missing_s <= MISSING_TOLD * whole_s {
        return None;
    }
    let mut gaps = draft.points.iter().zip(&coverage.joined);
    let first = gaps.find(|(_, joined)| !**joined).map(|(point, _)| point);
    let count = coverage.joined.iter().filter(|joined| !**joined).count();
    let what = match count {
        0 => format!("the report lines end at {} s", figure(last.at_s)),
        1 => "the report lines have 1 gap, which ends here".to_owned(),
        _ => format!("the report lines have {count} gaps, the first of which ends here"),
    };
    let how_much = match time_s.filter(|time_s| *time_s > 0.0) {
        None => "seconds are missing".to_owned(),
        Some(time_s) => {
            let covered = (figure(coverage.covered_s()), figure(time_s));
            let seconds = format!("the lines cover {} of {} s", covered.0, covered.1);
            match outside(draft, coverage) {
                Some((0, _)) | None => seconds,
                Some((outside, all)) => {
                    format!("{seconds}, and about {outside} of {all} events are in none")
                }
            }
        }
    };
    Some((
        Some(first.unwrap_or(last).line),
        format!("{what}: {how_much}"),
    ))
}

/// How many of all events are in no line; 0 if they are as good as all there.
fn outside(draft: &Draft, coverage: &Coverage) -> Option<(u64, u64)> {
    let all = draft.report.as_ref()?.events()?;
    let lines = draft.points.iter().zip(&coverage.lengths_s);
    let held: f64 = lines
        .map(|(point, length)| point.tps.map(|tps| tps * length))
        .sum::<Option<f64>>()?;
    let outside = (all as f64 - held).max(0.0);
    let told = outside > TIME_TOLERANCE * all as f64;
    Some((if told { outside.round() as u64 } else { 0 }, all))
}

/// With a decimal where it tells something.
fn figure(seconds: f64) -> String {
    let text = format!("{seconds:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
