//! Checks 23 to 28: whether the measurement shows a steady state without interference.

pub(crate) mod causes;
mod cycles;
pub(crate) mod modes;
pub(crate) mod other_load;
mod stalls;
mod steady_state;

#[cfg(test)]
mod level_tests;
#[cfg(test)]
mod tests;

use dyno_core::finding::Cause;
use dyno_stats::{ChangePoint, ChangePoints};

use crate::check::{Check, CheckResult, doubted, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(crate) const CHECKS: &[Check] = &[
    steady_state::WARM_UP,
    steady_state::STEADY_STATE,
    cycles::CYCLES,
    stalls::STALLS,
    modes::MODES,
    Check {
        number: 27,
        name: "length",
        title: "Length against the autocorrelation time of the rate",
        rule: "Doubt below {0} s, or if the mean rate is known no better than {1} % either way \
               ({3} % if the run is too short for `steady-state`) at 95 % confidence, \
               autocorrelation included. Not checked where `steady-state`, `warm-up` or `stalls` \
               reports a moving level. Needs {2} whole seconds.",
        thresholds: &[SHORTEST_S, PRECISION, LENGTH_BINS, UNDECIDED],
        make: length,
    },
    other_load::OTHER_LOAD,
];

thresholds! {
    SHORTEST_S = 10.0, "s", "measurement": "less shows no beginning, trend or autocorrelation";
    PRECISION = 25.0, "percent of the mean", "half of the mean's 95 % interval":
        "two equal runs could differ by half";
    UNDECIDED = 15.0, "percent of the mean",
        "half of the mean's 95 % interval, if the rate may drift":
        "with a drift of 30 %, the halves of the run differ by as much";
    LENGTH_BINS = 8.0, "count", "whole seconds": "with fewer, the autocorrelation is chance";
}

/// The shortest series with a reported estimate of the autocorrelation.
const ESTIMATED: usize = 60;
/// The largest number of points to search for changes: the cost is quadratic.
const SEARCHED: usize = 1200;
/// The shortest part between two changes.
const SEGMENT: usize = 5;

/// Changes of a series' level at the one-percent significance level, robust against
/// autocorrelation. Long series are searched in means of several points.
pub(crate) fn changes(values: &[f64]) -> Vec<ChangePoint> {
    let step = values.len().div_ceil(SEARCHED).max(1);
    let means: Vec<f64> = values
        .chunks_exact(step)
        .map(|chunk| chunk.iter().sum::<f64>() / step as f64)
        .collect();
    let how = ChangePoints {
        min_segment: SEGMENT,
        significance: 0.01,
        ..ChangePoints::default()
    };
    let mut found = dyno_stats::change_points(&means, &how);
    for change in &mut found {
        change.index *= step;
    }
    found
}

/// Qualifies a mean that is not the run's: a log's total may include many events that none of its
/// lines shows.
fn of_lines(view: &View, mean: f64) -> &'static str {
    /// A smaller difference is due to rounded times.
    const APART: f64 = 0.02;
    let stated = view.events_per_s().filter(|_| view.imported());
    match stated.is_some_and(|stated| (mean / stated - 1.0).abs() > APART) {
        true => " of the log's lines",
        false => "",
    }
}

fn length(view: &View) -> CheckResult {
    if view.length_s <= 0.0 {
        return Missing::Length.or(view, "There was no measurement.");
    }
    // A few milliseconds short is acceptable.
    if view.length_s < SHORTEST_S.value - 0.1 {
        return CheckResult::doubt(
            format!(
                "{} are too short to judge the warm-up, the rate's trend or the precision of its \
                 mean.",
                text::seconds(view.length_s)
            ),
            "Measure for 10 s or longer.",
        )
        .with("measurement", view.length_s, "s");
    }
    let rates = view.rates();
    if (rates.len() as f64) < LENGTH_BINS.value {
        return CheckResult::not_checked(format!("{} too few.", view.whole_are(rates.len())));
    }
    let mean = dyno_stats::mean(&rates).filter(|mean| *mean > 0.0);
    let bounds = dyno_stats::intervals::mean_interval_correlated(&rates, 0.95);
    let (Some(mean), Some(bounds)) = (mean, bounds) else {
        return CheckResult::not_checked("The rate's mean and interval cannot be computed.");
    };
    let half = (bounds.high - bounds.low) / 2.0 / mean * 100.0;
    if let Some(result) = too_short(view, half) {
        return result;
    }
    if half >= PRECISION.value && steady_state::level_moves(view) {
        return CheckResult::not_checked(
            "The level of the rate moves (see `steady-state`, `warm-up` or `stalls`), so the \
             precision of its mean is not judged.",
        );
    }
    let memory = dyno_stats::autocorrelation::autocorrelation_time(&rates);
    // In a short series the interval allows for an autocorrelation that cannot be estimated; an
    // estimate would contradict it.
    let effective = dyno_stats::autocorrelation::effective_sample_size(&rates)
        .filter(|_| rates.len() >= ESTIMATED);
    CheckResult::of(
        doubted(half, &PRECISION),
        format!(
            "In {} the mean rate{} is {} per second, known to {}{}.",
            text::seconds(view.length_s),
            of_lines(view, mean),
            text::rate(mean),
            match half < 100.0 {
                true => format!("{} % either way", text::plain(half)),
                false => "100 % or worse either way".to_owned(),
            },
            effective.map_or_else(String::new, |n| format!(
                "; its {} are worth {} independent ones",
                view.whole(rates.len()),
                text::plain(n)
            ))
        ),
        "Measure longer, or remove what makes the rate swing.",
    )
    .naming([Cause::UncertainMean])
    .with("mean rate", mean, "per second")
    .with("95 % interval, low", bounds.low, "per second")
    .with("95 % interval, high", bounds.high, "per second")
    .with("half of the interval", half, "percent of the mean")
    .with_some("autocorrelation time", memory, "s")
}

/// The result if the rate varies too much, and the run is too short, for a finding.
fn too_short(view: &View, half: f64) -> Option<CheckResult> {
    if !(UNDECIDED.value..PRECISION.value).contains(&half) {
        return None;
    }
    let needed_s = steady_state::undecided(view)?;
    let level = dyno_stats::median(&view.rates())?;
    let slower = causes::below(view, level);
    let cause = causes::sentence(view, "In its slower seconds", &slower, &slower);
    let others = match cause.causes.contains(&Cause::OtherProcesses) {
        true => "End other processes on this host, and m",
        false => "M",
    };
    let result = CheckResult::doubt(
        format!(
            "{} at such an uneven rate (its mean is known to {} % either way) are too short to \
             distinguish a steady state from a drift.{}",
            text::seconds(view.length_s),
            text::plain(half),
            cause.sentence
        ),
        &format!("{others}easure for about {}.", text::seconds(needed_s)),
    )
    .with("measurement", view.length_s, "s")
    .with("length that would do", needed_s, "s")
    .with("half of the interval", half, "percent of the mean")
    .naming(cause.causes)
    .naming([Cause::UncertainMean]);
    Some(result)
}
