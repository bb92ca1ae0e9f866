//! A ratio at the margin is called the same in 5 % of the trials at most.

use dyno_stats::intervals::{ratio_interval, ratio_interval_correlated};
use dyno_stats::{Bounds, Equivalence, Margin, Tested, inner_confidence, mean};

use crate::simulate::{Source, share, share_of};

type Interval = fn(&[f64], &[f64], f64) -> Option<Bounds>;

/// The answer within 2 %.
fn answer(new: &[f64], base: &[f64], interval: Interval) -> Equivalence {
    let unknown = Equivalence::Undecided { times: None };
    let tested = || {
        Some(Tested {
            ratio: mean(new)? / mean(base)?,
            interval: interval(new, base, 0.95)?,
            inner: interval(new, base, inner_confidence(0.95))?,
        })
    };
    tested()
        .zip(Margin::new(0.02))
        .map_or(unknown, |(tested, margin)| Equivalence::of(&tested, margin))
}

fn is_same(answer: Equivalence) -> bool {
    matches!(answer, Equivalence::Same | Equivalence::SameButMeasurable)
}

/// Runs of both sides that vary by 1 %, with this ratio.
fn of_runs(source: &mut Source, runs: usize, ratio: f64) -> Equivalence {
    let new = source.normals(runs, 100.0 * ratio, ratio);
    let base = source.normals(runs, 100.0, 1.0);
    answer(&new, &base, ratio_interval)
}

#[test]
fn runs_at_the_margin_are_seldom_the_same() {
    for (seed, ratio) in [(60, 1.02), (61, 1.0 / 1.02)] {
        let found = share(seed, |source| is_same(of_runs(source, 10, ratio)));
        // 5 %, and four standard deviations of 10,000 trials.
        assert!((0.03..=0.059).contains(&found), "{ratio}: {found}");
        // The intervals of three runs are seldom narrow enough.
        let few = share(seed, |source| is_same(of_runs(source, 3, ratio)));
        assert!(few <= 0.05, "{ratio}: {few}");
    }
}

#[test]
fn series_at_the_margin_are_seldom_the_same() {
    let found = share_of(2_000, 62, |source| {
        let new = source.series(400, 0.5, 102.0, 3.0);
        let base = source.series(400, 0.5, 100.0, 3.0);
        is_same(answer(&new, &base, ratio_interval_correlated))
    });
    // 5 %, and four standard deviations of 2,000 trials.
    assert!((0.02..=0.07).contains(&found), "{found}");
}

#[test]
fn equal_runs_are_the_same_and_seldom_measurably_different() {
    let mut measurable = 0;
    let same = share_of(2_000, 63, |source| {
        let found = of_runs(source, 10, 1.0);
        measurable += usize::from(found == Equivalence::SameButMeasurable);
        is_same(found)
    });
    assert!(same > 0.95, "{same}");
    assert!((40..=160).contains(&measurable), "{measurable} of 2,000");
}
