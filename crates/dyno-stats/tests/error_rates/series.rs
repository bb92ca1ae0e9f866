use dyno_stats::autocorrelation::{autocorrelation_time, effective_sample_size};
use dyno_stats::stalls::stalls;

use crate::simulate::{TRIALS, share, share_of, steadiness};

/// (1 + phi) / (1 - phi).
#[test]
fn autocorrelation_times() {
    for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
        let (mut time, mut size) = (0.0, 0.0);
        share_of(1_000, 61, |source| {
            let series = source.series(1000, phi, 10.0, 1.0);
            time += autocorrelation_time(&series).unwrap_or(f64::NAN) / 1000.0;
            size += effective_sample_size(&series).unwrap_or(f64::NAN) / 1000.0;
            true
        });
        assert!((time / expected - 1.0).abs() < 0.1, "{time} for {phi}");
        assert!(
            (size * expected / 1000.0 - 1.0).abs() < 0.15,
            "{size} for {phi}"
        );
    }
}

/// Four or more random stalls in three hundred seconds. Few of them look regular.
#[test]
fn chance_stalls_have_no_period() {
    let regular = share(65, |source| {
        let series: Vec<f64> = (0..300)
            .map(|_| if source.uniform() < 0.03 { 0.0 } else { 1000.0 })
            .collect();
        stalls(&series, &series, 0.05).is_some_and(|found| found.period.is_some())
    });
    assert!(regular < 0.02, "regular in {regular}");
}

/// Runs a hundred or ten thousand trials.
fn courses_hold(trials: usize) {
    for case in steadiness::cases() {
        case.hold(trials);
    }
}

#[test]
fn of_courses() {
    courses_hold(100);
}

#[test]
#[ignore = "minutes"]
fn of_courses_in_full() {
    courses_hold(TRIALS);
}
