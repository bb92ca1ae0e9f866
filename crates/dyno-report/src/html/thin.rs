//! Reduces long series to the resolution of a screen. The results file keeps every sample.

use std::collections::HashMap;

use super::chart::Compact;

/// Points in time, thinned.
pub(super) struct Thin {
    /// Seconds.
    pub(super) x: Vec<f64>,
    /// Values; NaN if missing.
    pub(super) y: Vec<f64>,
    /// The original number of points.
    pub(super) of: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The lowest and the highest value of each bucket, in their original order.
    Extremes,
    /// The mean of each bucket, for stacked values.
    Mean,
}

/// At most `most` points of a series; all points if there are fewer.
///
/// Buckets have equal numbers of samples. The points of a bucket are at fixed positions in it, so
/// that all series with the same times still share them.
pub(super) fn thin(points: &[(f64, f64)], most: usize, keep: Keep) -> Thin {
    let of = points.len();
    if of <= most {
        let (x, y) = points.iter().copied().unzip();
        return Thin { x, y, of };
    }
    let per_bucket = if keep == Keep::Extremes { 2 } else { 1 };
    let buckets = (most / per_bucket).max(1);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for bucket in 0..buckets {
        let part = &points[bucket * of / buckets..(bucket + 1) * of / buckets];
        match keep {
            Keep::Mean => {
                let known = part.iter().map(|(_, value)| *value);
                let known: Vec<f64> = known.filter(|value| value.is_finite()).collect();
                x.push(part[part.len() / 2].0);
                y.push(known.iter().sum::<f64>() / known.len() as f64);
            }
            Keep::Extremes => {
                let (first, second) = extremes(part);
                x.extend([part[part.len() / 4].0, part[part.len() * 3 / 4].0]);
                y.extend([first, second]);
            }
        }
    }
    Thin { x, y, of }
}

/// The lowest and the highest value, in their original order; NaN if there is no number.
fn extremes(part: &[(f64, f64)]) -> (f64, f64) {
    let numbers = || {
        let indexed = part.iter().map(|(_, value)| *value).enumerate();
        indexed.filter(|(_, value)| value.is_finite())
    };
    let low = numbers().min_by(|a, b| a.1.total_cmp(&b.1));
    let high = numbers().max_by(|a, b| a.1.total_cmp(&b.1));
    match (low, high) {
        (Some(low), Some(high)) if low.0 <= high.0 => (low.1, high.1),
        (Some(low), Some(high)) => (high.1, low.1),
        _ => (f64::NAN, f64::NAN),
    }
}

impl Thin {
    /// A note for the caption; `None` if no point was left out.
    pub(super) fn note(&self, keep: Keep) -> Option<String> {
        if self.x.len() >= self.of {
            return None;
        }
        let of = crate::number::thousands(self.of as u64);
        Some(match keep {
            Keep::Extremes => {
                let buckets = self.x.len() / 2;
                format!("drawn: lowest and highest of each of {buckets} parts of {of} samples")
            }
            Keep::Mean => format!("drawn: means of {} parts of {of} samples", self.x.len()),
        })
    }

    /// The values in a chart's form.
    pub(super) fn values(&self) -> Vec<Compact> {
        self.y.iter().map(|value| Compact(*value)).collect()
    }
}

/// Times shared by several lines are written once.
#[derive(Default)]
pub(super) struct Pool {
    known: HashMap<Vec<u64>, usize>,
    /// All times, in milliseconds from the start of the measurement.
    pub(super) times: Vec<Vec<i64>>,
}

impl Pool {
    /// The index in the pool of these times, given in seconds.
    pub(super) fn number(&mut self, times_s: &[f64]) -> usize {
        let bits = times_s.iter().map(|time| time.to_bits()).collect();
        let next = self.times.len();
        *self.known.entry(bits).or_insert_with(|| {
            let ms = times_s.iter().map(|time| (time * 1e3).round() as i64);
            self.times.push(ms.collect());
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_series_stay_whole() {
        let thin = thin(&[(1.0, 5.0), (2.0, 6.0)], 2, Keep::Extremes);
        assert_eq!((thin.x.len(), thin.note(Keep::Extremes)), (2, None));
    }

    #[test]
    fn a_bucket_without_a_number_has_none() {
        let points: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), f64::NAN)).collect();
        assert!(
            thin(&points, 10, Keep::Extremes)
                .y
                .iter()
                .all(|y| y.is_nan())
        );
        assert!(thin(&points, 10, Keep::Mean).y.iter().all(|y| y.is_nan()));
    }

    #[test]
    fn equal_times_are_stored_once() {
        let mut pool = Pool::default();
        assert_eq!(pool.number(&[1.0, 2.0]), 0);
        assert_eq!(pool.number(&[1.0, 2.5]), 1);
        assert_eq!(pool.number(&[1.0, 2.0]), 0);
        assert_eq!(pool.times, [vec![1000, 2000], vec![1000, 2500]]);
    }

    proptest! {
        #[test]
        fn extremes_survive(
            values in prop::collection::vec(-1e6..1e6_f64, 1..500),
            most in 2..80_usize,
        ) {
            let points: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
            let thin = thin(&points, most, Keep::Extremes);
            prop_assert!(thin.x.len() <= most.max(points.len().min(most)));
            prop_assert!(thin.x.is_sorted());
            let max = |y: &[f64]| y.iter().copied().fold(f64::MIN, f64::max);
            let min = |y: &[f64]| y.iter().copied().fold(f64::MAX, f64::min);
            prop_assert_eq!(max(&thin.y), max(&values));
            prop_assert_eq!(min(&thin.y), min(&values));
        }
    }
}
