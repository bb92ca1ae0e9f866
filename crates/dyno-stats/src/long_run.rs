//! The long-run variance of a series: n times the variance of its mean under autocorrelation.
//!
//! Uses equal-weighted cosine transforms (Lazarus, Lewis, Stock and Watson, "HAR Inference:
//! Recommendations for Practice"). The squares of the B slowest cosine coefficients are nearly
//! independent estimates of the variance. Their mean therefore behaves as a chi-square with B
//! degrees of freedom, and intervals use Student's t with B. B trades bias against degrees of
//! freedom, and is chosen from the series.

use std::f64::consts::PI;

use crate::autocorrelation::{Centred, autocorrelation_time};

/// The shortest series whose autocorrelation can be estimated.
pub const SERIES_MIN: usize = 10;

/// Up to this length `gls` is used instead: with a coefficient of 0.9 the transforms cover less
/// than 94 % for a nominal 95 %.
pub const SHORT_MAX: usize = 300;

/// With fewer transforms the interval is useless, and more of them hardly narrow it: Student's t at
/// 95 % is 2.78 with 4 degrees of freedom, 2.01 with 50, and 1.96 at best.
const TRANSFORMS: std::ops::RangeInclusive<usize> = 4..=50;

/// The share by which the slowest B transforms may understate the variance.
const BIAS_MAX: f64 = 0.03;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRun {
    /// In the squared unit of the values.
    pub(crate) variance: f64,
    /// Of Student's t for a mean with this variance.
    pub(crate) degrees: f64,
}

/// The long-run variance of a series; `None` for fewer than [`SERIES_MIN`] values.
pub(crate) fn long_run(series: &[f64]) -> Option<LongRun> {
    if series.len() < SERIES_MIN || !crate::all_finite(series) {
        return None;
    }
    let count = transforms(series);
    let squares: f64 = cosine_coefficients(series, count)
        .iter()
        .map(|coefficient| coefficient * coefficient)
        .sum();
    let variance = squares / count as f64;
    variance.is_finite().then_some(LongRun {
        variance,
        degrees: count as f64,
    })
}

/// The number of transforms that the series allows.
///
/// For a first-order autoregression with coefficient a, the spectrum falls off as 1 - a/(1-a)^2
/// f^2, which over the frequencies pi j / n, j = 1..B, gives a relative bias of a/(1-a)^2 (pi B /
/// n)^2 / 3. The coefficient is the larger of two estimates, from the autocorrelation at lag 1 and
/// from the autocorrelation time: the first misses slow waves in noise.
fn transforms(series: &[f64]) -> usize {
    let n = series.len();
    let most = (*TRANSFORMS.end()).min(n / 3).max(*TRANSFORMS.start());
    let (Some(centred), Some(time)) = (Centred::new(series), autocorrelation_time(series)) else {
        return most;
    };
    let coefficient = centred.at(1).max((time - 1.0) / (time + 1.0)).min(0.999);
    if coefficient <= 0.0 {
        return most;
    }
    let curvature = coefficient / (1.0 - coefficient).powi(2);
    let count = n as f64 * (3.0 * BIAS_MAX / curvature).sqrt() / PI;
    (count as usize).clamp(*TRANSFORMS.start(), most)
}

/// How many cosines to compute at a time, because each step of the recurrence waits for the one
/// before.
const LANES: usize = 8;

/// The coefficients sqrt(2/n) sum x(t) cos(pi j (t - 1/2) / n) for j = 1..=count. The mean is
/// subtracted only for precision, because the cosines of a constant add up to 0.
fn cosine_coefficients(series: &[f64], count: usize) -> Vec<f64> {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let mut sums = vec![0.0; count];
    for (chunk, values) in series.chunks(LANES).enumerate() {
        let mut value = [0.0; LANES];
        let mut cosine = [0.0; LANES];
        for (lane, x) in values.iter().enumerate() {
            value[lane] = x - mean;
            cosine[lane] = (PI * ((chunk * LANES + lane) as f64 + 0.5) / n).cos();
        }
        // Chebyshev's recurrence: cos((j+1) a) = 2 cos(a) cos(j a) - cos((j-1) a).
        let (mut previous, mut current) = ([1.0; LANES], cosine);
        for sum in &mut sums {
            let mut products = [0.0; LANES];
            for lane in 0..LANES {
                products[lane] = value[lane] * current[lane];
                let next = 2.0 * cosine[lane] * current[lane] - previous[lane];
                previous[lane] = current[lane];
                current[lane] = next;
            }
            *sum += products.iter().sum::<f64>();
        }
    }
    let scale = (2.0 / n).sqrt();
    sums.iter().map(|sum| sum * scale).collect()
}
