//! Laws that printed figures obey, whichever tool printed them: a rate is a count over a time,
//! events keep sessions busy (Little's law), and the statistics of one distribution fit each other.
//! The importers state how precisely their tools print, and what a broken law leaves out.

use std::fmt;

use crate::number;

/// Tools divide the sum of squared deviations by n or by n - 1, and round means first.
const DEVIATION: f64 = 0.02;
/// Tools differ by up to this many events in the rank of a percentile.
const RANKS: f64 = 2.0;

/// Describes the error of a rate that is not `count` events in `time_s`, up to `room` per second.
pub(crate) fn other_rate(
    (count, events): (u64, &str),
    time_s: f64,
    per_s: f64,
    room: f64,
) -> Option<String> {
    other_rate_of((count as f64, events), time_s, per_s, room)
}

/// The same for an amount such as MiB.
pub(crate) fn other_rate_of(
    (amount, what): (f64, &str),
    time_s: f64,
    per_s: f64,
    room: f64,
) -> Option<String> {
    let implied = amount / time_s;
    ((implied - per_s).abs() > room).then(|| {
        format!(
            "{amount} {what} in {time_s:.1} s are {implied:.2} per second, but the log says \
             {per_s:.2}"
        )
    })
}

/// Describes the error of parts that differ from their printed sum by more than `room`.
pub(crate) fn other_sum(
    parts: &[(f64, &str)],
    (sum, of): (f64, &str),
    room: f64,
) -> Option<String> {
    let implied = number::sum(parts.iter().map(|(part, _)| *part));
    ((implied - sum).abs() > room).then(|| {
        let parts = parts.iter().map(|(part, name)| format!("{part} {name}"));
        let parts = parts.collect::<Vec<_>>().join(" + ");
        format!("{parts} = {implied}, but the log says {sum} {of}")
    })
}

/// Little's law: the sessions that events of this mean length keep busy at this rate.
pub(crate) fn busy(per_s: f64, mean_ms: f64) -> f64 {
    per_s * mean_ms.max(0.0) / 1e3
}

/// Describes the error if events would keep more or fewer sessions busy than there are.
pub(crate) fn busy_sessions(
    (per_s, events): (f64, &str),
    mean: &str,
    busy: f64,
    (count, sessions): (u32, &str),
) -> String {
    format!(
        "{per_s:.1} {events} per second of {mean} ms each keep {busy:.1} {sessions} busy, but \
         there were {count}"
    )
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Min,
    Mean,
    Max,
    Percentile(f64),
    Deviation,
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Min => f.write_str("the minimum"),
            Self::Mean => f.write_str("the mean"),
            Self::Max => f.write_str("the maximum"),
            Self::Percentile(percent) => write!(f, "the {percent}th percentile"),
            Self::Deviation => f.write_str("the deviation"),
        }
    }
}

/// How precisely a tool prints statistics, in their unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// Half of the last digit.
    pub(crate) half_digit: f64,
    /// The decimals of a message.
    pub(crate) decimals: usize,
    /// The relative error of percentiles, which come from buckets.
    pub(crate) bucket: f64,
    /// From this value on, percentiles may stand for any greater one: that of the last bucket.
    pub(crate) last_bucket: f64,
}

/// The printed statistics of one distribution of values that are not negative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<'a> {
    /// The values, in the plural.
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) precision: Precision,
    /// The number of values.
    pub(crate) count: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) mean: Option<f64>,
    pub(crate) max: Option<f64>,
    /// The standard deviation.
    pub(crate) stddev: Option<f64>,
    /// Percentages and values, in any order.
    pub(crate) percentiles: &'a [(f64, f64)],
}

/// A broken law.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BrokenLaw {
    /// What cannot be, as a sentence without its end.
    pub(crate) text: String,
    /// The statistics of which at least one is wrong.
    pub(crate) statistics: Vec<Statistic>,
}

