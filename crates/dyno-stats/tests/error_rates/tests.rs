use dyno_stats::multiple::holm;
use dyno_stats::poisson_dispersion;

use crate::alarms;
use crate::simulate::{Source, share};

#[test]
fn dispersion_of_poisson_counts() {
    for (n, mean) in [(30, 20.0), (100, 3.0)] {
        alarms(share(30, |source| {
            let counts: Vec<u64> = (0..n).map(|_| source.poisson(mean)).collect();
            poisson_dispersion(&counts).is_some_and(|test| test.p <= 0.05)
        }));
    }
}

#[test]
fn any_alarm_among_many_comparisons() {
    let comparisons =
        |source: &mut Source| -> Vec<f64> { (0..10).map(|_| source.uniform()).collect() };
    let any = |adjusted: Vec<f64>| adjusted.iter().any(|&p| p <= 0.05);
    alarms(share(32, |source| any(holm(&comparisons(source)))));
}
