//! Lasting changes of the level of a figure from run to run.
//!
//! [`super::change_points`] is about the seconds of one run, which are autocorrelated. Runs are
//! taken to be independent, and there may be thousands of them, so Student's t-test replaces
//! permutations, as in Fleming, Kołaczkowski, Kumar and others, "Hunter: Using Change Point
//! Detection to Hunt for Performance Regressions".
//!
//! 1. Logarithms are compared, because their noise is the same at each level. Outliers, which are
//!    fewer runs than the minimum segment and far from all their neighbours, are left out: between
//!    two levels, no value in their place would belong to either.
//! 2. Windows of several lengths, each half over the next, are split where the energy distance is
//!    largest. Short windows show temporary changes, which a long window would average out.
//! 3. The surest split of all windows is kept if its p-value, corrected for the places within the
//!    window and for the number of windows, is significant. Its two sides are then searched in the
//!    same way.
//! 4. The change points are moved to where two levels fit best, and the weakest are removed until
//!    each is significant and large enough.

use std::iter;

use super::energy::Scan;
use crate::distributions::{student_two_sided, student_two_sided_quantile};
use crate::step::{best, chance_anywhere};
use crate::{Bounds, mean, median, proper};

/// The longest window. Two sides of 200 values show a change of half a deviation.
const LONGEST: usize = 400;

/// The shortest window, in minimum segments.
const SHORTEST_SEGMENTS: usize = 4;

/// Values farther than this from each neighbour are outliers, in deviations.
const OUTLIER: f64 = 5.0;

/// The number of neighbours on either side of outliers.
const NEIGHBOURS: usize = 2;

/// The median distance between two normal values, in deviations.
const MEDIAN_DISTANCE: f64 = 0.954;

/// Means of equal logarithms differ by less than this.
const ROUNDING: f64 = 1e-12;

/// The confidence of [`LevelChange::bounds`].
const CONFIDENCE: f64 = 0.95;

/// Options of the search for changes of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChanges {
    /// Minimum number of values between two changes, before the first, and after the last; at least
    /// 2.
    pub min_segment: usize,
    /// The chance of any change in a series without one, in (0, 1), if values are independent.
    pub significance: f64,
    /// Smaller changes are ignored, as a share of the level before: 0.01 is 1 %.
    pub min_change: f64,
}

impl Default for LevelChanges {
    /// Segments of at least three values, a chance of 1 %, and changes of at least 1 %.
    fn default() -> Self {
        Self {
            min_segment: 3,
            significance: 0.01,
            min_change: 0.01,
        }
    }
}

/// A lasting change of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// Index of the first value after the change.
    pub index: usize,
    /// The geometric mean since the previous change, in the unit of the series.
    pub before: f64,
    /// The geometric mean up to the next change, in the unit of the series.
    pub after: f64,
    /// `after` / `before`.
    pub ratio: f64,
    /// The 95 % confidence interval of the ratio (Student's t on the logarithms).
    pub bounds: Bounds,
    /// The p-value of Student's test between the two levels, not corrected for the choice of the
    /// place.
    pub p: f64,
    /// A straight line fits the values on both sides better than two levels do.
    pub gradual: bool,
}

/// The lasting changes of a series of positive values, in order. Empty for fewer than two minimum
/// segments, values that are not positive and finite, and options out of range.
///
/// Equal series have equal changes. The time grows in proportion to the length of the series, times
/// the logarithm of the number of changes.
pub fn level_changes(series: &[f64], options: &LevelChanges) -> Vec<LevelChange> {
    let min_segment = options.min_segment.max(2);
    let are_usable = series.iter().all(|value| value.is_finite() && *value > 0.0);
    if !are_usable || series.len() < 2 * min_segment || !proper(options.significance) {
        return Vec::new();
    }
    let logs: Vec<f64> = series.iter().map(|value| value.ln()).collect();
    let level = median(&logs).unwrap_or_default();
    let kept = without_outliers(&logs, min_segment);
    let logs: Vec<f64> = kept.iter().map(|&at| logs[at] - level).collect();
    let search = Search {
        logs: &logs,
        min_segment,
        options,
    };
    let mut edges = search.splits();
    search.relocate(&mut edges);
    search.merge(&mut edges);
    let change = |at: usize| LevelChange {
        index: kept[edges[at]],
        ..search.change(&edges, at, level)
    };
    (0..edges.len()).map(change).collect()
}

