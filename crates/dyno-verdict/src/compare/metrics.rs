//! The compared metrics, each side's estimates, and their ratios.

mod figures;
mod host;
mod latencies;

use dyno_analysis::bins;
use dyno_core::interval::Counters;
use dyno_core::record::{Cost, RunRecord};
use dyno_core::unknown::{self, Of};

use crate::compare::equivalence::{amount, test};
use crate::compare::estimate::{Estimate, Ratio, Within, ratio};
use crate::compare::{Amount, Basis, Better, CompareOptions, Metric, MetricKind};
use crate::costs::{CLIENT_CPU, READ, SERVER_CPU, Summed, WRITTEN, costs};
use crate::view::{Bin, View};

/// The share of an open loop's events not answered within the latency limit.
pub(super) const LATE: &str = "late events";
/// Events of an open loop that were due but not begun at the end.
pub(super) const BACKLOG: &str = "backlog at the end";

struct Row {
    name: String,
    kind: MetricKind,
    unit: String,
    better: Better,
    base: Option<Estimate>,
    new: Option<Estimate>,
    remark: String,
}

pub(super) fn metrics(
    base: &[View],
    new: &[View],
    basis: Basis,
    options: &CompareOptions,
) -> Vec<Metric> {
    let known = |counter| knows(base, counter, Of::Run) && knows(new, counter, Of::Run);
    let mut rows = vec![
        rate_row("events", base, new, Counted::Events),
        median_row(base, new),
    ];
    // Statements of all kinds.
    if known("other") {
        rows.push(rate_row("statements", base, new, Counted::Statements));
    }
    rows.extend(latencies::rows(base, new));
    rows.extend(latencies::of_open_loops(base, new));
    let mut all = base.iter().chain(new);
    let has_attempts = all.all(|view| unknown::has_length(&view.run.not_observed));
    if known("errors") && has_attempts {
        rows.push(errors_row(base, new));
    }
    rows.extend(figures::rows(base, new));
    rows.extend(COSTS.iter().map(|cost| cost_row(cost, base, new)));
    rows.extend(host::rows(base, new));
    let amount = amount(base, new, basis);
    let mut metrics: Vec<Metric> = rows
        .into_iter()
        .map(|row| compared(row, (basis, amount), options))
        .collect();
    mark(&mut metrics, base, new);
    decide(&mut metrics, options);
    metrics
}

/// Marks the costs that include other work than that of the runs.
fn mark(metrics: &mut [Metric], base: &[View], new: &[View]) {
    let marked = |views: &[View]| -> Vec<Cost> {
        let all = views.iter().flat_map(|view| costs(view.run));
        all.filter(|cost| cost.includes.is_some()).collect()
    };
    let (base, new) = (marked(base), marked(new));
    let find = |all: &[Cost], name: &str| all.iter().find(|cost| cost.name == name)?.includes;
    for metric in metrics {
        metric.base_includes = find(&base, &metric.name).filter(|_| metric.base.is_some());
        metric.new_includes = find(&new, &metric.name).filter(|_| metric.new.is_some());
    }
}

/// Whether all runs of a side have a counter, which an imported log may lack.
fn knows(views: &[View], counter: &str, of: Of) -> bool {
    let unknown = |view: &View| unknown::counters(&view.run.not_observed, of).contains(&counter);
    !views.iter().any(unknown)
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Events,
    Statements,
}

impl Counted {
    fn within(self, bin: &Bin) -> f64 {
        match self {
            Self::Events => bin.events,
            Self::Statements => bin.statements,
        }
    }

    /// Whether the run's seconds include it.
    fn in_seconds(self, view: &View) -> bool {
        match self {
            Self::Events => true,
            Self::Statements => knows(std::slice::from_ref(view), "other", Of::Intervals),
        }
    }

    fn among(self, counters: &Counters) -> u64 {
        match self {
            Self::Events => counters.events,
            Self::Statements => counters.queries(),
        }
    }

    /// The rate from a log's own total, which may include events outside whole seconds.
    fn of_log(self, view: &View) -> Option<f64> {
        let rates = view.summary().filter(|_| view.imported())?.rates;
        let per_s = match self {
            Self::Events => Some(rates.events_per_s),
            Self::Statements => rates.queries_per_s,
        };
        per_s.filter(|per_s| per_s.is_finite() && *per_s > 0.0)
    }
}

