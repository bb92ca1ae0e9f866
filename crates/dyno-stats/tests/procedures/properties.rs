//! Properties that hold for every input: no panics, and results in their valid ranges.

use dyno_stats::autocorrelation::{autocorrelation, autocorrelation_time, effective_sample_size};
use dyno_stats::modes::{Bucket, Modes, modes, regrid};
use dyno_stats::multiple::holm;
use dyno_stats::steady::warm_up_end;
use dyno_stats::{
    Bounds, ChangePoints, LevelChanges, change_points, describe, intervals, jain, level_changes,
    mean, median, poisson_dispersion, stalls,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Ordinary values, and troublesome ones.
fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -1e3..1e3,
        3 => Just(0.0),
        2 => (0u8..4).prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::MAX),
        1 => Just(-f64::MIN_POSITIVE),
    ]
}

fn sample() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        vec(odd(), 0..40),
        vec(-1e3..1e3, 0..60),
        vec((0u8..3).prop_map(f64::from), 0..60),
        (0usize..30).prop_map(|n| vec![7.0; n]),
    ]
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.0..1.0, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(f64::NAN), 1 => Just(-1.0)]
}

fn ordered(bounds: Option<Bounds>) -> bool {
    bounds.is_none_or(|bounds| bounds.low <= bounds.high)
}

/// Whether the sums of squares stay below overflow.
fn tame(values: &[f64]) -> bool {
    values.iter().all(|value| value.abs() < 1e100)
}

proptest! {
    #[test]
    fn intervals_are_ordered(a in sample(), b in sample(), p in share(), confidence in share()) {
        let all = [
            intervals::mean_interval(&a, confidence),
            intervals::mean_interval_correlated(&a, confidence),
            intervals::quantile_interval_correlated(&a, p, confidence),
            intervals::ratio_interval(&a, &b, confidence),
            intervals::ratio_interval_correlated(&a, &b, confidence),
            intervals::median_ratio_interval_correlated(&a, &b, confidence),
        ];
        if tame(&a) && tame(&b) {
            for bounds in all {
                prop_assert!(ordered(bounds), "{:?}", all);
            }
        }
    }

    #[test]
    fn counts_are_tested(counts in vec(0u64..100, 0..20)) {
        let test = poisson_dispersion(&counts);
        prop_assert!(test.is_none_or(|test| (0.0..=1.0).contains(&test.p)));
    }

    #[test]
    fn a_description_is_consistent(a in sample()) {
        let _ = (mean(&a), median(&a));
        if let Some(seen) = describe(&a) {
            let steps = [seen.min, seen.p5, seen.q1, seen.median, seen.q3, seen.p95, seen.max];
            prop_assert!(!tame(&a) || steps.is_sorted(), "{:?}", seen);
        }
    }

    #[test]
    fn adjusting_never_lowers_a_p_value(p in vec(share(), 0..12)) {
        let adjusted = holm(&p);
        prop_assert_eq!(adjusted.len(), p.len());
        for (after, before) in adjusted.iter().zip(&p) {
            prop_assert!((0.0..=1.0).contains(after));
            prop_assert!(!(0.0..=1.0).contains(before) || *after >= before * (1.0 - 1e-12));
        }
    }

    #[test]
    fn series_are_described(a in sample(), lag in 0usize..80) {
        if tame(&a) {
            prop_assert!(autocorrelation(&a, lag).is_none_or(|r| r.abs() <= 1.0 + 1e-9));
            prop_assert!(effective_sample_size(&a).is_none_or(|n| n > 0.0 && n <= a.len() as f64));
        }
        let _ = (autocorrelation(&a, lag), autocorrelation_time(&a));
        prop_assert!(warm_up_end(&a) <= a.len() / 2 + 5);
    }

    #[test]
    fn stalls_add_up(a in sample(), limit in share()) {
        if let Some(found) = stalls::stalls(&a, &a, limit) {
            prop_assert!(found.runs.iter().map(|run| run.length).sum::<usize>() <= a.len());
            // Runs do not touch, because otherwise they would be one.
            prop_assert!(found.runs.windows(2).all(|w| w[0].start + w[0].length < w[1].start));
        }
    }

    #[test]
    fn change_points_keep_their_distance(
        a in sample(),
        min_segment in 0usize..20,
        significance in share(),
    ) {
        let options = ChangePoints { min_segment, significance, permutations: 39 };
        let found = change_points(&a, &options);
        let mut edges = vec![0];
        edges.extend(found.iter().map(|change| change.index));
        edges.push(a.len());
        prop_assert!(found.is_empty() || edges.windows(2).all(|w| w[1] - w[0] >= min_segment));
        prop_assert!(found.iter().all(|change| change.p <= significance));
        prop_assert_eq!(found, change_points(&a, &options));
    }

    #[test]
    fn changes_of_level_keep_their_distance(
        a in prop_oneof![
            sample(),
            vec(1.0..1e3, 0..60),
            vec((1u8..4).prop_map(f64::from), 0..60),
        ],
        min_segment in 0usize..20,
        significance in share(),
    ) {
        let options = LevelChanges { min_segment, significance, min_change: 0.0 };
        let found = level_changes(&a, &options);
        let mut edges = vec![0];
        edges.extend(found.iter().map(|change| change.index));
        edges.push(a.len());
        let least = min_segment.max(2);
        prop_assert!(found.is_empty() || edges.windows(2).all(|w| w[1] - w[0] >= least));
        prop_assert!(found.iter().all(|change| change.p <= significance));
        prop_assert!(found.iter().all(|change| change.bounds.contains(change.ratio)));
        prop_assert_eq!(found, level_changes(&a, &options));
    }

    #[test]
    fn regridding_keeps_every_event(
        buckets in vec((1e-5..1e6f64, 0.0..10.0f64, 0u64..1_000_000), 0..30),
    ) {
        let buckets: Vec<Bucket> = buckets
            .into_iter()
            .map(|(low, width, count)| Bucket { low, high: low * (1.0 + width), count })
            .collect();
        let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
        let grid = regrid(&buckets);
        prop_assert_eq!(grid.iter().map(|cell| cell.1).sum::<u64>(), total);
        prop_assert!(grid.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let found = modes(&grid, &Modes::default());
        let sum: u64 = found.iter().map(|mode| mode.count).sum();
        prop_assert!(found.is_empty() || sum == total);
    }

    #[test]
    fn odd_histograms_do_no_harm(a in vec((odd(), odd(), 0u64..u64::from(u32::MAX)), 0..20)) {
        let buckets: Vec<Bucket> = a
            .iter()
            .map(|&(low, high, count)| Bucket { low, high, count })
            .collect();
        let _ = regrid(&buckets);
        let points: Vec<(f64, u64)> = a.iter().map(|&(value, _, count)| (value, count)).collect();
        let _ = modes(&points, &Modes::default());
    }

    #[test]
    fn odd_shares_do_no_harm(a in vec(odd(), 0..8)) {
        let _ = jain(&a);
    }
}
