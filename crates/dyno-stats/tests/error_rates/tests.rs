use dyno_stats::Test;
use dyno_stats::multiple::{benjamini_hochberg, holm};
use dyno_stats::tests::{
    chi_square, exponential_gaps, kolmogorov_smirnov, mann_whitney, mann_whitney_correlated,
    poisson_dispersion, welch, welch_correlated,
};

use crate::simulate::{Source, share};
use crate::{SERIES, alarms};

fn alarm(test: Option<Test>) -> bool {
    test.is_some_and(|test| test.p <= 0.05)
}

#[test]
fn welch_on_unequal_samples() {
    alarms(share(20, |source| {
        alarm(welch(
            &source.normals(8, 10.0, 1.0),
            &source.normals(15, 10.0, 3.0),
        ))
    }));
}

#[test]
fn welch_on_series() {
    for (phi, n) in SERIES {
        alarms(share(21, |source| {
            let a = source.series(n, phi, 10.0, 1.0);
            alarm(welch_correlated(&a, &source.series(n, phi, 10.0, 2.0)))
        }));
    }
}

#[test]
fn plain_welch_fails_on_series() {
    let false_alarms = share(22, |source| {
        let a = source.series(300, 0.8, 10.0, 1.0);
        alarm(welch(&a, &source.series(300, 0.8, 10.0, 1.0)))
    });
    assert!(false_alarms > 0.4, "alarms in {false_alarms}");
}

#[test]
fn mann_whitney_exact_and_normal() {
    for (m, n) in [(8, 12), (50, 60)] {
        alarms(share(23, |source| {
            let a: Vec<f64> = (0..m).map(|_| source.exponential()).collect();
            let b: Vec<f64> = (0..n).map(|_| source.exponential()).collect();
            alarm(mann_whitney(&a, &b))
        }));
    }
}

#[test]
fn mann_whitney_with_ties() {
    alarms(share(24, |source| {
        let a: Vec<f64> = (0..40).map(|_| source.poisson(4.0) as f64).collect();
        let b: Vec<f64> = (0..30).map(|_| source.poisson(4.0) as f64).collect();
        alarm(mann_whitney(&a, &b))
    }));
}

#[test]
fn mann_whitney_on_series() {
    for (phi, n) in SERIES {
        alarms(share(25, |source| {
            let a = source.series(n, phi, 10.0, 1.0);
            alarm(mann_whitney_correlated(
                &a,
                &source.series(n, phi, 10.0, 1.0),
            ))
        }));
    }
}

#[test]
fn kolmogorov_smirnov_exact_and_limit() {
    for n in [20, 200] {
        alarms(share(26, |source| {
            let values: Vec<f64> = (0..n).map(|_| source.uniform()).collect();
            alarm(kolmogorov_smirnov(&values, |x| x))
        }));
    }
}

fn gaps(source: &mut Source, n: usize) -> Vec<f64> {
    (0..n).map(|_| source.exponential() / 50.0).collect()
}

#[test]
fn gaps_of_a_poisson_process() {
    for n in [30, 300] {
        alarms(share(27, |source| {
            alarm(exponential_gaps(&gaps(source, n), Some(50.0)))
        }));
        alarms(share(28, |source| {
            alarm(exponential_gaps(&gaps(source, n), None))
        }));
    }
}

#[test]
fn detects_regular_and_bursty_gaps() {
    let seen = share(29, |source| {
        let beat: Vec<f64> = (0..100).map(|_| 1.0 + 0.5 * source.uniform()).collect();
        let bursts: Vec<f64> = (0..200).map(|_| source.exponential().powi(2)).collect();
        alarm(exponential_gaps(&beat, None)) && alarm(exponential_gaps(&bursts, None))
    });
    assert!(seen > 0.95, "sees {seen}");
}

#[test]
fn dispersion_of_poisson_counts() {
    for (n, mean) in [(30, 20.0), (100, 3.0)] {
        alarms(share(30, |source| {
            let counts: Vec<u64> = (0..n).map(|_| source.poisson(mean)).collect();
            alarm(poisson_dispersion(&counts))
        }));
    }
}

#[test]
fn goodness_of_fit() {
    alarms(share(31, |source| {
        let mut counts = [0u64; 8];
        for _ in 0..400 {
            counts[(8.0 * source.uniform()) as usize] += 1;
        }
        alarm(chi_square(&counts, &[50.0; 8], 0))
    }));
}

#[test]
fn any_alarm_among_many_comparisons() {
    let comparisons =
        |source: &mut Source| -> Vec<f64> { (0..10).map(|_| source.uniform()).collect() };
    let any = |adjusted: Vec<f64>| adjusted.iter().any(|&p| p <= 0.05);
    alarms(share(32, |source| any(holm(&comparisons(source)))));
    alarms(share(33, |source| {
        any(benjamini_hochberg(&comparisons(source)))
    }));
}
