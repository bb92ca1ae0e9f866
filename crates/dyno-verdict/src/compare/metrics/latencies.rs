//! Latencies of both sides: percentiles from merged distributions, never averaged.

use dyno_core::record::{Operation, Span};
use hdrhistogram::Histogram;

use super::{BACKLOG, LATE, Row, series};
use crate::compare::estimate::{Estimate, Within};
use crate::compare::{Better, MetricKind};
use crate::view::View;

const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];
/// A percentile needs this many latencies on either side of it, as in each run's own summary.
const BEYOND: f64 = 5.0;

pub(super) fn rows(base: &[View], new: &[View]) -> Vec<Row> {
    let kind = match base.first().is_some_and(View::open_loop) {
        true => "response time",
        false => "latency",
    };
    let mut rows = vec![row(
        format!("{kind}, mean"),
        mean(base),
        mean(new),
        String::new(),
    )];
    let known = |views: &[View]| views.iter().all(|view| distribution(view).is_some());
    for percent in PERCENTS {
        let name = format!("{kind}, p{percent}");
        if known(base) && known(new) {
            rows.push(row(
                name,
                percentile(base, percent),
                percentile(new, percent),
                String::new(),
            ));
        } else {
            let (kind, remark) = match base.len().max(new.len()) > 1 {
                true => (
                    MetricKind::Unmerged,
                    "not every run has its whole distribution, and percentiles are never averaged",
                ),
                false => (
                    MetricKind::Usual,
                    "as printed: without the whole distribution there is no interval",
                ),
            };
            let printed = row(
                name,
                printed(base, percent),
                printed(new, percent),
                remark.to_owned(),
            );
            rows.push(Row { kind, ..printed });
        }
    }
    let longest = row(
        format!("{kind}, maximum"),
        maximum(base),
        maximum(new),
        "a maximum is one event, which has no interval".to_owned(),
    );
    rows.push(Row {
        kind: MetricKind::Maximum,
        ..longest
    });
    rows
}

/// For open loops: late events by the same limit, and the backlog at the end.
pub(super) fn of_open_loops(base: &[View], new: &[View]) -> Vec<Row> {
    if !base.iter().chain(new).all(View::open_loop) {
        return Vec::new();
    }
    let limits = base.iter().chain(new).map(|view| {
        let limit = view.summary()?.latency_limit?;
        Some(limit.limit_ms)
    });
    let limits: Option<Vec<f64>> = limits.collect();
    let same = limits.is_some_and(|all| all.windows(2).all(|two| two[0] == two[1]));
    let mut rows = Vec::new();
    let mut add = |name: &str, unit: &str, of: &dyn Fn(&View) -> Option<f64>| {
        rows.push(Row {
            name: name.to_owned(),
            kind: MetricKind::OncePerRun,
            unit: unit.to_owned(),
            better: Better::Lower,
            base: mean_of_runs(base, of),
            new: mean_of_runs(new, of),
            remark: "one figure per run, so there is no interval within runs".to_owned(),
        });
    };
    if same {
        add(LATE, "per 100 due", &|view| {
            Some(view.summary()?.late_share()? * 100.0)
        });
    }
    add(BACKLOG, "events", &|view| {
        Some(view.summary()?.open_loop.as_ref()?.backlog? as f64)
    });
    rows
}

/// The mean of a figure with one value per run; `None` if a run lacks it.
fn mean_of_runs(views: &[View], of: &dyn Fn(&View) -> Option<f64>) -> Option<Estimate> {
    let runs: Vec<f64> = views.iter().map(of).collect::<Option<_>>()?;
    Some(Estimate {
        value: dyno_stats::mean(&runs)?,
        runs,
        within: Within::Nothing,
    })
}

fn row(name: String, base: Option<Estimate>, new: Option<Estimate>, remark: String) -> Row {
    Row {
        name,
        kind: MetricKind::Usual,
        unit: "ms".to_owned(),
        better: Better::Lower,
        base,
        new,
        remark,
    }
}

/// The distribution of a run's events, and its spans within the measurement.
fn distribution<'a>(view: &View<'a>) -> Option<(Histogram<u64>, Vec<&'a Histogram<u64>>)> {
    let events = event(view)?;
    let open = view.open_loop();
    let of = move |span: &'a Span| if open { &span.response } else { &span.service };
    let spans: Vec<&Histogram<u64>> = events
        .spans
        .iter()
        .filter(|span| span.from_s >= -1e-3 && span.to_s <= view.length_s + 1e-3)
        .map(of)
        .collect();
    let whole = match &events.total {
        Some(total) => of(total).clone(),
        None => merged(spans.iter().copied())?,
    };
    (!whole.is_empty()).then_some((whole, spans))
}

