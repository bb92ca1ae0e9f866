//! Gunther's Universal Scalability Law: what contention and coherence cost.

/// A fit of throughput over load: `X(N) = rate·N / (1 + contention·(N-1) + coherence·N·(N-1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalability {
    /// The throughput at a load of one.
    pub rate: f64,
    /// The share of the work that is serial.
    pub contention: f64,
    /// The cost of coherence for each pair.
    pub coherence: f64,
    /// The largest relative distance between a point and the curve.
    pub misses_by: f64,
}

/// Rounding error around 0.
const ROUNDING: f64 = 1e-15;
/// Minimum number of points. A curve with three parameters passes through any three.
pub const SCALABILITY_MIN: usize = 4;

impl Scalability {
    /// The fitted throughput at a load.
    pub fn at(&self, n: f64) -> f64 {
        self.rate * n / (1.0 + self.contention * (n - 1.0) + self.coherence * n * (n - 1.0))
    }

    /// The load of the highest throughput; `None` if there is no peak.
    pub fn peak(&self) -> Option<f64> {
        (self.coherence > 0.0).then(|| ((1.0 - self.contention).max(0.0) / self.coherence).sqrt())
    }
}

/// Fits pairs of load (1 or more) and throughput (above 0) by least squares of the relative
/// distances. No parameter is below 0, so a speed-up that is better than linear gives 0.
pub fn scalability(points: &[(f64, f64)]) -> Option<Scalability> {
    let proper = |(n, x): &(f64, f64)| n.is_finite() && x.is_finite() && *n >= 1.0 && *x > 0.0;
    if points.len() < SCALABILITY_MIN || !points.iter().all(proper) {
        return None;
    }
    let mut loads: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    if loads.len() < SCALABILITY_MIN {
        return None;
    }
    // N/X is linear in the coefficients; weighted by X/N, its distances are relative.
    let row = |n: f64| [1.0, n - 1.0, n * (n - 1.0)];
    let subsets: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
    let fits = subsets.into_iter().filter_map(|used| {
        let rows: Vec<Vec<f64>> = points
            .iter()
            .map(|(n, x)| used.iter().map(|at| row(*n)[*at] * x / n).collect())
            .collect();
        let solved = least_squares(&rows)?;
        let mut all = [0.0; 3];
        for (at, value) in used.iter().zip(solved) {
            all[*at] = value;
        }
        let [one, contention, coherence] = all;
        (one > 0.0 && contention >= -ROUNDING && coherence >= -ROUNDING).then(|| {
            let fit = Scalability {
                rate: 1.0 / one,
                // Adding 0 turns a negative zero into a positive one.
                contention: (contention / one).max(0.0) + 0.0,
                coherence: (coherence / one).max(0.0) + 0.0,
                misses_by: 0.0,
            };
            let squares = points.iter().map(|(n, x)| (x / fit.at(*n) - 1.0).powi(2));
            (squares.sum::<f64>(), fit)
        })
    });
    let (_, mut fit) = fits.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let misses = points.iter().map(|(n, x)| (x / fit.at(*n) - 1.0).abs());
    fit.misses_by = misses.fold(0.0, f64::max);
    Some(fit)
}

/// The coefficients whose products with the rows are closest to 1, by the normal equations.
fn least_squares(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let width = rows.first()?.len();
    let mut matrix = vec![vec![0.0; width + 1]; width];
    for row in rows {
        for (i, line) in matrix.iter_mut().enumerate() {
            for (j, cell) in line.iter_mut().take(width).enumerate() {
                *cell += row[i] * row[j];
            }
            line[width] += row[i];
        }
    }
    for column in 0..width {
        let pivot = (column..width).max_by(|one, other| {
            let size = |row: &usize| matrix[*row][column].abs();
            size(one).total_cmp(&size(other))
        })?;
        matrix.swap(column, pivot);
        let own = matrix[column].clone();
        if own[column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (at, line) in matrix.iter_mut().enumerate() {
            if at != column {
                let factor = line[column] / own[column];
                for (cell, own) in line.iter_mut().zip(&own) {
                    *cell -= factor * own;
                }
            }
        }
    }
    let solved: Vec<f64> = (0..width)
        .map(|at| matrix[at][width] / matrix[at][at])
        .collect();
    crate::all_finite(&solved).then_some(solved)
}

#[cfg(test)]
mod checks {
    use super::*;

    fn points(of: Scalability, noise: &[f64]) -> Vec<(f64, f64)> {
        let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let noise = noise.iter().chain(std::iter::repeat(&0.0));
        loads
            .into_iter()
            .zip(noise)
            .map(|(n, noise)| (n, of.at(n) * (1.0 + noise)))
            .collect()
    }

    const LAW: Scalability = Scalability {
        rate: 1000.0,
        contention: 0.03,
        coherence: 0.0005,
        misses_by: 0.0,
    };

    #[test]
    fn fitting_recovers_the_law() {
        let fit = scalability(&points(LAW, &[])).unwrap();
        assert!((fit.rate - 1000.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.contention - 0.03).abs() < 1e-9, "{fit:?}");
        assert!((fit.coherence - 0.0005).abs() < 1e-9, "{fit:?}");
        assert!((fit.peak().unwrap() - 44.05).abs() < 0.01, "{fit:?}");
        let noisy = points(LAW, &[0.02, -0.03, 0.01, 0.03, -0.02, 0.01, -0.01]);
        let fit = scalability(&noisy).unwrap();
        assert!((fit.contention - 0.03).abs() < 0.02, "{fit:?}");
        assert!(fit.misses_by < 0.04 && fit.misses_by > 0.0, "{fit:?}");
    }

    #[test]
    fn without_coherence_it_is_amdahls_law_and_never_below_0() {
        let amdahl = Scalability {
            coherence: 0.0,
            ..LAW
        };
        let fit = scalability(&points(amdahl, &[])).unwrap();
        assert!(fit.coherence < 1e-9, "{fit:?}");
        // Better than linear scaling.
        let better: Vec<(f64, f64)> = (1..7).map(|n| (f64::from(n), f64::from(n * n))).collect();
        let fit = scalability(&better).unwrap();
        assert_eq!(
            (fit.contention, fit.coherence, fit.peak()),
            (0.0, 0.0, None)
        );
    }

    #[test]
    fn too_few_points_have_no_answer() {
        let few = points(LAW, &[]);
        assert_eq!(scalability(&few[..3]), None);
        assert_eq!(scalability(&[few[0]; 5]), None);
        assert_eq!(scalability(&[(0.5, 1.0); 5]), None);
        assert_eq!(scalability(&[(1.0, 0.0), few[1], few[2], few[3]]), None);
    }
}