/// The indices of all values but outliers. Single outliers are removed first, so that they are not
/// neighbours of others.
fn without_outliers(logs: &[f64], min_segment: usize) -> Vec<usize> {
    let far = OUTLIER * deviation(logs);
    let mut kept: Vec<usize> = (0..logs.len()).collect();
    for count in 1..min_segment {
        let values: Vec<f64> = kept.iter().map(|&at| logs[at]).collect();
        let mut outliers = outliers(&values, count, far).into_iter();
        kept.retain(|_| outliers.next() != Some(true));
    }
    kept
}

/// Whether each value is one of `count` successive values that are all above, or all below, their
/// neighbours by more than `far`.
fn outliers(values: &[f64], count: usize, far: f64) -> Vec<bool> {
    let mut found = vec![false; values.len()];
    for (from, group) in values.windows(count).enumerate() {
        let to = from + count;
        let before = &values[from.saturating_sub(NEIGHBOURS)..from];
        let after = &values[to..(to + NEIGHBOURS).min(values.len())];
        let near = [before, after].concat();
        let is_far = |sign: f64| {
            let mut pairs = group
                .iter()
                .flat_map(|value| near.iter().map(move |other| value - other));
            pairs.all(|distance| sign * distance > far)
        };
        if !near.is_empty() && (is_far(1.0) || is_far(-1.0)) {
            found[from..to].fill(true);
        }
    }
    found
}

/// The deviation, from the distances of successive values, which few changes of level affect. It
/// uses the lower median: of seven values, an outlier and a change affect three of six distances.
fn deviation(logs: &[f64]) -> f64 {
    let pairs = logs.windows(2);
    let mut distances: Vec<f64> = pairs.map(|pair| (pair[1] - pair[0]).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let middle = distances.len().saturating_sub(1) / 2;
    distances
        .get(middle)
        .map_or(0.0, |middle| middle / MEDIAN_DISTANCE)
}

struct Search<'a> {
    logs: &'a [f64],
    min_segment: usize,
    options: &'a LevelChanges,
}

impl Search<'_> {
    /// The significant splits, in order.
    fn splits(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![(0, self.logs.len())];
        while let Some((from, to)) = open.pop() {
            if let Some(index) = self.surest(from, to) {
                found.push(index);
                open.extend([(from, index), (index, to)]);
            }
        }
        found.sort_unstable();
        found
    }

    /// The most significant split of all windows in a part of the series.
    fn surest(&self, from: usize, to: usize) -> Option<usize> {
        let mut surest: Option<(f64, usize)> = None;
        let scales = self.lengths(self.logs.len()).count() as f64;
        for length in self.lengths(to - from) {
            // Count those of the whole series, because each part of it is searched.
            let windows = starts(self.logs.len(), length).count() as f64;
            for start in starts(to - from, length) {
                let start = from + start;
                let window = &self.logs[start..start + length];
                let Some(split) = Scan::new(window).best(self.min_segment) else {
                    continue;
                };
                let (before, after) = window.split_at(split.index);
                let chance = Difference::of(before, after).p;
                let p = chance_anywhere(chance, length, self.min_segment) * windows * scales;
                let is_surer = surest.is_none_or(|(known, _)| p < known);
                if p <= self.options.significance && is_surer {
                    surest = Some((p, start + split.index));
                }
            }
        }
        surest.map(|(_, index)| index)
    }

    /// The lengths of windows, longest first; none if there are too few values for a split.
    fn lengths(&self, values: usize) -> impl Iterator<Item = usize> {
        let shortest = SHORTEST_SEGMENTS * self.min_segment;
        let longest = Some(values.min(LONGEST)).filter(|_| values >= 2 * self.min_segment);
        iter::successors(longest, move |length| {
            Some(length / 2).filter(|half| *half >= shortest)
        })
    }

    /// Moves each change point to where two levels fit best between its neighbours.
    fn relocate(&self, edges: &mut [usize]) {
        for at in 0..edges.len() {
            let (from, to) = self.around(edges, at);
            let last = to - from - self.min_segment;
            if let Some(index) = best(&self.logs[from..to], self.min_segment, last) {
                edges[at] = from + index;
            }
        }
    }

    /// Removes the weakest change point until all are significant and large enough.
    fn merge(&self, edges: &mut Vec<usize>) {
        loop {
            let differences = (0..edges.len()).map(|at| {
                let (before, after) = self.sides(edges, at);
                (at, Difference::of(before, after))
            });
            let is_weak = |found: &Difference| {
                found.p > self.options.significance
                    || found.by.exp_m1().abs() < self.options.min_change
            };
            let weakest = differences
                .filter(|(_, found)| is_weak(found))
                .max_by(|(_, one), (_, other)| one.p.total_cmp(&other.p));
            match weakest {
                Some((at, _)) => edges.remove(at),
                None => return,
            };
        }
    }

    fn change(&self, edges: &[usize], at: usize, level: f64) -> LevelChange {
        let (before, after) = self.sides(edges, at);
        let found = Difference::of(before, after);
        let reach = student_two_sided_quantile(CONFIDENCE, found.degrees) * found.error;
        LevelChange {
            index: edges[at],
            before: (level + mean(before).unwrap_or_default()).exp(),
            after: (level + mean(after).unwrap_or_default()).exp(),
            ratio: found.by.exp(),
            bounds: Bounds {
                low: (found.by - reach).exp(),
                high: (found.by + reach).exp(),
            },
            p: found.p,
            gradual: is_gradual(before, after),
        }
    }

    /// The values since the previous change point and up to the next one.
    fn sides(&self, edges: &[usize], at: usize) -> (&[f64], &[f64]) {
        let (from, to) = self.around(edges, at);
        (&self.logs[from..edges[at]], &self.logs[edges[at]..to])
    }

    fn around(&self, edges: &[usize], at: usize) -> (usize, usize) {
        let from = if at == 0 { 0 } else { edges[at - 1] };
        let to = edges.get(at + 1).copied().unwrap_or(self.logs.len());
        (from, to)
    }
}

