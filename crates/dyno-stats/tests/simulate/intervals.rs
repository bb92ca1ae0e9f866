//! Intervals of series.

use dyno_stats::Bounds;
use dyno_stats::intervals::{
    mean_interval_correlated, median_interval_correlated, median_ratio_interval_correlated,
    ratio_interval_correlated,
};

use super::Source;
use super::cases::Asked::{AtLeast, AtMost};
use super::cases::Case;

/// Lengths that a measurement may have, in seconds.
pub(crate) const LENGTHS: [usize; 6] = [10, 20, 30, 60, 120, 600];
/// Coefficients of the autoregression.
pub(crate) const COEFFICIENTS: [f64; 4] = [0.0, 0.5, 0.8, 0.9];

const MEAN: &str = "95 % interval of a mean";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in LENGTHS {
        for phi in COEFFICIENTS {
            let of = format!("{n} s, coefficient {phi}");
            let hold = move |bounds: Option<Bounds>, truth: f64| {
                bounds.is_some_and(|bounds| bounds.contains(truth))
            };
            let series = move |source: &mut Source, mean| source.series(n, phi, mean, 2.0);
            // If the memory is longer than so short a series can show, coverage is lower.
            let mean = match (n, phi) {
                (..60, 0.9) => 0.65,
                (..60, 0.8) => 0.82,
                (..60, 0.5) => 0.93,
                _ => 0.95,
            };
            cases.push(Case::new(MEAN, &of, AtLeast(mean), move |source| {
                hold(mean_interval_correlated(&series(source, 10.0), 0.95), 10.0)
            }));
            // This interval is converted from the share of values below, which ten values resolve
            // poorly.
            let asked = AtLeast(mean.min(if n < 20 { 0.9 } else { 0.93 }));
            cases.push(Case::new(
                "95 % interval of a median",
                &of,
                asked,
                move |source| {
                    median_interval_correlated(&series(source, 10.0), 0.95)
                        .is_none_or(|bounds| bounds.contains(10.0))
                },
            ));
            cases.push(Case::new(
                "95 % interval of a ratio",
                &of,
                AtLeast(mean),
                move |source| {
                    let (new, base) = (series(source, 24.0), series(source, 20.0));
                    hold(ratio_interval_correlated(&new, &base, 0.95), 1.2)
                },
            ));
            cases.push(Case::new(
                "95 % interval of a ratio of medians",
                &of,
                asked,
                move |source| {
                    let (new, base) = (series(source, 24.0), series(source, 20.0));
                    median_ratio_interval_correlated(&new, &base, 0.95)
                        .is_none_or(|bounds| bounds.contains(1.2))
                },
            ));
        }
    }
    cases.extend(under_noise());
    cases.extend(not_too_wide());
    cases
}

fn under_noise() -> Option<Case> {
    let of = "60 s, coefficient 0.8 under noise of the same variance";
    Some(Case::new(MEAN, of, AtLeast(0.95), |source| {
        let mut series = source.series(60, 0.8, 10.0, 1.0);
        series
            .iter_mut()
            .for_each(|value| *value += source.normal());
        mean_interval_correlated(&series, 0.95).is_some_and(|bounds| bounds.contains(10.0))
    }))
}

/// An interval that is too wide is useless.
fn not_too_wide() -> impl Iterator<Item = Case> {
    let limits = [
        (10, 1.6),
        (12, 1.3),
        (20, 0.9),
        (30, 0.65),
        (60, 0.5),
        (120, 0.3),
    ];
    limits.into_iter().map(|(n, most)| {
        let of = format!("{n} s, independent: wider than {most} deviations either way");
        Case::new(MEAN, of, AtMost(0.2), move |source| {
            let series = source.normals(n, 10.0, 1.0);
            mean_interval_correlated(&series, 0.95).is_none_or(|b| b.width() > 2.0 * most)
        })
    })
}
