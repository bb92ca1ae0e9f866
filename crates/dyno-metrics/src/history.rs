//! A recorded run as metrics with timestamps.

use std::collections::BTreeMap;

use dyno_core::interval::Counters;
use dyno_core::record::{Operation, RunRecord, Span};
use dyno_core::states::SessionState;
use dyno_core::summary::IntervalSummary;
use dyno_core::unknown::{self, Of};

use crate::buckets::Distribution;
use crate::family::{Family, Label, Sample, Value};
use crate::figures::{
    BACKLOG, CONCURRENCY, DURATION, ERRORS, EVENTS, Figures, INFO, MEASURED, Metric, NOT_DONE,
    OFFERED, RECEIVED, RECONNECTS, RESPONSE, RETRIES, ROWS, SENT, SERVICE, SESSIONS, STATEMENTS,
};
use crate::names::{EVENT, OPERATION, Observed, RUN, label};

/// All metrics that the record of a run contains, at the end of each of its intervals. Histograms
/// come as often as they were recorded. Errors are not broken down by code. `None` if the start
/// time of the run is unknown.
pub fn families(run: &RunRecord) -> Option<Vec<Family>> {
    let summary = run.summary.as_ref();
    let started_unix_s = summary.and_then(|summary| summary.started_unix_s)?;
    let history = History {
        run,
        started_unix_s,
        figures: Figures::new(&run.head),
    };
    let mut families = history.of_intervals();
    families.extend(history.of_operations());
    families.extend(history.observed());
    let name = label(RUN, run.head.name.clone());
    for sample in families.iter_mut().flat_map(|family| &mut family.samples) {
        sample.labels.insert(0, name.clone());
    }
    families.retain(|family| !family.samples.is_empty());
    Some(families)
}

struct History<'a> {
    run: &'a RunRecord,
    started_unix_s: f64,
    figures: Figures,
}

/// Cumulative values at the end of an interval.
struct After<'a> {
    at_unix_s: f64,
    interval: &'a IntervalSummary,
    sums: Counters,
    errors: u64,
    measured_s: f64,
}

