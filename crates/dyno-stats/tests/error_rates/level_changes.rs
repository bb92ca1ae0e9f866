use dyno_stats::{LevelChange, LevelChanges, level_changes};

use crate::simulate::{Source, share_of};

/// Runs of a level of 1000 with this deviation, multiplied by the factors from their index on.
fn runs(source: &mut Source, n: usize, deviation: f64, steps: &[(usize, f64)]) -> Vec<f64> {
    let mut series: Vec<f64> = source
        .normals(n, 0.0, deviation)
        .into_iter()
        .map(|log| 1000.0 * log.exp())
        .collect();
    for &(from, factor) in steps {
        series[from..].iter_mut().for_each(|value| *value *= factor);
    }
    series
}

fn changes(series: &[f64]) -> Vec<LevelChange> {
    level_changes(series, &LevelChanges::default())
}

/// The corrections are bounds, so fewer series than nominal have a false alarm.
#[test]
fn noise_has_no_change() {
    for (n, significance) in [(100, 0.05), (30, 0.05), (8, 0.05), (100, 0.01)] {
        let options = LevelChanges {
            significance,
            min_change: 0.0,
            ..LevelChanges::default()
        };
        let alarms = share_of(1_000, 60, |source| {
            !level_changes(&runs(source, n, 0.02, &[]), &options).is_empty()
        });
        let most = significance + 0.015;
        assert!(alarms <= most, "{n} runs: alarms in {alarms}");
    }
}

/// Outliers of 20 % in 1 of 10 runs raise no alarm either.
#[test]
fn noise_with_outliers_has_no_change() {
    let alarms = share_of(500, 61, |source| {
        let mut series = runs(source, 100, 0.02, &[]);
        for value in series.iter_mut().skip(5).step_by(10) {
            *value *= 0.8;
        }
        !changes(&series).is_empty()
    });
    assert!(alarms <= 0.05, "alarms in {alarms}");
}

#[test]
fn a_step_is_found_at_its_run() {
    let mut found = 0;
    let exact = share_of(500, 62, |source| {
        let change = changes(&runs(source, 100, 0.02, &[(60, 0.95)]));
        let near = |change: &LevelChange| change.index.abs_diff(60) <= 5;
        found += usize::from(change.iter().any(near));
        let exact = |change: &LevelChange| change.index.abs_diff(60) <= 1;
        change.len() == 1 && change.iter().any(exact)
    });
    assert!(found >= 490, "finds {found} of 500");
    assert!(exact > 0.85, "finds within one run in {exact}");
}

/// An outlier between two levels is in neither of them.
#[test]
fn a_step_after_an_outlier_is_found_at_its_run() {
    for outlier in [1_400.0, 400.0] {
        let exact = share_of(300, 69, |source| {
            let mut series = runs(source, 20, 0.02, &[(10, 0.8)]);
            series.insert(10, outlier);
            let found = changes(&series);
            found.len() == 1 && found[0].index == 11
        });
        assert!(exact > 0.95, "{outlier}: finds in {exact}");
    }
}

#[test]
fn the_interval_covers_the_change() {
    let covers = share_of(500, 63, |source| {
        let series = runs(source, 60, 0.02, &[(30, 0.9)]);
        let found = changes(&series);
        found.iter().any(|change| change.bounds.contains(0.9))
    });
    // The place is chosen from the same data, and a few series have a second change.
    assert!(covers > 0.88, "covers in {covers}");
}

/// A long window mixes a temporary change with the runs around it.
#[test]
fn a_change_and_its_end_are_found() {
    let steps = [(40, 0.93), (60, 1.0 / 0.93)];
    let found = share_of(300, 64, |source| {
        let found = changes(&runs(source, 100, 0.02, &steps));
        let mut pairs = found.iter().zip(steps);
        found.len() == 2
            && pairs.all(|(change, (from, factor))| {
                change.index.abs_diff(from) <= 2 && (change.ratio / factor - 1.0).abs() < 0.03
            })
    });
    assert!(found > 0.85, "finds both and no other in {found}");
}

#[test]
fn two_steps_down_are_found() {
    let steps = [(30, 0.94), (70, 0.94)];
    let found = share_of(300, 65, |source| {
        let found = changes(&runs(source, 100, 0.02, &steps));
        let mut pairs = found.iter().zip(steps);
        found.len() == 2 && pairs.all(|(change, (from, _))| change.index.abs_diff(from) <= 2)
    });
    assert!(found > 0.85, "finds both and no other in {found}");
}

#[test]
fn a_drift_is_gradual_and_a_step_is_not() {
    let gradual = |change: &LevelChange| change.gradual;
    let drifts = share_of(200, 66, |source| {
        let series = runs(source, 100, 0.02, &[]).into_iter().enumerate();
        let series: Vec<f64> = series
            .map(|(at, value)| value * (1.0 - 0.002 * at as f64))
            .collect();
        let found = changes(&series);
        found.iter().any(gradual) && found.iter().all(|change| change.ratio < 1.0)
    });
    assert!(drifts > 0.9, "finds in {drifts}");
    let steps = share_of(200, 67, |source| {
        let found = changes(&runs(source, 100, 0.02, &[(50, 0.9)]));
        found.iter().any(gradual)
    });
    assert!(steps < 0.05, "gradual in {steps}");
}

#[test]
fn ten_thousand_runs_have_each_of_their_changes() {
    let mut source = Source::new(68);
    let steps: Vec<(usize, f64)> = (1..20)
        .map(|step| (500 * step, if step % 2 == 0 { 1.0 / 0.95 } else { 0.95 }))
        .collect();
    let series = runs(&mut source, 10_000, 0.02, &steps);
    let found = changes(&series);
    assert_eq!(
        found,
        changes(&series),
        "the same series has the same changes"
    );
    for (from, _) in &steps {
        let near = |change: &&LevelChange| change.index.abs_diff(*from) <= 6;
        assert_eq!(found.iter().filter(near).count(), 1, "{from}");
    }
    assert!(found.len() <= steps.len() + 1, "{} changes", found.len());
}