/// The share of a run that whole seconds must cover, or else their mean is not the run's rate.
const COVERED_MIN: f64 = 0.95;

/// The rate over all whole seconds of all runs; of logs, over their whole length.
pub(super) fn pooled_rate(views: &[View], of: Counted) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for view in views {
        let (_, covered_s) = view.covered();
        let covers = covered_s > 0.0 && covered_s >= COVERED_MIN * view.length_s;
        if let Some(per_s) = of.of_log(view) {
            sum += per_s * view.length_s;
            seconds += view.length_s;
        } else if covers && of.in_seconds(view) {
            sum += view.bins.iter().map(|bin| of.within(bin)).sum::<f64>();
            seconds += covered_s;
        } else if view.length_s > 0.0 {
            sum += of.among(&view.totals()) as f64;
            seconds += view.length_s;
        }
    }
    (seconds > 0.0).then(|| sum / seconds)
}

fn rate_row(name: &str, base: &[View], new: &[View], of: Counted) -> Row {
    let estimate = |views: &[View]| {
        let seconds = |bin: &Bin| of.within(bin) / bin.length_s;
        Some(Estimate {
            value: pooled_rate(views, of)?,
            runs: views
                .iter()
                .filter_map(|view| pooled_rate(std::slice::from_ref(view), of))
                .collect(),
            within: match views.iter().all(|view| of.in_seconds(view)) {
                true => series(views.iter().flat_map(|view| view.bins.iter().map(seconds))),
                false => Within::Nothing,
            },
        })
    };
    Row {
        name: name.to_owned(),
        kind: MetricKind::Usual,
        unit: "per second".to_owned(),
        better: Better::Higher,
        base: estimate(base),
        new: estimate(new),
        remark: String::new(),
    }
}

/// Events per second of each second of these runs; empty if a run has only longer intervals.
pub(super) fn seconds(views: &[View]) -> Vec<f64> {
    let longer = |view: &View| !view.bins.is_empty() && bins::seconds(&view.bins).is_empty();
    let views = views.iter().filter(|_| !views.iter().any(longer));
    views.flat_map(|view| bins::seconds(&view.bins)).collect()
}

/// The median second next to the mean: it is not affected by stalls.
fn median_row(base: &[View], new: &[View]) -> Row {
    let estimate = |views: &[View]| {
        let rates = seconds(views);
        let value = dyno_stats::median(&rates)?;
        let own = |view: &View| dyno_stats::median(&seconds(std::slice::from_ref(view)));
        Some(Estimate {
            value,
            runs: views.iter().filter_map(own).collect(),
            within: Within::Median(rates),
        })
    };
    let (base, new) = (estimate(base), estimate(new));
    let remark = match base.is_some() && new.is_some() {
        true => "the median does not see stalls",
        false => "needs intervals of one second",
    };
    Row {
        name: "events, median second".to_owned(),
        kind: MetricKind::MedianSecond,
        unit: "per second".to_owned(),
        better: Better::Higher,
        base,
        new,
        remark: remark.to_owned(),
    }
}

fn errors_row(base: &[View], new: &[View]) -> Row {
    let estimate = |views: &[View]| {
        let share = |view: &View, counters: &Counters| {
            let all = view.attempts(counters, counters.errors);
            // An event may have several errors.
            (all > 0).then(|| (counters.errors as f64 / all as f64 * 100.0).min(100.0))
        };
        let mut sums = Counters::default();
        for view in views {
            sums.merge(&view.totals());
        }
        Some(Estimate {
            value: share(views.first()?, &sums)?,
            runs: views
                .iter()
                .filter_map(|view| share(view, &view.totals()))
                .collect(),
            // A second without attempts has no error rate.
            within: match knows(views, "errors", Of::Intervals) {
                true => series(views.iter().flat_map(|view| {
                    let bins = view.bins.iter();
                    bins.filter_map(|bin| share(view, &bin.counters))
                })),
                false => Within::Nothing,
            },
        })
    };
    Row {
        name: "errors".to_owned(),
        kind: MetricKind::Usual,
        unit: "per 100 attempts".to_owned(),
        better: Better::Lower,
        base: estimate(base),
        new: estimate(new),
        remark: String::new(),
    }
}