/// Where windows of this length start: each half over the next, the last at the end.
fn starts(values: usize, length: usize) -> impl Iterator<Item = usize> {
    let last = values.saturating_sub(length);
    (0..last).step_by((length / 2).max(1)).chain([last])
}

/// The difference of the means of two samples with equal variances (Student).
struct Difference {
    /// Mean after minus mean before.
    by: f64,
    /// Standard error.
    error: f64,
    degrees: f64,
    p: f64,
}

impl Difference {
    /// Neither side may be empty, and there must be three values in all.
    fn of(before: &[f64], after: &[f64]) -> Self {
        let degrees = (before.len() + after.len()) as f64 - 2.0;
        let variance = about_levels(before, after) / degrees;
        let shares = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let error = (variance * shares).sqrt();
        let by = mean(after).unwrap_or_default() - mean(before).unwrap_or_default();
        let p = match by.abs() < ROUNDING {
            true => 1.0,
            false => student_two_sided(by / error, degrees),
        };
        Self {
            by,
            error,
            degrees,
            p,
        }
    }
}

/// The sum of squares about the means of two sides.
fn about_levels(before: &[f64], after: &[f64]) -> f64 {
    let about = |values: &[f64]| {
        let middle = mean(values).unwrap_or_default();
        let squares = values.iter().map(|value| (value - middle).powi(2));
        squares.sum::<f64>()
    };
    about(before) + about(after)
}

/// Whether the sum of squares about a straight line is smaller than about two levels.
fn is_gradual(before: &[f64], after: &[f64]) -> bool {
    let all = [before, after].concat();
    let middle = mean(&all).unwrap_or_default();
    let centre = (all.len() as f64 - 1.0) / 2.0;
    let (mut squares, mut products, mut times) = (0.0, 0.0, 0.0);
    for (at, value) in all.iter().enumerate() {
        let (time, value) = (at as f64 - centre, value - middle);
        squares += value * value;
        products += time * value;
        times += time * time;
    }
    squares - products * products / times < about_levels(before, after)
}

#[cfg(test)]
mod checks {
    use super::*;

    /// A level of 1000 with noise of ±2 % that repeats.
    fn level(n: usize) -> Vec<f64> {
        let noise = |at: usize| ((at * 7919) % 41) as f64 - 20.0;
        (0..n).map(|at| 1000.0 + noise(at)).collect()
    }

    fn found(series: &[f64]) -> Vec<LevelChange> {
        level_changes(series, &LevelChanges::default())
    }

    #[test]
    fn windows_cover_the_series_and_overlap_by_half() {
        let of = |values, length| starts(values, length).collect::<Vec<_>>();
        assert_eq!(of(10, 10), [0]);
        assert_eq!(of(10, 4), [0, 2, 4, 6]);
        assert_eq!(of(11, 4), [0, 2, 4, 6, 7]);
        let options = LevelChanges::default();
        let search = Search {
            logs: &[],
            min_segment: 3,
            options: &options,
        };
        let lengths = |values| search.lengths(values).collect::<Vec<_>>();
        assert_eq!(lengths(100), [100, 50, 25, 12]);
        assert_eq!(lengths(10_000), [400, 200, 100, 50, 25, 12]);
        assert_eq!(lengths(7), [7]);
        assert_eq!(lengths(5), [0; 0]);
    }