fn event<'a>(view: &View<'a>) -> Option<&'a Operation> {
    let operations = &view.run.operations;
    let named = operations
        .iter()
        .find(|operation| operation.name == "event");
    named.or_else(|| operations.first())
}

fn merged<'a>(parts: impl Iterator<Item = &'a Histogram<u64>>) -> Option<Histogram<u64>> {
    let mut sum: Option<Histogram<u64>> = None;
    for part in parts {
        match &mut sum {
            Some(sum) => sum.add(part).ok()?,
            None => sum = Some(part.clone()),
        }
    }
    sum
}

fn percentile(views: &[View], percent: f64) -> Option<Estimate> {
    let runs: Vec<_> = views.iter().filter_map(distribution).collect();
    let whole = merged(runs.iter().map(|(whole, _)| whole))?;
    let beyond = whole.len() as f64 * (1.0 - percent / 100.0).min(percent / 100.0);
    if beyond < BEYOND {
        return None;
    }
    let at = whole.value_at_quantile(percent / 100.0);
    let shares = shares(
        runs.iter().flat_map(|(_, spans)| spans.iter().copied()),
        at,
        percent,
    );
    Some(Estimate {
        value: at as f64 / 1e6,
        runs: runs
            .iter()
            .map(|(run, _)| run.value_at_quantile(percent / 100.0) as f64 / 1e6)
            .collect(),
        within: match shares {
            Some(shares) => Within::Shares(shares, Box::new(whole)),
            None => Within::Nothing,
        },
    })
}

/// The share of each span's latencies at or below a value, as a series with the overall share as
/// its mean: p + (below − p·count) / mean count. A slow second with few events has as little weight
/// as in the distribution.
fn shares<'a>(
    spans: impl Iterator<Item = &'a Histogram<u64>>,
    at: u64,
    percent: f64,
) -> Option<Vec<f64>> {
    let counts: Vec<(f64, f64)> = spans
        .map(|span| (span.count_between(0, at) as f64, span.len() as f64))
        .collect();
    let mean = counts.iter().map(|(_, count)| count).sum::<f64>() / counts.len() as f64;
    let p = percent / 100.0;
    (mean > 0.0).then(|| {
        counts
            .iter()
            .map(|(below, count)| p + (below - p * count) / mean)
            .collect()
    })
}

/// The mean latency of all runs: sum over count.
fn mean(views: &[View]) -> Option<Estimate> {
    let known = |view: &View| {
        let latency = view.latency()?;
        let (mean_ms, count) = (latency.mean_ms?, latency.count as f64);
        Some((mean_ms, latency.sum_ms.unwrap_or(mean_ms * count), count))
    };
    let summaries: Vec<(f64, f64, f64)> = views.iter().map(known).collect::<Option<_>>()?;
    let sum: f64 = summaries.iter().map(|(_, sum_ms, _)| sum_ms).sum();
    let count: f64 = summaries.iter().map(|(.., count)| count).sum();
    let per_second = views.iter().flat_map(|view| {
        distribution(view).map_or_else(Vec::new, |(_, spans)| {
            spans.iter().map(|span| span_mean(span)).collect()
        })
    });
    let per_second: Vec<(f64, f64)> = per_second.collect();
    let counts: f64 = per_second.iter().map(|(_, count)| count).sum();
    let sums: f64 = per_second.iter().map(|(sum, _)| sum).sum();
    let (ratio, usual) = (sums / counts, counts / per_second.len() as f64);
    Some(Estimate {
        value: sum / count,
        runs: summaries.iter().map(|(mean_ms, ..)| *mean_ms).collect(),
        within: series(
            per_second
                .iter()
                .map(|(sum, count)| ratio + (sum - ratio * count) / usual),
        ),
    })
}

/// The sum of a span's latencies in milliseconds, from its histogram, and their number.
fn span_mean(span: &Histogram<u64>) -> (f64, f64) {
    let count = span.len() as f64;
    let mean = if span.is_empty() {
        0.0
    } else {
        span.mean() / 1e6
    };
    (mean * count, count)
}

/// The percentile printed in a single run's report.
fn printed(views: &[View], percent: f64) -> Option<Estimate> {
    let [view] = views else { return None };
    single(view.latency()?.percentile_ms(percent)?)
}

fn maximum(views: &[View]) -> Option<Estimate> {
    let all = views.iter().filter_map(View::latency);
    single(
        all.map(|latency| latency.max_ms)
            .reduce(|a, b| Some(a?.max(b?)))??,
    )
}

fn single(value: f64) -> Option<Estimate> {
    Some(Estimate {
        value,
        runs: Vec::new(),
        within: Within::Nothing,
    })
}
