//! Aligns a host's log without times with a run by its correlation with throughput: finds when the
//! log began, and how its samples drift from nominal seconds.

use dyno_core::catalogue::names;
use dyno_core::summary::IntervalSummary;

use crate::table::Values;

/// Series of the host's logs that follow the throughput of a server.
const SIGNALS: [&str; 5] = [
    names::HOST_CONTEXT_SWITCHES,
    names::HOST_CPU_IDLE,
    names::HOST_INTERRUPTS,
    names::HOST_DISK_ALL_WRITE_BYTES,
    names::HOST_CPU_USER,
];
/// Search range for the log's beginning, in seconds before and after the measurement's.
const OFFSET_MAX_S: i32 = 30;
/// Maximum drift of samples, in seconds per hour: their tools sleep for the delay, and printing
/// takes additional time.
const DRIFT_MAX_S: f64 = 6.0;
/// Steps of the finer search, in seconds.
const FINE_S: f64 = 0.25;
/// Slow changes are removed by subtracting the mean of this many seconds on both sides.
const AROUND: usize = 30;
/// A log is aligned from this correlation on, if it is also this many times what chance produces
/// with few samples.
const CORRELATION_MIN: f64 = 0.3;
const CHANCE: f64 = 5.0;
/// It must exceed all offsets further away than [`APART_S`] by this factor.
const BETTER: f64 = 1.15;
const APART_S: f64 = 3.0;
/// Number of samples, spread over the log, for the coarse search; the fine search uses all.
const COARSE: usize = 1_200;
/// From this correlation on, other signals are not tried.
const SURE: f64 = 0.8;
/// Minimum number of seconds.
const SECONDS_MIN: usize = 30;

/// The alignment of a log with a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tie {
    /// The second of the measurement at nominal time 0.
    pub(crate) offset_s: f64,
    /// Seconds of the measurement per nominal second.
    pub(crate) pace: f64,
    /// The strength of the correlation, 0 to 1.
    pub(crate) correlation: f64,
    /// Whether it falls when the throughput rises, as idle time does.
    pub(crate) inverse: bool,
    pub(crate) signal: &'static str,
}

impl Tie {
    /// Converts a nominal time to a second of the measurement.
    pub(crate) fn at(&self, nominal_s: f64) -> f64 {
        self.offset_s + nominal_s * self.pace
    }

    pub(crate) fn drift_s_per_hour(&self) -> f64 {
        (self.pace - 1.0) * 3600.0
    }
}

/// The best alignment of the log; `None` if nothing in it follows the throughput clearly enough.
pub(crate) fn tie(
    intervals: &[IntervalSummary],
    nominal_s: &[f64],
    collected: &[Values],
) -> Option<Tie> {
    let rates = seconds(intervals)?;
    let spanned_s = nominal_s.last()? - nominal_s.first()?;
    let mut best: Option<(Tie, f64)> = None;
    for signal in SIGNALS {
        let Some(values) = collected.iter().find(|values| values.name == signal) else {
            continue;
        };
        // The first sample covers the time since boot.
        let samples = values.values.iter().filter(|(sample, _)| *sample > 0);
        let samples = samples.filter_map(|&(sample, value)| Some((*nominal_s.get(sample)?, value)));
        let (times, values): (Vec<f64>, Vec<f64>) = samples.unzip();
        if values.len() < SECONDS_MIN {
            continue;
        }
        let found = search(&rates, &times, &swings(&values), (spanned_s, signal));
        if let Some((tie, other)) = found
            && best
                .as_ref()
                .is_none_or(|(known, _)| tie.correlation > known.correlation)
        {
            let sure = tie.correlation >= SURE;
            best = Some((tie, other));
            if sure {
                break;
            }
        }
    }
    let (tie, other) = best?;
    let chance = CHANCE / (rates.len().min(nominal_s.len()) as f64).sqrt();
    let clear = tie.correlation >= CORRELATION_MIN.max(chance) && tie.correlation >= other * BETTER;
    clear.then_some(tie)
}

