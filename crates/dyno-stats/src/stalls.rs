//! Seconds in which almost nothing happened, which a median does not show.

use crate::{all_finite, median, proper};

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
    /// Consecutive stalled values, in time order.
    pub runs: Vec<Run>,
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
    let gaps: Vec<f64> = runs
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start) as f64)
        .collect();
    Some(Stalls {
        level,
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
