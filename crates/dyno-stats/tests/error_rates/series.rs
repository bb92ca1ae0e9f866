use dyno_stats::autocorrelation::{autocorrelation_time, effective_sample_size};
use dyno_stats::stalls::stalls;
use dyno_stats::steady::{Steadiness, slope, steady_state};

use crate::simulate::{share, share_of};
use crate::{SERIES, alarms};

#[test]
fn slope_of_series_without_one() {
    for (phi, n) in SERIES {
        alarms(share(60, |source| {
            let series = source.series(n, phi, 10.0, 1.0);
            slope(&series).is_some_and(|slope| slope.significant())
        }));
    }
}

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

/// Noise large enough that chance drifts and steps are material, so that the tests alone decide.
/// Four tests at 1.25 % share 5 %; they overlap.
#[test]
fn a_steady_series_is_called_steady() {
    for (phi, n) in [(0.0, 60), (0.5, 300)] {
        let false_alarms = share_of(5_000, 62, |source| {
            let series = source.series(n, phi, 10.0, 3.0);
            steady_state(&series).verdict != Steadiness::Steady
        });
        assert!(
            (0.01..=0.07).contains(&false_alarms),
            "alarms in {false_alarms} for {phi}"
        );
    }
}

/// The noise of an ordinary run: a coefficient of variation of 3 % is hardly ever held against it.
#[test]
fn an_ordinary_run_is_called_steady() {
    let false_alarms = share_of(3_000, 63, |source| {
        let series = source.series(120, 0.5, 1000.0, 30.0);
        steady_state(&series).verdict != Steadiness::Steady
    });
    assert!(false_alarms < 0.01, "alarms in {false_alarms}");
}

#[test]
fn what_is_not_steady_is_called_by_its_name() {
    let named = share_of(150, 64, |source| {
        let noise = source.series(300, 0.4, 0.0, 30.0);
        let shaped = |shape: &dyn Fn(f64) -> f64| -> Steadiness {
            let steps = (0..).map(f64::from);
            let series: Vec<f64> = steps.zip(&noise).map(|(t, x)| shape(t) + x).collect();
            steady_state(&series).verdict
        };
        let drift = shaped(&|t| 1000.0 - t);
        let step = shaped(&|t| if t < 200.0 { 1000.0 } else { 700.0 });
        let drop = shaped(&|t| if t < 260.0 { 1000.0 } else { 800.0 });
        let late = shaped(&|t| if t < 60.0 { 400.0 + 10.0 * t } else { 1000.0 });
        matches!(drift, Steadiness::Drifts { relative } if (-0.5..-0.25).contains(&relative))
            && matches!(step, Steadiness::Steps { index, ratio }
                if index.abs_diff(200) <= 5 && (ratio - 0.7).abs() < 0.05)
            && matches!(drop, Steadiness::Steps { index, .. } if index.abs_diff(260) <= 5)
            && matches!(late, Steadiness::SettlesLate { from } if (45..=90).contains(&from))
    });
    assert!(named > 0.9, "named in {named}");
}

/// Chance stalls: four or more in three hundred seconds, of which few look regular.
#[test]
fn chance_stalls_have_no_period() {
    let regular = share(65, |source| {
        let series: Vec<f64> = (0..300)
            .map(|_| if source.uniform() < 0.03 { 0.0 } else { 1000.0 })
            .collect();
        stalls(&series, 0.05).is_some_and(|found| found.period.is_some())
    });
    assert!(regular < 0.02, "regular in {regular}");
}
