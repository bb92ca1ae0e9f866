//! `sysbench.histogram`: a histogram with buckets at equal ratios, filled by scripts.

use std::fmt::Write as _;

/// Maximum number of buckets a script may ask for: 64 MiB of counts.
const BUCKETS_MAX: usize = 8 << 20;

/// The width of the longest bar, in characters.
const BAR_WIDTH: f64 = 40.0;

/// Counts of values in buckets whose centres are spaced evenly on a logarithmic scale, the first at
/// `min` and the last at `max`. Values outside count in the first or last bucket.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    log_min: f64,
    /// Buckets per unit of the natural logarithm.
    density: f64,
}

impl Histogram {
    /// `size` buckets between `min` and `max`, both above 0. `None` if there are fewer than two or
    /// too many buckets, or if the bounds are not finite and increasing.
    pub fn new(size: usize, min: f64, max: f64) -> Option<Self> {
        if !(2..=BUCKETS_MAX).contains(&size) {
            return None;
        }
        let (log_min, log_max) = (min.ln(), max.ln());
        let density = (size - 1) as f64 / (log_max - log_min);
        if !(log_min.is_finite() && log_max.is_finite() && min < max && density.is_finite()) {
            return None;
        }
        Some(Self {
            counts: vec![0; size],
            log_min,
            density,
        })
    }

    /// Counts a value. Values that are not on the scale (0, negative, not a number) count in the
    /// first bucket.
    #[inline]
    pub fn update(&mut self, value: f64) {
        let place = (value.ln() - self.log_min) * self.density;
        // The cast turns negative numbers and NaN into 0.
        let bucket = ((place + 0.5) as usize).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
    }

    /// The text printed by `print()`: one line per non-empty bucket; empty without values.
    pub fn text(&self) -> String {
        let highest = self.counts.iter().copied().max().unwrap_or(0);
        let mut text = String::new();
        if highest == 0 {
            return text;
        }
        text.push_str("       value  ------------- distribution ------------- count\n");
        for (bucket, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let stars = (BAR_WIDTH * count as f64 / highest as f64 + 0.5) as usize;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{:12.3} |{:<40} {count}",
                self.value(bucket),
                "*".repeat(stars)
            );
        }
        text
    }

    fn value(&self, bucket: usize) -> f64 {
        (bucket as f64 / self.density + self.log_min).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn prints_as_sysbench_does() {
        let mut histogram = Histogram::new(10, 1.0, 1000.0).unwrap();
        (1..=100).for_each(|value| histogram.update(f64::from(value)));
        histogram.update(0.5);
        histogram.update(5000.0);
        // The output of sysbench 1.0.20 for the same calls.
        let expected = [
            "       value  ------------- distribution ------------- count",
            "       1.000 |**                                       2",
            "       2.154 |**                                       2",
            "       4.642 |***                                      3",
            "      10.000 |*********                                8",
            "      21.544 |******************                       17",
            "      46.416 |**************************************** 37",
            "     100.000 |***********************************      32",
            "    1000.000 |*                                        1",
        ];
        assert_eq!(histogram.text().lines().collect::<Vec<_>>(), expected);
        assert_eq!(histogram.counts.iter().sum::<u64>(), 102);
    }

    #[test]
    fn an_empty_histogram_prints_nothing() {
        let histogram = Histogram::new(10, 1.0, 1000.0).unwrap();
        assert_eq!(histogram.text(), "");
    }

    #[test]
    fn values_without_a_logarithm_count_in_the_first_bucket() {
        let mut histogram = Histogram::new(3, 1.0, 100.0).unwrap();
        for value in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            histogram.update(value);
        }
        histogram.update(f64::INFINITY);
        assert_eq!(histogram.counts, [4, 0, 1]);
    }

    #[test]
    fn senseless_shapes_are_refused() {
        assert!(Histogram::new(1, 1.0, 2.0).is_none());
        for (min, max) in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (2.0, 1.0),
            (1.0, 1.0),
            (1.0, f64::INFINITY),
        ] {
            assert!(Histogram::new(10, min, max).is_none(), "{min} {max}");
        }
        assert!(Histogram::new(10, f64::NAN, 1.0).is_none());
        assert!(Histogram::new(usize::MAX, 1.0, 2.0).is_none());
    }
}