    #[test]
    fn a_step_has_its_place_its_size_and_an_interval() {
        let mut series = level(60);
        assert!(found(&series).is_empty());
        series[40..].iter_mut().for_each(|value| *value *= 0.9);
        let changes = found(&series);
        assert_eq!(changes.len(), 1, "{changes:?}");
        let change = changes[0];
        assert_eq!(change.index, 40);
        assert!(change.bounds.contains(0.9) && change.bounds.width() < 0.03);
        assert!((change.after / change.before - change.ratio).abs() < 1e-12);
        assert!((change.before / 1000.0 - 1.0).abs() < 0.01, "{change:?}");
        assert!(!change.gradual && change.p < 1e-9);
    }

    #[test]
    fn a_single_outlier_is_not_a_change() {
        for at in [0, 1, 30, 58, 59] {
            for factor in [0.3, 0.8, 3.0] {
                let mut series = level(60);
                series[at] *= factor;
                assert!(found(&series).is_empty(), "{factor} at {at}");
            }
        }
        // It does not hide a change either.
        let mut series = level(60);
        series[40..].iter_mut().for_each(|value| *value *= 0.9);
        series[20] *= 0.3;
        let indices: Vec<usize> = found(&series).iter().map(|change| change.index).collect();
        assert_eq!(indices, [40]);
        // Without noise, any single value that differs is an outlier.
        let mut constant = vec![5.0; 30];
        constant[12] = 5.5;
        assert!(found(&constant).is_empty());
    }

    #[test]
    fn an_outlier_next_to_a_change_is_in_neither_level() {
        let value = |at: usize, half: usize, noise: f64| {
            let level = if at < half { 100.0 } else { 80.0 };
            level * (1.0 + noise * ((at % 3) as f64 - 1.0))
        };
        for (half, noise) in [(10, 0.0), (10, 0.01), (3, 0.0), (3, 0.01)] {
            for outlier in [140.0, 40.0] {
                for place in half - 1..=half + 1 {
                    let mut series: Vec<f64> =
                        (0..2 * half).map(|at| value(at, half, noise)).collect();
                    series.insert(place, outlier);
                    let changes = found(&series);
                    assert_eq!(changes.len(), 1, "{series:?}: {changes:?}");
                    let first = if place > half { half } else { half + 1 };
                    assert_eq!(changes[0].index, first, "{series:?}");
                    assert!((changes[0].ratio - 0.8).abs() < 0.002, "{changes:?}");
                }
            }
        }
    }

    #[test]
    fn three_values_are_a_change_and_two_are_not() {
        let mut series = level(40);
        series[37..].iter_mut().for_each(|value| *value *= 0.8);
        let changes = found(&series);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!(changes[0].index, 37);
        let mut series = level(40);
        series[38..].iter_mut().for_each(|value| *value *= 0.8);
        assert!(found(&series).is_empty());
        assert!(found(&[5.0, 5.0, 4.0, 4.0]).is_empty());
    }

    #[test]
    fn small_changes_are_ignored() {
        let exact = |by: f64| -> Vec<f64> {
            let value = |at| if at < 10 { 100.0 } else { 100.0 * (1.0 + by) };
            (0..20).map(value).collect()
        };
        assert!(found(&exact(0.009)).is_empty());
        assert!(found(&exact(-0.009)).is_empty());
        let changes = found(&exact(-0.02));
        assert_eq!((changes.len(), changes[0].index), (1, 10));
        assert!((changes[0].ratio - 0.98).abs() < 1e-9);
    }

    #[test]
    fn a_drift_is_gradual() {
        let drift = level(100).into_iter().enumerate();
        let drift: Vec<f64> = drift
            .map(|(at, value)| value * (1.0 - 0.002 * at as f64))
            .collect();
        let changes = found(&drift);
        assert!(!changes.is_empty());
        assert!(changes.iter().all(|change| change.ratio < 1.0));
        assert!(changes.iter().any(|change| change.gradual), "{changes:?}");
    }

    #[test]
    fn unusable_series_have_no_changes() {
        let mut series = level(60);
        series[40..].iter_mut().for_each(|value| *value *= 0.5);
        for broken in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut series = series.clone();
            series[3] = broken;
            assert!(found(&series).is_empty());
        }
        let options = LevelChanges {
            significance: 1.0,
            ..LevelChanges::default()
        };
        assert!(level_changes(&series, &options).is_empty());
        assert!(found(&[]).is_empty());
        assert!(found(&[7.0; 60]).is_empty());
    }
}
