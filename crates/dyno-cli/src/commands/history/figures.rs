//! The figures of the runs of a plan, with their lasting changes.

use dyno_core::figures::{MS, PER_SECOND};
use dyno_core::headline::headline_percent;
use dyno_core::reported::Better;
use dyno_core::threshold::Threshold;
use dyno_report::{FigureHistory, HistoryChange};
use dyno_stats::{LevelChanges, level_changes};

use super::groups::Run;

/// The fewest runs between two changes.
pub(super) const RUNS_A_LEVEL: usize = 3;

/// Fewer runs cannot show a change.
pub(super) const RUNS_MIN: usize = 2 * RUNS_A_LEVEL;

/// The names of costs per event, and their unit.
const COSTS: [&str; 2] = ["client CPU", "server CPU"];
const COST_UNIT: &str = "us";

/// The percentiles that a list of runs has.
const PERCENTS: [f64; 2] = [95.0, 99.0];

/// The figures that enough runs have: the rate, the percentile of headlines, those of the
/// conditions, and the costs.
pub(super) fn figures(runs: &[Run<'_>], conditions: &[Threshold]) -> Vec<FigureHistory> {
    let figure = |name: String, unit: &str, better, value: &dyn Fn(&Run<'_>) -> Option<f64>| {
        let usable = |value: &f64| value.is_finite() && *value > 0.0;
        let values: Vec<Option<f64>> = runs.iter().map(|run| value(run).filter(usable)).collect();
        FigureHistory {
            name,
            unit: unit.to_owned(),
            better,
            changes: changes(&values, runs),
            values,
        }
    };
    let rate = |run: &Run<'_>| run.line.events_per_s;
    let mut all = vec![figure("rate".to_owned(), PER_SECOND, Better::Higher, &rate)];
    for percent in percents(runs, conditions) {
        let value = |run: &Run<'_>| percentile(run, percent);
        all.push(figure(format!("p{percent}"), MS, Better::Lower, &value));
    }
    for name in COSTS {
        let value = |run: &Run<'_>| cost(run, name);
        all.push(figure(name.to_owned(), COST_UNIT, Better::Lower, &value));
    }
    all.retain(|figure| figure.values.iter().flatten().count() >= RUNS_MIN);
    all
}

/// The percentile of headlines, and those of the conditions.
fn percents(runs: &[Run<'_>], conditions: &[Threshold]) -> Vec<f64> {
    let is_known = |percent: &f64| runs.iter().any(|run| percentile(run, *percent).is_some());
    let known: Vec<f64> = PERCENTS.into_iter().filter(is_known).collect();
    let headline = headline_percent(known.iter().copied());
    let is_wanted = |percent: &f64| {
        let mut wanted = conditions.iter().filter_map(Threshold::percentile);
        headline == Some(*percent) || wanted.any(|wanted| wanted == *percent)
    };
    known.into_iter().filter(is_wanted).collect()
}

fn percentile(run: &Run<'_>, percent: f64) -> Option<f64> {
    match percent == PERCENTS[0] {
        true => run.line.p95_ms,
        false => run.line.p99_ms,
    }
}

/// A cost of an event; `None` if it includes work that is not the run's.
fn cost(run: &Run<'_>, name: &str) -> Option<f64> {
    let mut costs = run.of.costs.iter();
    let found = costs.find(|cost| cost.name == name && cost.unit == COST_UNIT)?;
    found.value.filter(|_| found.includes.is_none())
}

/// The lasting changes of a figure. Runs that lack it are skipped.
fn changes(values: &[Option<f64>], runs: &[Run<'_>]) -> Vec<HistoryChange> {
    let options = LevelChanges {
        min_segment: RUNS_A_LEVEL,
        ..LevelChanges::default()
    };
    let known = values.iter().enumerate();
    let known = known.filter_map(|(index, value)| Some((index, (*value)?)));
    let (places, series): (Vec<usize>, Vec<f64>) = known.unzip();
    let found = level_changes(&series, &options).into_iter();
    let change = found.filter_map(|change| {
        let index = *places.get(change.index)?;
        Some(HistoryChange {
            index,
            run: runs.get(index)?.line.id,
            before: change.before,
            after: change.after,
            ratio: change.ratio,
            low: change.bounds.low,
            high: change.bounds.high,
            gradual: change.gradual,
            differences: Vec::new(),
        })
    });
    change.collect()
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Cause;
    use dyno_core::record::Cost;
    use dyno_results::PlanAndCosts;

    use super::super::groups::tests::{line, runs};
    use super::*;

    fn of(value: f64, includes: Option<Cause>) -> PlanAndCosts {
        PlanAndCosts {
            plan: String::new(),
            costs: vec![Cost {
                name: "server CPU".to_owned(),
                value: Some(value),
                unit: "us".to_owned(),
                source: String::new(),
                left_out: false,
                includes,
            }],
        }
    }

    #[test]
    fn a_change_is_at_the_first_run_that_has_the_figure() {
        let mut lines: Vec<_> = (1..=20).map(|id| line(id, 1, "11.4.2", &[])).collect();
        for (at, line) in lines.iter_mut().enumerate() {
            let noise = 1.0 + 0.001 * (at % 3) as f64;
            let level = if at < 12 { 1_000.0 } else { 900.0 };
            line.events_per_s = Some(level * noise).filter(|_| at % 5 != 2);
            line.p95_ms = None;
        }
        let of = of(100.0, None);
        let found = figures(&runs(&lines, &of), &[]);
        let names: Vec<&str> = found.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["rate", "p99", "server CPU"]);
        // The runs with the indices 2, 7, 12 and 17 have no rate.
        assert_eq!(found[0].values.iter().flatten().count(), 16);
        assert_eq!(found[0].changes.len(), 1);
        let change = &found[0].changes[0];
        assert_eq!((change.index, change.run), (13, 14));
        assert!((change.ratio - 0.9).abs() < 0.002, "{change:?}");
        assert!(change.low < change.ratio && change.ratio < change.high);
        assert!(found[1..].iter().all(|figure| figure.changes.is_empty()));
    }

    #[test]
    fn conditions_add_their_percentile_and_costs_of_others_do_not_count() {
        let lines: Vec<_> = (1..=6).map(|id| line(id, 1, "11.4.2", &[])).collect();
        let of = of(100.0, Some(Cause::OtherClients));
        let names = |conditions: &[&str]| -> Vec<String> {
            let conditions: Vec<Threshold> = conditions
                .iter()
                .map(|text| text.parse().unwrap())
                .collect();
            let found = figures(&runs(&lines, &of), &conditions);
            found.into_iter().map(|figure| figure.name).collect()
        };
        assert_eq!(names(&[]), ["rate", "p95"]);
        assert_eq!(names(&["p99 > 1.1x"]), ["rate", "p95", "p99"]);
        assert_eq!(names(&["p50 > 1.1x"]), ["rate", "p95"]);
        let few = figures(&runs(&lines[..5], &of), &[]);
        assert!(few.is_empty());
    }
}
