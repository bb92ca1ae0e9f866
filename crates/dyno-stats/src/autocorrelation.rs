//! Autocorrelation of a series.

use crate::all_finite;
use crate::quantiles::mean;

/// The sample autocorrelation at a lag: the sum of lagged products about the mean over the sum of
/// squares (Box and Jenkins, "Time Series Analysis", chapter 2). `None` for a constant series or a
/// lag beyond its end.
pub fn autocorrelation(series: &[f64], lag: usize) -> Option<f64> {
    let centred = Centred::new(series)?;
    (lag < series.len()).then(|| centred.at(lag))
}

/// The integrated autocorrelation time in steps: how many successive values carry as much
/// information as one independent value. It is 1 for independent values.
///
/// Sums pairs of autocorrelations as long as they are positive and falling, the initial monotone
/// sequence of Geyer, "Practical Markov Chain Monte Carlo". `None` for a constant series and for
/// fewer than four values.
pub fn autocorrelation_time(series: &[f64]) -> Option<f64> {
    if series.len() < 4 {
        return None;
    }
    let centred = Centred::new(series)?;
    let n = series.len();
    let (mut sum, mut last) = (0.0, f64::INFINITY);
    for pair in 0..n / 2 {
        let both = (centred.at(2 * pair) + centred.at(2 * pair + 1)).min(last);
        if both <= 0.0 {
            break;
        }
        sum += both;
        last = both;
    }
    // Alternating series would give less than 1, but a sample cannot resolve anything below 1/n.
    Some((2.0 * sum - 1.0).max(1.0 / n as f64))
}

/// n over [`autocorrelation_time`], at most n: the equivalent number of independent values.
pub fn effective_sample_size(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    Some((n / autocorrelation_time(series)?).min(n))
}

/// A series minus its mean, with its sum of squares.
pub(crate) struct Centred {
    values: Vec<f64>,
    squares: f64,
}

impl Centred {
    pub(crate) fn new(series: &[f64]) -> Option<Self> {
        let first = *series.first()?;
        if !all_finite(series) || series.iter().all(|&value| value == first) {
            return None;
        }
        let mean = mean(series)?;
        let values: Vec<f64> = series.iter().map(|value| value - mean).collect();
        let squares = values.iter().map(|value| value * value).sum();
        (squares > 0.0 && f64::is_finite(squares)).then_some(Self { values, squares })
    }

    /// The autocorrelation at a lag; 0 beyond the end of the series.
    pub(crate) fn at(&self, lag: usize) -> f64 {
        let later = self.values.get(lag..).unwrap_or_default();
        // Independent lanes, because a single sum would have to wait for each addition.
        let mut lanes = [0.0; 8];
        let earlier = &self.values[..later.len()];
        let (chunks, others) = (later.chunks_exact(8), earlier.chunks_exact(8));
        let rest = chunks.remainder().iter().zip(others.remainder());
        let rest: f64 = rest.map(|(a, b)| a * b).sum();
        for (a, b) in chunks.zip(others) {
            for lane in 0..8 {
                lanes[lane] += a[lane] * b[lane];
            }
        }
        (lanes.iter().sum::<f64>() + rest) / self.squares
    }
}
