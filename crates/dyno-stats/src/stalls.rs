//! Seconds in which almost nothing happened, which a median does not show.

use crate::{all_finite, describe, median, proper};

/// A second is a stall if its rate is at most this share of the level.
pub const STALL_SHARE: f64 = 0.05;

/// A period needs at least this many gaps between runs of stalls. Three random gaps look regular
/// once in fifty times, and two of them once in six.
const PERIOD_GAPS_MIN: usize = 3;

/// A gap within this share of the median gap is regular.
const PERIOD_TOLERANCE: f64 = 0.2;

const PERIOD_REGULAR_SHARE: f64 = 0.75;

/// Consecutive stalled seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the first.
    pub start: usize,
    /// Number of seconds.
    pub length: usize,
}

/// The stalls of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// The median of the values that moved.
    pub level: f64,
    /// Number of stalled values.
    pub seconds: usize,
    /// Consecutive stalled values, in time order.
    pub runs: Vec<Run>,
    /// Mean length of a run, 0 without any.
    pub mean_length: f64,
    /// Length of the longest run.
    pub max_length: usize,
    /// Median distance between the starts of successive runs; `None` for fewer than two runs.
    pub median_gap: Option<f64>,
    /// Share of the values that are stalled, in [0, 1].
    pub share_of_time: f64,
    /// The distance at which runs recur regularly. That takes at least four runs, and three in four
    /// distances within 20 % of the median.
    pub period: Option<f64>,
}

/// Finds the values of at most `share` of the level (reports use [`STALL_SHARE`]). The level is the
/// median of the values that moved, which are those above `share` of the value in which the median
/// event happened. Even if most of the series is stalled, this is the level of the rest.
///
/// `rates` are events per unit of time, and `events` are their numbers. `None` for an empty series,
/// for one without any event, and for a share that is not between 0 and 1.
pub fn stalls(rates: &[f64], events: &[f64], share: f64) -> Option<Stalls> {
    let level = level(rates, events, share)?;
    let limit = share * level;
    let mut runs: Vec<Run> = Vec::new();
    for (index, _) in rates.iter().enumerate().filter(|&(_, &x)| x <= limit) {
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
        level,
        seconds,
        mean_length: seconds as f64 / runs.len().max(1) as f64,
        max_length: runs.iter().map(|run| run.length).max().unwrap_or(0),
        median_gap: median(&gaps),
        share_of_time: seconds as f64 / rates.len() as f64,
        period: regular(&gaps),
        runs,
    })
}

fn level(rates: &[f64], events: &[f64], share: f64) -> Option<f64> {
    let sound = rates.len() == events.len() && all_finite(rates) && all_finite(events);
    if !sound || !proper(share) {
        return None;
    }
    let mut ascending: Vec<(f64, f64)> = rates
        .iter()
        .copied()
        .zip(events.iter().copied())
        .filter(|(rate, events)| *rate > 0.0 && *events > 0.0)
        .collect();
    ascending.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let total: f64 = ascending.iter().map(|(_, events)| events).sum();
    let mut sum = 0.0;
    let (of_median_event, _) = ascending.iter().find(|(_, events)| {
        sum += events;
        2.0 * sum >= total
    })?;
    let limit = share * of_median_event;
    let moved: Vec<f64> = ascending
        .iter()
        .map(|(rate, _)| *rate)
        .filter(|rate| *rate > limit)
        .collect();
    let (low, high) = (
        moved.get((moved.len() - 1) / 2)?,
        moved.get(moved.len() / 2)?,
    );
    Some((low + high) / 2.0)
}

/// The median gap, if most gaps are close to it.
fn regular(gaps: &[f64]) -> Option<f64> {
    let middle = median(gaps)?;
    let close = gaps
        .iter()
        .filter(|&&gap| (gap - middle).abs() <= PERIOD_TOLERANCE * middle)
        .count();
    let regular = close as f64 >= PERIOD_REGULAR_SHARE * gaps.len() as f64;
    (gaps.len() >= PERIOD_GAPS_MIN && regular).then_some(middle)
}

/// How much a series varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Interquartile range over the median: the spread of ordinary seconds. `None` for a median
    /// of 0.
    pub iqr_share: Option<f64>,
    /// Standard deviation over the mean, which includes outliers and stalls. `None` for a mean of 0
    /// or a single value.
    pub cv: Option<f64>,
}

/// The jitter of a series; `None` if it is empty.
pub fn jitter(series: &[f64]) -> Option<Jitter> {
    let seen = describe(series)?;
    Some(Jitter {
        iqr_share: (seen.median != 0.0).then(|| seen.iqr / seen.median.abs()),
        cv: seen.cv,
    })
}