/// The short-term changes of the rate in each second of the measurement; `None` if intervals are
/// not about a second long.
fn seconds(intervals: &[IntervalSummary]) -> Option<Vec<f64>> {
    let last_s = intervals.last()?.at_s;
    let short = |one: &IntervalSummary| (0.5..=1.5).contains(&one.length_s);
    let regular = intervals.iter().filter(|one| short(one)).count();
    if regular < SECONDS_MIN || regular * 10 < intervals.len() * 9 || last_s > 1e6 {
        return None;
    }
    let mut rates = vec![f64::NAN; last_s.ceil() as usize];
    for interval in intervals {
        let second = (interval.at_s - 0.5).max(0.0) as usize;
        if let Some(rate) = rates.get_mut(second) {
            *rate = interval.events_per_s();
        }
    }
    Some(swings(&rates))
}

/// Removes slow changes from a series.
fn swings(values: &[f64]) -> Vec<f64> {
    let (mut sums, mut counts) = (vec![0.0], vec![0.0]);
    for value in values {
        let known = value.is_finite();
        sums.push(sums[sums.len() - 1] + if known { *value } else { 0.0 });
        counts.push(counts[counts.len() - 1] + f64::from(u8::from(known)));
    }
    let swing = |(at, value): (usize, &f64)| {
        let (from, to) = (
            at.saturating_sub(AROUND),
            (at + AROUND + 1).min(values.len()),
        );
        value - (sums[to] - sums[from]) / (counts[to] - counts[from]).max(1.0)
    };
    values.iter().enumerate().map(swing).collect()
}