/// The compared costs, with their units.
const COSTS: [(Summed, &str); 4] = [
    (SERVER_CPU, "us per event"),
    (CLIENT_CPU, "us per event"),
    (READ, "KB per event"),
    (WRITTEN, "KB per event"),
];

fn cost_row((cost, unit): &(Summed, &str), base: &[View], new: &[View]) -> Row {
    let estimate = |views: &[View]| {
        let runs: Vec<f64> = views
            .iter()
            .filter_map(|view| stated_cost(view.run, cost.name))
            .collect();
        // A side with an unobserved run is incomplete.
        if runs.len() != views.len() {
            return None;
        }
        let within = cost_series(views, cost.series, 1.0 / cost.unit_size);
        weighted(runs, views.iter().map(events), within)
    };
    let (base, new) = (estimate(base), estimate(new));
    let missing = base.is_none() || new.is_none();
    Row {
        name: cost.name.to_owned(),
        kind: MetricKind::Usual,
        unit: (*unit).to_owned(),
        better: Better::Lower,
        remark: match missing {
            true => "not observed in every run".to_owned(),
            false => String::new(),
        },
        base,
        new,
    }
}

fn events(view: &View) -> f64 {
    view.totals().events as f64
}

/// The mean of a figure of each run, by the runs' weights.
fn weighted(
    runs: Vec<f64>,
    weights: impl Iterator<Item = f64>,
    within: Within,
) -> Option<Estimate> {
    let first = *runs.first()?;
    let (sum, all) = (runs.iter().zip(weights)).fold((0.0, 0.0), |(sum, all), (value, weight)| {
        (sum + value * weight, all + weight)
    });
    Some(Estimate {
        value: if all > 0.0 { sum / all } else { first },
        runs,
        within,
    })
}

fn stated_cost(run: &RunRecord, name: &str) -> Option<f64> {
    costs(run).into_iter().find(|cost| cost.name == name)?.value
}

/// A ratio of two sums over time as a series with that ratio as its mean: r + (cost − r·events) /
/// mean events (linearisation, see Cochran, "Sampling Techniques", on the ratio estimator).
fn cost_series(views: &[View], names: &[&str], worth: f64) -> Within {
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for view in views {
        let mut sums = vec![0.0; view.bins.len()];
        for name in names {
            let points = view.points(name);
            for (sum, bin) in sums.iter_mut().zip(&view.bins) {
                // The sample nearest to the end of the second covers most of it.
                let nearest = points
                    .iter()
                    .min_by(|one, other| {
                        (one.0 - bin.at_s)
                            .abs()
                            .total_cmp(&(other.0 - bin.at_s).abs())
                    })
                    .filter(|(at, _)| (at - bin.at_s).abs() <= bin.length_s);
                *sum += nearest.map_or(f64::NAN, |(_, value)| *value);
            }
        }
        let rates = view.bins.iter().map(Bin::events_per_s);
        pairs.extend(
            sums.into_iter()
                .zip(rates)
                .filter(|(sum, _)| sum.is_finite()),
        );
    }
    let costs: f64 = pairs.iter().map(|(cost, _)| cost).sum();
    let events: f64 = pairs.iter().map(|(_, events)| events).sum();
    if events <= 0.0 {
        return Within::Nothing;
    }
    let (ratio, mean) = (costs / events, events / pairs.len() as f64);
    series(
        pairs
            .iter()
            .map(|(cost, events)| (ratio + (cost - ratio * events) / mean) * worth),
    )
}

pub(super) fn series(values: impl Iterator<Item = f64>) -> Within {
    let values: Vec<f64> = values.collect();
    match values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        true => Within::Nothing,
        false => Within::Series(values),
    }
}