impl Spread<'_> {
    /// The broken laws.
    pub(crate) fn broken(&self) -> Vec<BrokenLaw> {
        let mut found = self.disorder();
        if found.is_empty() {
            found.extend(self.excluded_mean());
            found.extend(self.too_wide());
        }
        found
    }

    /// The percentiles, ascending by percent.
    fn ascending(&self) -> Vec<(f64, f64)> {
        let mut all = self.percentiles.to_vec();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// Minimum, mean and maximum are in this order, percentiles are between the extremes and
    /// ascend, and the 100th is the maximum.
    pub(crate) fn disorder(&self) -> Vec<BrokenLaw> {
        let min = self.min.map(|value| (Statistic::Min, value));
        let mean = self.mean.map(|value| (Statistic::Mean, value));
        let max = self.max.map(|value| (Statistic::Max, value));
        let mut pairs = vec![(min, mean), (mean, max)];
        let percentiles = self.ascending();
        let of = |(percent, value): (f64, f64)| Some((Statistic::Percentile(percent), value));
        for &own in &percentiles {
            if own.1 < self.precision.last_bucket {
                pairs.push((min, of(own)));
            }
            pairs.push((of(own), max));
            if own.0 == 100.0 && max.is_some_and(|(_, max)| max < self.precision.last_bucket) {
                pairs.push((max, of(own)));
            }
        }
        let neighbours = percentiles.windows(2);
        pairs.extend(neighbours.map(|pair| (of(pair[0]), of(pair[1]))));
        let broken = |(low, high)| self.above(low?, high?);
        pairs.into_iter().filter_map(broken).collect()
    }

    /// Breaks if the first statistic is above the second.
    fn above(
        &self,
        (low, low_value): (Statistic, f64),
        (high, high_value): (Statistic, f64),
    ) -> Option<BrokenLaw> {
        let Precision {
            half_digit, bucket, ..
        } = self.precision;
        let is_bucket = |one| matches!(one, Statistic::Percentile(_));
        // Percentiles ascend by construction, whatever their buckets are.
        let most = match (is_bucket(low), is_bucket(high)) {
            (true, true) => high_value,
            (false, false) => high_value + 2.0 * half_digit,
            _ => high_value * (1.0 + bucket) + 4.0 * half_digit,
        };
        (low_value > most).then(|| BrokenLaw {
            text: format!(
                "{low} of the {}, {}, is above {high}, {}",
                self.what,
                self.shown(low_value),
                self.shown(high_value)
            ),
            statistics: vec![low, high],
        })
    }

    fn shown(&self, value: f64) -> String {
        format!("{value:.*} {}", self.precision.decimals, self.unit)
    }

    /// Of all values, p percent are at most the percentile p, and the others at least.
    fn excluded_mean(&self) -> Option<BrokenLaw> {
        let mean = self.mean?;
        let percentiles = self.ascending();
        let (&(last, highest), max) = (percentiles.last()?, self.max.unwrap_or(f64::INFINITY));
        if highest >= self.precision.last_bucket {
            return None;
        }
        let min = self.min.unwrap_or(0.0);
        let (mut low, mut high) = (0.0, 0.0);
        let (mut before, mut least) = (0.0, min);
        for (percent, value) in percentiles {
            let share = (percent - before) / 100.0;
            low += share * least;
            high += share * value;
            (before, least) = (percent, value);
        }
        let share = 1.0 - last / 100.0;
        low += share * least;
        high += if share > 0.0 { share * max } else { 0.0 };
        let ranks = self.count.map_or(0.0, |count| RANKS * (max - min) / count);
        let room = 2.0 * self.precision.half_digit + ranks;
        let bucket = self.precision.bucket;
        let (low, high) = (low * (1.0 - bucket) - room, high * (1.0 + bucket) + room);
        (mean < low || mean > high).then(|| {
            let all = self.percentiles.iter();
            let all = all.map(|(percent, _)| Statistic::Percentile(*percent));
            BrokenLaw {
                text: format!(
                    "the percentiles of the {} allow a mean of {} to {}, but the log says {}",
                    self.what,
                    self.shown(low.max(0.0)),
                    self.shown(high),
                    self.shown(mean)
                ),
                statistics: [Statistic::Mean].into_iter().chain(all).collect(),
            }
        })
    }

    /// The variance is at most (mean - min) (max - mean), if the divisor is n.
    pub(crate) fn too_wide(&self) -> Option<BrokenLaw> {
        let (min, mean, max, stddev) = (self.min?, self.mean?, self.max?, self.stddev?);
        let digit = 2.0 * self.precision.half_digit;
        let count = self.count?;
        let variance = (mean - min + digit) * (max - mean + digit);
        let most = (variance * count / (count - 1.0).max(1.0)).sqrt();
        (stddev > most * (1.0 + DEVIATION) + digit).then(|| BrokenLaw {
            text: format!(
                "the {} have a standard deviation of {}, but mean and extremes allow at most {}",
                self.what,
                self.shown(stddev),
                self.shown(most)
            ),
            statistics: vec![Statistic::Deviation],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENTILES: [(f64, f64); 3] = [(50.0, 0.1), (95.0, 1.0), (99.0, 1.0)];

    /// A thousand latencies: 900 of 0.1 ms, the others of 1 ms.
    const LATENCIES: Spread<'static> = Spread {
        what: "latencies",
        unit: "ms",
        precision: Precision {
            half_digit: 0.0005,
            decimals: 3,
            bucket: 0.04,
            last_bucket: f64::INFINITY,
        },
        count: Some(1000.0),
        min: Some(0.1),
        mean: Some(0.19),
        max: Some(1.0),
        stddev: Some(0.27),
        percentiles: &PERCENTILES,
    };

    #[test]
    fn statistics_obey_their_laws() {
        use Statistic::{Deviation, Max, Mean, Min, Percentile};
        assert_eq!(LATENCIES.broken(), []);
        type Change = fn(&mut Spread<'_>);
        let cases: [(&str, &[Statistic], Change); 9] = [
            (
                "the mean of the latencies, 2.000 ms, is above the maximum, 1.000 ms",
                &[Mean, Max],
                |own| own.mean = Some(2.0),
            ),
            ("is above the mean, 0.090 ms", &[Min, Mean], |own| {
                own.mean = Some(0.09);
            }),
            (
                "the 50th percentile of the latencies, 2.000 ms, is above the maximum",
                &[Percentile(50.0), Max],
                |own| own.percentiles = &[(50.0, 2.0)],
            ),
            (
                "is above the 95th percentile, 0.500 ms",
                &[Percentile(50.0), Percentile(95.0)],
                |own| own.percentiles = &[(95.0, 0.5), (50.0, 0.6)],
            ),
            (
                "the minimum of the latencies, 0.100 ms, is above the 50th",
                &[Min, Percentile(50.0)],
                |own| own.percentiles = &[(50.0, 0.05)],
            ),
            (
                "is above the 100th percentile",
                &[Max, Percentile(100.0)],
                |own| own.percentiles = &[(100.0, 0.5)],
            ),
            (
                "allow a mean of 0.136 ms to 0.575 ms, but the log says 0.800 ms",
                &[Mean, Percentile(50.0), Percentile(95.0), Percentile(99.0)],
                |own| own.mean = Some(0.8),
            ),
            (
                "but the log says 0.130 ms",
                &[Mean, Percentile(50.0), Percentile(95.0), Percentile(99.0)],
                |own| own.mean = Some(0.13),
            ),
            ("allow at most 0.272 ms", &[Deviation], |own| {
                own.stddev = Some(0.29);
            }),
        ];
        for (expected, statistics, change) in cases {
            let mut own = LATENCIES;
            change(&mut own);
            let found = own.broken();
            let fits =
                |law: &BrokenLaw| law.text.contains(expected) && law.statistics == statistics;
            assert!(found.iter().any(fits), "{expected}: {found:?}");
        }
    }

    #[test]
    fn rates_and_sums_are_those_of_their_parts() {
        assert_eq!(other_rate((3000, "events"), 30.0, 100.4, 0.5), None);
        let expected = "3000 events in 30.0 s are 100.00 per second, but the log says 100.60";
        assert_eq!(
            other_rate((3000, "events"), 30.0, 100.6, 0.5).unwrap(),
            expected
        );
        let parts = [(1.25, "MiB read"), (2.5, "MiB written")];
        assert_eq!(other_sum(&parts, (3.76, "MiB"), 0.02), None);
        let expected = "1.25 MiB read + 2.5 MiB written = 3.75, but the log says 4 MiB";
        assert_eq!(other_sum(&parts, (4.0, "MiB"), 0.02).unwrap(), expected);
    }

    #[test]
    fn missing_statistics_break_no_law() {
        let missing: [fn(&mut Spread<'_>); 5] = [
            |own| own.min = None,
            |own| own.mean = None,
            |own| own.max = None,
            |own| (own.stddev, own.count) = (None, None),
            |own| own.percentiles = &[],
        ];
        for change in missing {
            let mut own = LATENCIES;
            change(&mut own);
            assert_eq!(own.broken(), []);
        }
        // A maximum in the last bucket is not that of the 100th percentile.
        let mut own = LATENCIES;
        (own.max, own.percentiles) = (Some(9.0), &[(100.0, 0.5)]);
        own.precision.last_bucket = 0.5;
        assert_eq!(own.broken(), []);
    }
}
