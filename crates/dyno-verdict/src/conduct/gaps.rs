//! Missing samples.

use dyno_core::catalogue::names;
use dyno_core::record::Series;

use super::{LENGTH, ROUNDING};
use crate::view::View;

/// Series in each sample of an observer on the server's host.
const THERE: [&str; 2] = [names::SERVER_HOST_CPU_IDLE, names::SERVER_HOST_CPU_USER];

/// The missing samples of this series, or those of the observer on the server's host if it lacks
/// more.
pub(super) fn missing(view: &View, own: &Series) -> Option<Missing> {
    let of = |series: &Series| of_times(view, &within(view, &series.points));
    let own = of(own);
    if view.run.fact(names::SERVER_OBSERVER).is_none() {
        return own;
    }
    let series = THERE.iter().filter_map(|name| view.run.series(name));
    let there = match series.max_by_key(|series| series.points.len()) {
        Some(series) => of(series),
        None => of_times(view, &[]),
    };
    let there = there.map(|there| Missing {
        there: true,
        ..there
    });
    match (own, there) {
        (Some(own), Some(there)) if there.percent > own.percent => Some(there),
        (own, there) => own.or(there),
    }
}

fn within(view: &View, points: &[(f64, f64)]) -> Vec<f64> {
    let inside = points
        .iter()
        .filter(|(at, _)| *at > 0.0 && *at <= view.length_s);
    inside.map(|(at, _)| *at).collect()
}

#[derive(Clone, Copy)]
pub(super) struct Missing {
    pub(super) samples: u64,
    /// In percent of the expected samples.
    pub(super) percent: f64,
    /// Whether the observer on the server's host missed them.
    pub(super) there: bool,
}

/// The missing samples, by the usual time between samples.
fn of_times(view: &View, times: &[f64]) -> Option<Missing> {
    if view.length_s < LENGTH.value {
        return None;
    }
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = dyno_stats::median(&gaps).filter(|period| *period > 0.0);
    let Some(period) = period else {
        // Fewer than two samples show no period: assume a second.
        let samples = (view.length_s as u64)
            .saturating_sub(times.len() as u64)
            .max(1);
        return Some(Missing {
            samples,
            percent: 100.0,
            there: false,
        });
    };
    // The first and the last sample may be anywhere within their periods.
    let expected = (view.length_s / period - 1.0).max(1.0);
    let samples = (expected - times.len() as f64 + ROUNDING).max(0.0).floor();
    Some(Missing {
        samples: samples as u64,
        percent: samples / expected * 100.0,
        there: false,
    })
}
