//! Seconds in which next to nothing happened, which a median hides.

use crate::{describe, median};

/// A second at no more than this share of the median is a stall.
pub const STALL_SHARE: f64 = 0.05;

/// Runs of stalls that recur need at least this many gaps between them before a period is named:
/// three chance gaps look regular once in fifty times, two one in six.
const PERIOD_GAPS_MIN: usize = 3;

/// A gap within this share of the median gap is regular.
const PERIOD_TOLERANCE: f64 = 0.2;

/// This share of the gaps must be regular.
const PERIOD_REGULAR_SHARE: f64 = 0.75;

/// Stalled seconds in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the first.
    pub start: usize,
    /// How many.
    pub length: usize,
}

/// The stalls of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// How many values are stalled.
    pub seconds: usize,
    /// Stalled values in a row, in the order of time.
    pub runs: Vec<Run>,
    /// Mean length of a run, 0 without any.
    pub mean_length: f64,
    /// Length of the longest run.
    pub max_length: usize,
    /// Median distance between the starts of successive runs; none below two runs.
    pub median_gap: Option<f64>,
    /// Share of the values that are stalled, in [0, 1].
    pub share_of_time: f64,
    /// The distance at which runs recur, when they do so regularly: at least four runs, of whose
    /// distances three in four lie within 20 % of the median.
    pub period: Option<f64>,
}

/// The values at most `share` of the median ([`STALL_SHARE`] is what reports mean by a stall).
///
/// None of an empty series, of one whose median is 0 or negative (everything would be stalled, or
/// nothing), and for a share that is no number.
pub fn stalls(series: &[f64], share: f64) -> Option<Stalls> {
    let middle = median(series)?;
    if middle <= 0.0 || share.is_nan() {
        return None;
    }
    let limit = share * middle;
    let mut runs: Vec<Run> = Vec::new();
    for (index, _) in series.iter().enumerate().filter(|&(_, &x)| x <= limit) {
        match runs.last_mut() {
            Some(run) if run.start + run.length == index => run.length += 1,
            _ => runs.push(Run {
                start: index,
                length: 1,
            }),
        }
    }
    let seconds = runs.iter().map(|run| run.length).sum::<usize>();
    let gaps: Vec<f64> = runs
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start) as f64)
        .collect();
    Some(Stalls {
        seconds,
        mean_length: seconds as f64 / runs.len().max(1) as f64,
        max_length: runs.iter().map(|run| run.length).max().unwrap_or(0),
        median_gap: median(&gaps),
        share_of_time: seconds as f64 / series.len() as f64,
        period: regular(&gaps),
        runs,
    })
}

/// The median gap when most gaps are close to it.
fn regular(gaps: &[f64]) -> Option<f64> {
    let middle = median(gaps)?;
    let close = gaps
        .iter()
        .filter(|&&gap| (gap - middle).abs() <= PERIOD_TOLERANCE * middle)
        .count();
    let regular = close as f64 >= PERIOD_REGULAR_SHARE * gaps.len() as f64;
    (gaps.len() >= PERIOD_GAPS_MIN && regular).then_some(middle)
}

/// How unevenly a series runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Interquartile range over the median: the spread of ordinary seconds. None for a median of 0.
    pub iqr_share: Option<f64>,
    /// Standard deviation over the mean, which outliers and stalls enter. None for a mean of 0 or
    /// a single value.
    pub cv: Option<f64>,
}

/// The jitter of a series; none when it is empty.
pub fn jitter(series: &[f64]) -> Option<Jitter> {
    let seen = describe(series)?;
    Some(Jitter {
        iqr_share: (seen.median != 0.0).then(|| seen.iqr / seen.median.abs()),
        cv: seen.cv,
    })
}