/// The best alignment of a signal, and the correlation of the best one far from it.
fn search(
    rates: &[f64],
    times: &[f64],
    values: &[f64],
    (spanned_s, signal): (f64, &'static str),
) -> Option<(Tie, f64)> {
    let drift_s = DRIFT_MAX_S * spanned_s / 3600.0;
    let steps = drift_s.ceil() as i32;
    let pace = |drift: f64| 1.0 + drift / spanned_s.max(1.0);
    let stride = times.len().div_ceil(COARSE).max(1);
    let few = |all: &[f64]| -> Vec<f64> { all.iter().step_by(stride).copied().collect() };
    let (few_times, few_values) = (few(times), few(values));
    let mut all = Vec::new();
    for offset in -OFFSET_MAX_S..=OFFSET_MAX_S {
        for step in -steps..=steps {
            let place = (f64::from(offset), f64::from(step));
            let laid = (place.0, pace(place.1));
            let found = correlation(rates, &few_times, &few_values, laid);
            all.extend(found.map(|correlation| (correlation, place)));
        }
    }
    let coarse = all.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let middle = coarse.1;
    let mut best = correlation(rates, times, values, (middle.0, pace(middle.1)))?;
    let mut place = middle;
    for offset in -4..=4 {
        for step in -4..=4 {
            let near = (
                middle.0 + f64::from(offset) * FINE_S,
                middle.1 + f64::from(step) * FINE_S,
            );
            let found = correlation(rates, times, values, (near.0, pace(near.1)));
            if let Some(found) = found.filter(|found| *found > best) {
                (best, place) = (found, near);
            }
        }
    }
    let apart = |one: &&(f64, (f64, f64))| {
        // Compare them at the middle of the log.
        let moved = one.1.0 - place.0 + (one.1.1 - place.1) / 2.0;
        moved.abs() > APART_S
    };
    let other = all
        .iter()
        .filter(apart)
        .map(|one| one.0)
        .fold(0.0, f64::max);
    let inverse = signed(rates, times, values, (place.0, pace(place.1)))? < 0.0;
    let tie = Tie {
        offset_s: place.0,
        pace: pace(place.1),
        correlation: best,
        inverse,
        signal,
    };
    Some((tie, other))
}

/// The absolute correlation of a signal in this alignment with the rates.
fn correlation(rates: &[f64], times: &[f64], values: &[f64], laid: (f64, f64)) -> Option<f64> {
    signed(rates, times, values, laid).map(f64::abs)
}

/// The correlation with its sign.
fn signed(
    rates: &[f64],
    times: &[f64],
    values: &[f64],
    (offset_s, pace): (f64, f64),
) -> Option<f64> {
    let (mut count, mut sums, mut squares, mut product) = (0.0, (0.0, 0.0), (0.0, 0.0), 0.0);
    for (time, value) in times.iter().zip(values) {
        // A sample covers the second before it, as an interval does.
        let at = offset_s + time * pace - 1.0;
        if at < 0.0 {
            continue;
        }
        let second = at as usize;
        let (Some(before), Some(behind)) = (rates.get(second), rates.get(second + 1)) else {
            continue;
        };
        let rate = before + (behind - before) * (at - second as f64);
        if !rate.is_finite() || !value.is_finite() {
            continue;
        }
        count += 1.0;
        sums = (sums.0 + rate, sums.1 + value);
        squares = (squares.0 + rate * rate, squares.1 + value * value);
        product += rate * value;
    }
    if count < SECONDS_MIN as f64 || count < 0.5 * values.len().min(rates.len()) as f64 {
        return None;
    }
    let covariance = product - sums.0 * sums.1 / count;
    let spread = (squares.0 - sums.0 * sums.0 / count) * (squares.1 - sums.1 * sums.1 / count);
    (spread > 0.0).then(|| covariance / spread.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::record::SeriesKind;
    use proptest::prelude::*;

    /// Reproducible noise.
    fn noise(seed: u64, second: i64) -> f64 {
        let mut x = (second as u64)
            .wrapping_add(1000)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ seed;
        x ^= x >> 31;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
        (x % 2000) as f64 / 1000.0 - 1.0
    }

    fn run(seed: u64, seconds: i64) -> Vec<IntervalSummary> {
        let events = |second| (1000.0 + 100.0 * noise(seed, second)) as u64;
        (0..seconds)
            .map(|second| dyno_samples::values::interval(second as f64 + 1.0, events(second)))
            .collect()
    }

    /// Values as vmstat would print them each second, started at an offset, with seconds of this
    /// length.
    fn vmstat(seed: u64, samples: usize, offset_s: f64, pace: f64) -> (Vec<f64>, Vec<Values>) {
        let nominal: Vec<f64> = (0..samples).map(|sample| sample as f64).collect();
        let value = |sample: usize| {
            let at = offset_s + sample as f64 * pace - 1.0;
            let (second, share) = (at.floor(), at - at.floor());
            let mixed =
                noise(seed, second as i64) * (1.0 - share) + noise(seed, second as i64 + 1) * share;
            (
                sample,
                20_000.0 + 3000.0 * mixed + 300.0 * noise(seed ^ 77, sample as i64),
            )
        };
        let values = Values {
            name: "host.context_switches".to_owned(),
            unit: "count/s",
            source: String::new(),
            kind: SeriesKind::Rate,
            values: (0..samples).map(value).collect(),
        };
        (nominal, vec![values])
    }

    #[test]
    fn a_log_uncorrelated_with_the_rate_is_not_aligned() {
        let (nominal, other) = vmstat(5, 300, 0.0, 1.0);
        assert_eq!(tie(&run(99, 300), &nominal, &other), None);
        assert_eq!(tie(&run(5, 20), &nominal, &other), None);
        assert_eq!(tie(&[], &nominal, &other), None);
        assert_eq!(tie(&run(5, 300), &[], &[]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn a_log_is_found_at_its_true_offset(
            seed in 1u64..1000,
            offset in -20.0f64..20.0,
            drift_per_hour in -4.0f64..4.0,
        ) {
            let pace = 1.0 + drift_per_hour / 3600.0;
            let (nominal, collected) = vmstat(seed, 1800, offset, pace);
            let found = tie(&run(seed, 1800), &nominal, &collected).unwrap();
            for nominal in [100.0, 900.0, 1700.0] {
                let expected = offset + nominal * pace;
                prop_assert!((found.at(nominal) - expected).abs() <= 0.5, "{found:?}");
            }
            prop_assert!(found.correlation > 0.6, "{found:?}");
        }
    }
}
