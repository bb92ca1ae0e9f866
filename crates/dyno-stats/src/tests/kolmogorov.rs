//! The Kolmogorov-Smirnov test of one sample against a distribution.

use super::Test;
use crate::sorted;

/// Up to this many values, the distribution of D is computed exactly.
const EXACT_VALUES: usize = 140;

/// Whether a sample follows a continuous distribution, given by its distribution function.
///
/// The statistic is D, the largest distance between the two distribution functions. The p-value is
/// exact up to 140 values (Marsaglia, Tsang and Wang, "Evaluating Kolmogorov's Distribution") and
/// beyond uses the limit with the correction of Stephens, "Use of the Kolmogorov-Smirnov,
/// Cramer-von Mises and Related Statistics Without Extensive Tables". The distribution must not
/// have been fitted to the same values. `None` for an empty sample or if `cdf` returns values
/// outside [0, 1].
pub fn kolmogorov_smirnov(values: &[f64], cdf: impl Fn(f64) -> f64) -> Option<Test> {
    let sorted = sorted(values)?;
    let n = sorted.len() as f64;
    let mut statistic: f64 = 0.0;
    for (index, &value) in sorted.iter().enumerate() {
        let share = cdf(value);
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let above = (index + 1) as f64 / n - share;
        let below = share - index as f64 / n;
        statistic = statistic.max(above).max(below);
    }
    Some(Test {
        statistic,
        degrees_of_freedom: None,
        p: upper(sorted.len(), statistic),
    })
}

/// P(D >= d) for n values.
fn upper(n: usize, d: f64) -> f64 {
    if d <= 0.5 / n as f64 {
        return 1.0;
    }
    if d >= 1.0 {
        return 0.0;
    }
    let scaled = n as f64 * d * d;
    // Here only one tail matters, and both are alike: take twice the one-sided probability.
    if scaled > 2.2 && n <= EXACT_VALUES {
        return (2.0 * one_sided(n, d)).min(1.0);
    }
    if n <= EXACT_VALUES {
        return (1.0 - lower_exact(n, d)).clamp(0.0, 1.0);
    }
    let root = (n as f64).sqrt();
    limit_upper((root + 0.12 + 0.11 / root) * d)
}

/// Kolmogorov's limit of P(sqrt(n) D >= x).
fn limit_upper(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0; // to sixteen digits, where the series no longer converges in a few terms
    }
    let mut sum = 0.0;
    let mut sign = 1.0;
    for j in 1..=100 {
        let term = (-2.0 * f64::from(j * j) * x * x).exp();
        sum += sign * term;
        sign = -sign;
        if term < 1e-17 {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

/// P(D+ >= d), Smirnov's sum (Birnbaum and Tingey, "One-sided confidence contours for probability
/// distribution functions").
fn one_sided(n: usize, d: f64) -> f64 {
    let size = n as f64;
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for j in 0..=n {
        let share = d + j as f64 / size;
        if share > 1.0 {
            break;
        }
        let rest = (n - j) as f64 * (1.0 - share).max(0.0).ln();
        let rest = if n == j { 0.0 } else { rest };
        sum += (ln_choose + rest + (j as f64 - 1.0) * share.ln()).exp();
        ln_choose += ((n - j) as f64 / (j + 1) as f64).ln();
    }
    d * sum
}

/// P(D < d) for n values: an entry of the n-th power of a small matrix.
fn lower_exact(n: usize, d: f64) -> f64 {
    let k = (n as f64 * d) as usize + 1;
    let size = 2 * k - 1;
    let h = k as f64 - n as f64 * d;
    let mut matrix = Matrix::new(size);
    for i in 0..size {
        for j in 0..size.min(i + 2) {
            *matrix.at(i, j) = 1.0;
        }
    }
    for i in 0..size {
        *matrix.at(i, 0) -= h.powi(i as i32 + 1);
        *matrix.at(size - 1, i) -= h.powi((size - i) as i32);
    }
    if 2.0 * h - 1.0 > 0.0 {
        *matrix.at(size - 1, 0) += (2.0 * h - 1.0).powi(size as i32);
    }
    for i in 0..size {
        for j in 0..size.min(i + 1) {
            for factor in 1..=(i - j + 1) {
                *matrix.at(i, j) /= factor as f64;
            }
        }
    }
    let mut power = matrix.power(n);
    let mut share = *power.at(k - 1, k - 1);
    // Multiply by n! / n^n, spread over the product to avoid overflow and underflow.
    let mut exponent = power.exponent;
    for i in 1..=n {
        share *= i as f64 / n as f64;
        if share < 1e-140 {
            share *= 1e140;
            exponent -= 140;
        }
    }
    share * 10f64.powi(exponent)
}

/// A square matrix times a power of ten.
#[derive(Clone)]
struct Matrix {
    size: usize,
    entries: Vec<f64>,
    exponent: i32,
}

impl Matrix {
    fn new(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
            exponent: 0,
        }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.entries[row * self.size + column]
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = Self::new(self.size);
        for (row, out) in product.entries.chunks_exact_mut(self.size).enumerate() {
            let factors = &self.entries[row * self.size..(row + 1) * self.size];
            for (factor, line) in factors.iter().zip(other.entries.chunks_exact(self.size)) {
                for (entry, value) in out.iter_mut().zip(line) {
                    *entry += factor * value;
                }
            }
        }
        product.exponent = self.exponent + other.exponent;
        let middle = self.size / 2 * self.size + self.size / 2;
        if product.entries[middle] > 1e140 {
            product
                .entries
                .iter_mut()
                .for_each(|entry| *entry *= 1e-140);
            product.exponent += 140;
        }
        product
    }

    fn power(&self, exponent: usize) -> Self {
        let mut result: Option<Self> = None;
        let mut square = self.clone();
        let mut rest = exponent;
        loop {
            if rest % 2 == 1 {
                result = Some(match result {
                    Some(result) => result.times(&square),
                    None => square.clone(),
                });
            }
            rest /= 2;
            if rest == 0 {
                return result.unwrap_or(square);
            }
            square = square.times(&square);
        }
    }
}
