//! Scaling laws fitted to levels of load.

use super::Level;
use crate::{all_finite, mean};

/// A fitted scaling law: X(N) = rate N / (1 + contention (N - 1) + coherency N (N - 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Fitted throughput of a single unit of load.
    pub rate: f64,
    /// Share of the work that is serial (sigma).
    pub contention: f64,
    /// Cost of keeping pairs coherent (kappa); 0 under Amdahl's law.
    pub coherency: f64,
    /// Share of the variance of throughput that the fit explains, at most 1; it may be negative.
    pub r_squared: f64,
}

impl Scaling {
    /// Fitted throughput at a load.
    pub fn throughput(&self, n: f64) -> f64 {
        self.rate * n / (1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0))
    }

    /// The load with the highest throughput, sqrt((1 - sigma) / kappa); `None` without coherency
    /// cost, because there is no peak.
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0 && self.contention < 1.0)
            .then(|| ((1.0 - self.contention) / self.coherency).sqrt())
    }
}

/// The universal scalability law (Gunther, "Guerrilla Capacity Planning"), fitted to at least
/// three levels by least squares of throughput; contention and coherency are not negative.
pub fn universal_scalability(levels: &[Level]) -> Option<Scaling> {
    if levels.len() < 3 {
        return None;
    }
    fit(levels, COHERENT)
}

/// Amdahl's law ("Validity of the Single Processor Approach to Achieving Large Scale Computing
/// Capabilities"), fitted to at least two levels: the universal law without coherency cost.
pub fn amdahl(levels: &[Level]) -> Option<Scaling> {
    if levels.len() < 2 {
        return None;
    }
    fit(levels, SERIAL)
}

/// Rounds of refinement; the fit converges in a few dozen.
const ROUNDS: usize = 200;

/// Which of the terms 1, N - 1 and N (N - 1) of N / X are used, by both laws and their corner
/// cases.
const COHERENT: &[[bool; 3]] = &[
    [true, true, true],
    [true, false, true],
    [true, true, false],
    [true, false, false],
];
const SERIAL: &[[bool; 3]] = &[[true, true, false], [true, false, false]];

/// The best fit without negative coefficients.
fn fit(levels: &[Level], subsets: &[[bool; 3]]) -> Option<Scaling> {
    let first = levels.first()?;
    let flat: Vec<f64> = levels.iter().flat_map(|at| [at.n, at.throughput]).collect();
    let apart = levels.iter().any(|level| level.n != first.n);
    if !apart || !all_finite(&flat) || flat.iter().any(|&value| value <= 0.0) {
        return None;
    }
    let mut best: Option<(f64, Scaling)> = None;
    for &used in subsets {
        let Some(scaling) = refine(levels, used) else {
            continue;
        };
        let rest = squares(levels, |at| scaling.throughput(at.n));
        if best.is_none_or(|(least, _)| rest < least) {
            best = Some((rest, scaling));
        }
    }
    let (rest, mut scaling) = best?;
    let all: Vec<f64> = levels.iter().map(|at| at.throughput).collect();
    let mean = mean(&all)?;
    let total = squares(levels, |_| mean);
    scaling.r_squared = if total > 0.0 { 1.0 - rest / total } else { 1.0 };
    Some(scaling)
}

fn squares(levels: &[Level], law: impl Fn(&Level) -> f64) -> f64 {
    levels
        .iter()
        .map(|at| (at.throughput - law(at)).powi(2))
        .sum()
}

/// N / X = D(N) is linear in its coefficients. Its least squares weighted by X F^3 / N^2, where F
/// is the throughput fitted in the previous round, have the gradient of the least squares of X, so
/// the rounds converge to the least-squares fit of X.
fn refine(levels: &[Level], used: [bool; 3]) -> Option<Scaling> {
    let mut fitted: Vec<f64> = levels.iter().map(|level| level.throughput).collect();
    let mut scaling = None;
    for _ in 0..ROUNDS {
        let [one, sigma, kappa] = solve(levels, &fitted, used)?;
        if one <= 0.0 || sigma < 0.0 || kappa < 0.0 {
            return None;
        }
        let next = Scaling {
            rate: 1.0 / one,
            contention: sigma / one,
            coherency: kappa / one,
            r_squared: 0.0,
        };
        let mut moved: f64 = 0.0;
        for (level, at) in levels.iter().zip(&mut fitted) {
            let now = next.throughput(level.n);
            moved = moved.max(((now - *at) / *at).abs());
            *at = now;
        }
        scaling = Some(next);
        if moved < 1e-12 {
            break;
        }
    }
    scaling
}

fn terms(n: f64) -> [f64; 3] {
    [1.0, n - 1.0, n * (n - 1.0)]
}

/// Solves the normal equations of the used terms by Gaussian elimination; unused coefficients
/// are 0.
fn solve(levels: &[Level], fitted: &[f64], used: [bool; 3]) -> Option<[f64; 3]> {
    let columns: Vec<usize> = (0..3).filter(|&term| used[term]).collect();
    // Scale the terms to their largest value. Otherwise, squares of N would cost the other terms
    // their precision.
    let scale = |term: usize| {
        let largest = levels.iter().map(|at| terms(at.n)[term].abs());
        largest.fold(f64::MIN_POSITIVE, f64::max)
    };
    let mut rows: Vec<Vec<f64>> = vec![vec![0.0; columns.len() + 1]; columns.len()];
    for (level, &fitted) in levels.iter().zip(fitted) {
        let weight = level.throughput * fitted.powi(3) / (level.n * level.n);
        let values: Vec<f64> = columns
            .iter()
            .map(|&term| terms(level.n)[term] / scale(term))
            .collect();
        for (row, left) in rows.iter_mut().zip(&values) {
            for (entry, right) in row.iter_mut().zip(&values) {
                *entry += weight * left * right;
            }
            row[columns.len()] += weight * left * level.n / level.throughput;
        }
    }
    let solution = eliminate(rows)?;
    let mut coefficients = [0.0; 3];
    for (&term, value) in columns.iter().zip(solution) {
        coefficients[term] = value / scale(term);
    }
    Some(coefficients)
}

fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for pivot in 0..size {
        let largest =
            (pivot..size).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()))?;
        rows.swap(pivot, largest);
        let head = rows[pivot].clone();
        if head[pivot].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|&(i, _)| i != pivot) {
            let factor = row[pivot] / head[pivot];
            for (entry, value) in row.iter_mut().zip(&head) {
                *entry -= factor * value;
            }
        }
    }
    let solution: Vec<f64> = (0..size).map(|i| rows[i][size] / rows[i][i]).collect();
    all_finite(&solution).then_some(solution)
}
