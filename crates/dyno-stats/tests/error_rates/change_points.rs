use dyno_stats::{ChangePoints, change_points};

use crate::alarms;
use crate::simulate::{Source, share, share_of};

/// The fewest permutations that can decide at 5 %, so that ten thousand trials are affordable: 2 of
/// 50, because p-values are raised by a quarter.
fn options() -> ChangePoints {
    ChangePoints {
        permutations: 49,
        ..ChangePoints::default()
    }
}

fn changes(series: &[f64]) -> bool {
    !change_points(series, &options()).is_empty()
}

#[test]
fn nothing_changes_among_independent_values() {
    alarms(share(40, |source| changes(&source.normals(150, 10.0, 1.0))));
}

#[test]
fn nothing_changes_in_a_series() {
    for (phi, n) in [(0.5, 300), (0.8, 600)] {
        alarms(share(41, |source| {
            changes(&source.series(n, phi, 10.0, 1.0))
        }));
    }
}

/// Cells of three values, and blocks measured in cells.
#[test]
fn nothing_changes_in_a_long_series() {
    alarms(share_of(3_000, 43, |source| {
        changes(&source.series(1200, 0.8, 10.0, 1.0))
    }));
}

fn with_steps(source: &mut Source, n: usize, phi: f64, steps: &[(usize, f64)]) -> Vec<f64> {
    let mut series = source.series(n, phi, 10.0, 1.0);
    for &(from, by) in steps {
        series[from..].iter_mut().for_each(|value| *value += by);
    }
    series
}

#[test]
fn steps_are_found_at_their_positions() {
    let steps = [(100, 3.0), (180, -3.0)];
    let found = share_of(500, 45, |source| {
        let series = with_steps(source, 300, 0.3, &steps);
        let found = change_points(&series, &options());
        found.len() == 2
            && found.iter().zip(steps).all(|(change, (from, by))| {
                let size = change.after_mean - change.before_mean;
                change.index.abs_diff(from) <= 5 && (size - by).abs() < 0.8
            })
    });
    assert!(found > 0.85, "finds both and no other in {found}");
}

/// A minute is enough for a plain step, although chance correlation lengthens the blocks.
#[test]
fn a_step_in_a_minute_is_found() {
    let found = share_of(1_000, 49, |source| {
        let series = with_steps(source, 60, 0.0, &[(30, -5.0)]);
        let found = change_points(&series, &ChangePoints::default());
        found.iter().any(|change| change.index.abs_diff(30) <= 1)
    });
    assert!(found > 0.95, "finds in {found}");
}

/// An hour of seconds is compared in cells of twelve, and the index is then refined.
#[test]
fn a_step_in_an_hour_is_found_to_a_few_values() {
    let found = share_of(200, 46, |source| {
        let series = with_steps(source, 3600, 0.5, &[(2000, 2.0)]);
        let found = change_points(&series, &options());
        found.iter().any(|change| change.index.abs_diff(2000) <= 12)
    });
    assert!(found > 0.9, "finds in {found}");
}

#[test]
fn a_change_of_spread_is_found() {
    let found = share_of(500, 47, |source| {
        let mut series = source.normals(120, 10.0, 1.0);
        series.extend(source.normals(120, 10.0, 4.0));
        let found = change_points(&series, &options());
        found.iter().any(|change| change.index.abs_diff(120) <= 15)
    });
    assert!(found > 0.9, "finds in {found}");
}