/// Returns the values of one metric with their labels.
type Values = fn(&After<'_>) -> Vec<(Vec<Label>, f64)>;

/// Metrics of every run.
const OF_ALL: [(Metric, Values); 11] = [
    (EVENTS, |after| plain(after.sums.events)),
    (NOT_DONE, |after| plain(after.sums.not_done)),
    (STATEMENTS, |after| {
        let kinds = [
            ("read", after.sums.reads),
            ("write", after.sums.writes),
            ("other", after.sums.other),
        ];
        kinds
            .map(|(kind, count)| (vec![label("kind", kind)], count as f64))
            .into()
    }),
    (ROWS, |after| plain(after.sums.rows)),
    (RECEIVED, |after| plain(after.sums.bytes_in)),
    (SENT, |after| plain(after.sums.bytes_out)),
    (ERRORS, |after| plain(after.errors)),
    (RECONNECTS, |after| plain(after.sums.reconnects)),
    (RETRIES, |after| plain(after.sums.retries)),
    (MEASURED, |after| vec![(Vec::new(), after.measured_s)]),
    (SESSIONS, |after| match after.interval.states {
        Some(states) => SessionState::ALL
            .map(|state| {
                (
                    vec![label("state", state.word())],
                    f64::from(states.of(state)),
                )
            })
            .into(),
        None => Vec::new(),
    }),
];

/// Counters that an imported log may lack, with their metrics.
const COUNTERS: [(&str, Metric); 7] = [
    ("other", STATEMENTS),
    ("rows", ROWS),
    ("bytes_in", RECEIVED),
    ("bytes_out", SENT),
    ("errors_seen", ERRORS),
    ("reconnects", RECONNECTS),
    ("retries", RETRIES),
];

/// Metrics of an open loop.
const OF_OPEN: [(Metric, Values); 2] = [
    (BACKLOG, |after| known(after.interval.backlog)),
    (CONCURRENCY, |after| {
        known(after.interval.concurrency.map(u64::from))
    }),
];

/// A sample, or none if the count is unknown.
fn known(count: Option<u64>) -> Vec<(Vec<Label>, f64)> {
    count.map(plain).unwrap_or_default()
}

fn plain(count: u64) -> Vec<(Vec<Label>, f64)> {
    vec![(Vec::new(), count as f64)]
}

impl History<'_> {
    fn of_intervals(&self) -> Vec<Family> {
        let mut sums = Counters::default();
        let (mut errors, mut measured_s) = (0, 0.0);
        let afters: Vec<After<'_>> = self
            .run
            .intervals
            .iter()
            .filter(|interval| interval.at_s > 0.0)
            .map(|interval| {
                sums.merge(&interval.counters);
                errors += interval.errors_seen;
                measured_s += interval.length_s;
                After {
                    at_unix_s: self.started_unix_s + interval.at_s,
                    interval,
                    sums,
                    errors,
                    measured_s,
                }
            })
            .collect();
        let open = self.figures.is_open();
        let of_open = OF_OPEN.iter().filter(|_| open);
        let unknown = unknown::counters(&self.run.not_observed, Of::Intervals);
        let is_known = |(metric, _): &&(Metric, Values)| {
            let counters = COUNTERS.iter().filter(|(_, own)| own.name == metric.name);
            !counters.into_iter().any(|(name, _)| unknown.contains(name))
        };
        let mut families: Vec<Family> = OF_ALL
            .iter()
            .chain(of_open)
            .filter(is_known)
            .map(|(metric, values)| metric.family(samples_of(&afters, values)))
            .collect();
        let at = |at_unix_s: f64, labels: Vec<Label>, value: f64| Sample {
            at_unix_s: Some(at_unix_s),
            ..Sample::number(labels, value)
        };
        let info = afters
            .iter()
            .map(|after| at(after.at_unix_s, self.figures.info(), 1.0));
        families.push(INFO.family(info.collect()));
        let offered = afters.iter().filter_map(|after| {
            let rate = self.figures.offered_at(after.interval.at_s)?;
            Some(at(after.at_unix_s, Vec::new(), rate))
        });
        families.push(OFFERED.family(offered.collect()));
        families
    }

    fn of_operations(&self) -> Vec<Family> {
        let operations = &self.run.operations;
        let open = self.figures.is_open();
        let each = |of: fn(&Span) -> Distribution, metric: Metric| {
            let samples = operations.iter().flat_map(|operation| {
                let labels = vec![label(OPERATION, operation.name.clone())];
                self.cumulative(operation, of, labels)
            });
            metric.family(samples.collect())
        };
        let mut families = vec![each(service, SERVICE)];
        if open {
            families.push(each(response, RESPONSE));
        }
        let target = self.figures.target();
        if !target.is_empty() {
            let is_event = |operation: &&Operation| operation.name == EVENT;
            let named = operations
                .iter()
                .filter(|one| operations.len() == 1 || !is_event(one));
            let samples = named.flat_map(|operation| {
                let mut labels = target.clone();
                labels.push(label("db.operation.name", operation.name.clone()));
                self.cumulative(operation, service, labels)
            });
            families.push(DURATION.family(samples.collect()));
        }
        families
    }

    /// An operation's cumulative histogram at the end of each of its spans.
    fn cumulative(
        &self,
        operation: &Operation,
        of: fn(&Span) -> Distribution,
        labels: Vec<Label>,
    ) -> Vec<Sample> {
        let mut sum = Distribution::default();
        let after = |span: &Span| {
            sum.add_classic(&of(span));
            Sample {
                labels: labels.clone(),
                at_unix_s: Some(self.started_unix_s + span.to_s),
                value: Value::Distribution(Box::new(sum.clone())),
            }
        };
        let measured = operation.spans.iter().filter(|span| span.to_s > 0.0);
        measured.map(after).collect()
    }

    fn observed(&self) -> Vec<Family> {
        let mut families: BTreeMap<(String, &'static str), Family> = BTreeMap::new();
        for series in &self.run.series {
            let observed = Observed::new(&series.key);
            let key = (observed.name.clone(), observed.unit.word());
            let family = families.entry(key).or_insert_with(|| observed.family());
            let sample = |(at_s, value): &(f64, f64)| Sample {
                labels: observed.labels.clone(),
                at_unix_s: Some(self.started_unix_s + at_s),
                value: Value::Number(value * observed.factor),
            };
            family.samples.extend(series.points.iter().map(sample));
        }
        families.into_values().collect()
    }
}

/// The values at the end of each interval, grouped by labels, as OpenMetrics requires.
fn samples_of(afters: &[After<'_>], values: &Values) -> Vec<Sample> {
    let mut by_labels: Vec<(Vec<Label>, Vec<Sample>)> = Vec::new();
    for after in afters {
        for (labels, value) in values(after) {
            let sample = Sample {
                labels: labels.clone(),
                at_unix_s: Some(after.at_unix_s),
                value: Value::Number(value),
            };
            match by_labels.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, samples)) => samples.push(sample),
                None => by_labels.push((labels, vec![sample])),
            }
        }
    }
    by_labels
        .into_iter()
        .flat_map(|(_, samples)| samples)
        .collect()
}

fn service(span: &Span) -> Distribution {
    let extremes = (span.service_ns_min, span.service_ns_max);
    Distribution::new(&span.service, span.service_ns_sum, extremes)
}

/// Response times. The record does not have their exact sum.
fn response(span: &Span) -> Distribution {
    let sum_ns = span.response.mean() * span.response.len() as f64;
    let extremes = (span.response.min(), span.response.max());
    Distribution::new(&span.response, sum_ns as u64, extremes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::record::{RunHead, Source};
    use dyno_samples::values;

    fn imported(unknown: &[&str]) -> RunRecord {
        let head = RunHead {
            source: Source::Pgbench,
            drive: None,
            ..values::head("imported")
        };
        RunRecord {
            summary: Some(values::summary(&head, 1.0, Counters::default())),
            not_observed: unknown.iter().map(|what| values::gap(what, "")).collect(),
            intervals: vec![values::interval(1.0, 0)],
            ..RunRecord::new(head)
        }
    }

    #[test]
    fn counters_that_a_log_lacks_have_no_metric() {
        let has = |unknown: &[&str], metric: Metric| {
            let families = families(&imported(unknown)).unwrap();
            families.iter().any(|family| family.name == metric.name)
        };
        assert!(has(&[], STATEMENTS) && has(&[], ERRORS));
        let unknown = ["counters.queries", "intervals.errors"];
        assert!(!has(&unknown, STATEMENTS) && !has(&unknown, ERRORS));
        assert!(has(&unknown, EVENTS) && has(&unknown, ROWS));
    }

    #[test]
    fn each_counter_that_may_be_unknown_has_its_metric() {
        for (name, metric) in COUNTERS {
            assert!(Counters::NAMES.contains(&name) || name == "errors_seen");
            assert!(OF_ALL.iter().any(|(own, _)| own.name == metric.name));
        }
    }
}