fn compared(row: Row, (basis, amount): (Basis, Amount), options: &CompareOptions) -> Metric {
    let (base, new) = (row.base.as_ref(), row.new.as_ref());
    let value =
        |estimate: Option<&Estimate>| estimate.map(|e| e.value).filter(|value| value.is_finite());
    let (base_value, new_value) = (value(base), value(new));
    let shown = base_value
        .zip(new_value)
        .filter(|(base, _)| *base != 0.0)
        .map(|(base, new)| new / base);
    let found = match base.zip(new) {
        Some((base, new)) => ratio(base, new, basis, options.confidence),
        None => Ratio::default(),
    };
    let bounds = found.bounds.filter(|_| shown.is_some());
    let equivalence = base.zip(new).zip(shown.zip(bounds));
    let equivalence =
        equivalence.and_then(|(sides, found)| test(sides, found, (basis, amount), options));
    let mut remark = row.remark;
    if remark.is_empty() && shown.is_some() && bounds.is_none() {
        remark = "too few data for an interval".to_owned();
    }
    if remark.is_empty() && base_value == Some(0.0) && new_value.is_some_and(|new| new > 0.0) {
        remark = "none on the base side, so there is no ratio".to_owned();
    }
    if bounds.is_some_and(|bounds| bounds.high == f64::INFINITY) {
        let also = if remark.is_empty() { "" } else { "; " };
        remark = format!("{remark}{also}the base may be 0, so the ratio has no upper bound");
    }
    Metric {
        penalty: shown
            .filter(|_| row.better == Better::Higher)
            .map(|ratio| 1.0 - ratio),
        name: row.name,
        kind: row.kind,
        unit: row.unit,
        better: row.better,
        base: base_value,
        new: new_value,
        ratio: shown,
        low: bounds
            .map(|bounds| bounds.low)
            .filter(|low| low.is_finite()),
        high: bounds
            .map(|bounds| bounds.high)
            .filter(|high| high.is_finite()),
        p: found.p.filter(|p| p.is_finite()),
        p_corrected: None,
        significant: false,
        equivalence,
        remark,
        base_includes: None,
        new_includes: None,
    }
}

/// Corrects for the number of metrics, and decides which differences are significant.
fn decide(metrics: &mut [Metric], options: &CompareOptions) {
    let tested: Vec<f64> = metrics.iter().filter_map(|metric| metric.p).collect();
    let mut corrected = dyno_stats::multiple::holm(&tested).into_iter();
    // Two equal runs differ by root two deviations, and by twice as much in one case of twenty.
    let room = options.run_to_run.map_or(0.0, |known| {
        2.0 * std::f64::consts::SQRT_2 * known.deviation
    });
    for metric in metrics {
        if metric.p.is_none() {
            continue;
        }
        metric.p_corrected = corrected.next();
        let small = metric.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < room);
        let sure = metric
            .p_corrected
            .is_some_and(|p| p < 1.0 - options.confidence);
        metric.significant = sure && !small;
        if sure && small {
            metric.remark = "smaller than the run-to-run variation on this host".to_owned();
        }
        // The interval is that of one figure alone, the p-value allows for all of them.
        let excludes =
            metric.low.is_some_and(|low| low > 1.0) || metric.high.is_some_and(|high| high < 1.0);
        if excludes && !sure && metric.remark.is_empty() {
            metric.remark = "not significant after correcting for all figures".to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_disagrees_with_its_p_value_is_explained() {
        let metric = |p: f64, (low, high): (f64, f64)| Metric {
            name: "events".to_owned(),
            kind: MetricKind::Usual,
            unit: "per second".to_owned(),
            better: Better::Higher,
            base: Some(1.0),
            new: Some(1.1),
            ratio: Some(1.1),
            low: Some(low),
            high: Some(high),
            penalty: None,
            p: Some(p),
            p_corrected: None,
            significant: false,
            equivalence: None,
            remark: String::new(),
            base_includes: None,
            new_includes: None,
        };
        let mut metrics = [
            metric(1e-6, (1.05, 1.15)),
            metric(0.03, (1.01, 1.20)),
            metric(0.02, (0.80, 0.99)),
            metric(0.5, (0.90, 1.30)),
        ];
        decide(&mut metrics, &CompareOptions::default());
        let found = metrics.map(|metric| (metric.significant, metric.remark));
        let explained = (
            false,
            "not significant after correcting for all figures".to_owned(),
        );
        let nothing = String::new;
        assert_eq!(
            found,
            [
                (true, nothing()),
                explained.clone(),
                explained,
                (false, nothing())
            ]
        );
    }
}
