//! Distribution functions shared by the procedures.

use std::f64::consts::{PI, SQRT_2};

use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::function::beta::checked_beta_reg;
use statrs::function::erf;
use statrs::function::gamma::checked_gamma_ur;

/// Beyond this number of degrees of freedom Student's t equals the normal distribution to
/// eight digits.
const NORMAL_DEGREES: f64 = 1e8;

/// The z with P(Z <= z) = p; infinite at 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    -SQRT_2 * erf::erfc_inv(2.0 * p)
}

/// P(|Z| >= |z|).
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    erf::erfc(z.abs() / SQRT_2)
}

/// P(|T| >= |t|) of Student's t with `degrees` degrees of freedom.
pub(crate) fn student_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if degrees > NORMAL_DEGREES {
        return normal_two_sided(t);
    }
    let x = degrees / (degrees + t * t);
    checked_beta_reg(degrees / 2.0, 0.5, x).unwrap_or(f64::NAN)
}

/// The t that |T| exceeds with probability 1 - `confidence`.
///
/// Solved from [`student_two_sided`] by safeguarded Newton steps, because no closed form exists.
pub(crate) fn student_two_sided_quantile(confidence: f64, degrees: f64) -> f64 {
    let tail = 1.0 - confidence;
    let z = normal_quantile(1.0 - tail / 2.0);
    if degrees > NORMAL_DEGREES {
        return z;
    }
    let (mut low, mut high) = (0.0, z.max(1.0));
    while student_two_sided(high, degrees) > tail && high < 1e150 {
        low = high;
        high *= 2.0;
    }
    let scale = student_density_scale(degrees);
    let mut t = z.clamp(low, high);
    for _ in 0..200 {
        let excess = student_two_sided(t, degrees) - tail;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let density = scale * (-(degrees + 1.0) / 2.0 * (t * t / degrees).ln_1p()).exp();
        let newton = t + excess / (2.0 * density);
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if (next - t).abs() <= 1e-13 * t.abs() {
            return next;
        }
        t = next;
    }
    t
}

/// Gamma((v+1)/2) / (sqrt(v pi) Gamma(v/2)), the density of Student's t at 0.
pub(crate) fn student_density_scale(degrees: f64) -> f64 {
    let ln_gamma = statrs::function::gamma::ln_gamma;
    (ln_gamma((degrees + 1.0) / 2.0) - ln_gamma(degrees / 2.0)).exp() / (degrees * PI).sqrt()
}

/// The chance of at least `successes` in `trials` that each succeed with chance `p`.
pub(crate) fn binomial_upper_tail(trials: usize, successes: usize, p: f64) -> f64 {
    if successes == 0 || p >= 1.0 {
        return 1.0;
    }
    let binomial = Binomial::new(p.max(0.0), trials as u64);
    binomial.map_or(1.0, |own| own.sf(successes as u64 - 1))
}

/// P(X >= x) of chi-square with `degrees` degrees of freedom.
pub(crate) fn chi_square_upper(x: f64, degrees: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    checked_gamma_ur(degrees / 2.0, x / 2.0).unwrap_or(f64::NAN)
}

/// P(X >= x) of Fisher's F, the ratio of two variances with these degrees of freedom.
pub(crate) fn fisher_upper(x: f64, above: f64, below: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let at = below / (below + above * x);
    checked_beta_reg(below / 2.0, above / 2.0, at).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod vectors {
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) {
        assert!(
            (found - expected).abs() <= relative * expected.abs(),
            "{found} is not {expected}"
        );
    }

    /// SciPy 1.17: `norm.ppf(0.975)`, `norm.ppf(1e-6)`, `2 * norm.sf(3)`.
    #[test]
    fn normal() {
        near(normal_quantile(0.975), 1.959_963_984_540_054, 1e-9);
        near(normal_quantile(1e-6), -4.753_424_308_822_899, 1e-9);
        near(normal_two_sided(3.0), 0.002_699_796_063_260_186_6, 1e-9);
    }

    /// Tables of F: 39.0 and 9.605 leave 2.5 % above them with 2 and 4 degrees of freedom a side.
    #[test]
    fn fisher() {
        near(fisher_upper(39.0, 2.0, 2.0), 0.025, 1e-9);
        near(fisher_upper(9.604_529_8, 4.0, 4.0), 0.025, 1e-6);
        near(fisher_upper(1.0, 7.0, 7.0), 0.5, 1e-9);
    }

    /// SciPy 1.17: `t.ppf(0.5 + confidence / 2, degrees)`.
    #[test]
    fn student_quantiles() {
        for (confidence, degrees, expected) in [
            (0.8, 2.0, 1.885_618_083_164_127_2),
            (0.95, 1.0, 12.706_204_736_174_694),
            (0.95, 3.7, 2.867_520_707_191_189_5),
            (0.95, 10.0, 2.228_138_851_986_274),
            (0.99, 50.0, 2.677_793_270_940_844),
            (0.95, 1e4, 1.960_201_239_890_626),
            (0.95, 1e6, 1.959_966_356_814_107),
            (0.999, 2.0, 31.599_054_576_445_365),
        ] {
            near(
                student_two_sided_quantile(confidence, degrees),
                expected,
                1e-9,
            );
        }
    }

    /// SciPy 1.17: `2 * t.sf(t, degrees)`.
    #[test]
    fn student_tails() {
        for (t, degrees, expected) in [
            (2.1, 7.0, 0.073_871_196_212_922_65),
            (0.3, 1.5, 0.800_472_196_803_585_1),
            (12.0, 30.0, 5.580_185_415_199_261e-13),
            (5.0, 1e5, 5.742_701_678_641_679e-7),
        ] {
            near(student_two_sided(t, degrees), expected, 1e-8);
        }
    }

    /// SciPy 1.17: `chi2.sf(x, degrees)`.
    #[test]
    fn chi_square_tails() {
        for (x, degrees, expected) in [
            (3.84, 1.0, 0.050_043_521_248_705_19),
            (20.0, 10.0, 0.029_252_688_076_961_124),
            (5.0, 10.0, 0.891_178_018_914_151_3),
            (1200.0, 1000.0, 1.225_594_233_062_289_3e-5),
            (90.0, 100.0, 0.753_197_965_599_829_8),
        ] {
            near(chi_square_upper(x, degrees), expected, 1e-9);
        }
    }
}
