//! Merges fio's latency distributions.

use dyno_analysis::summarize;
use dyno_core::interval::{LATENCY_NS_MAX, Latencies, carries};
use dyno_core::summary::{LatencySummary, Percentile};

use super::document::Latency;
use crate::runs::PERCENTS;

const NS_PER_MS: f64 = 1e6;

/// The latencies of one direction over all jobs.
pub(super) struct Merged {
    pub(super) summary: LatencySummary,
    /// All latencies, if each job printed its distribution.
    pub(super) latencies: Option<Latencies>,
}

pub(super) fn merged(all: &[Latency]) -> Merged {
    // Those of some parts are not those of the whole.
    if all.iter().any(|one| one.count == 0) {
        return Merged {
            summary: LatencySummary::default(),
            latencies: None,
        };
    }
    let all: Vec<&Latency> = all.iter().collect();
    let latencies =
        (!all.is_empty() && all.iter().all(|one| !one.bins.is_empty())).then(|| distribution(&all));
    let count = all
        .iter()
        .fold(0_u64, |sum, one| sum.saturating_add(one.count));
    let sum_ns: f64 = all.iter().map(|one| one.mean * one.count as f64).sum();
    let ms = |ns: Option<f64>| ns.map(|ns| ns / NS_PER_MS);
    let mut summary = match &latencies {
        Some(latencies) => summarize::service(latencies, &PERCENTS),
        None => LatencySummary::default(),
    };
    summary.count = count;
    let has_min = all.iter().all(|one| one.min.is_finite());
    let min_ns = all.iter().map(|one| one.min).reduce(f64::min);
    summary.min_ms = ms(min_ns.filter(|_| has_min));
    summary.max_ms = ms(all.iter().map(|one| one.max).reduce(f64::max));
    summary.mean_ms = ms((count > 0).then(|| sum_ns / count as f64));
    summary.sum_ms = ms((count > 0).then_some(sum_ns));
    if let [one] = all.as_slice() {
        // It is not finite if it is unknown or was left out.
        summary.stddev_ms = Some(one.stddev / NS_PER_MS).filter(|ms| ms.is_finite());
        if !one.percentile.is_empty() {
            summary.percentiles = printed(one);
        }
    }
    Merged { summary, latencies }
}

/// The percentiles as fio printed them, if it did.
fn printed(one: &Latency) -> Vec<Percentile> {
    let own = |percent: f64| {
        let mut all = one.percentile.iter();
        let found = all.find(|(name, _)| name.parse() == Ok(percent));
        found
            .map(|(_, ns)| ns / NS_PER_MS)
            .filter(|_| carries(one.count, percent))
    };
    let all = PERCENTS.map(|percent| Percentile {
        percent,
        value_ms: own(percent),
    });
    all.to_vec()
}

fn distribution(all: &[&Latency]) -> Latencies {
    let mut latencies = Latencies::default();
    for one in all {
        for (ns, count) in &one.bins {
            let Ok(ns) = ns.parse::<u64>() else {
                continue;
            };
            latencies
                .service
                .saturating_record_n(ns.min(LATENCY_NS_MAX), *count);
            let sum = ns.saturating_mul(*count);
            latencies.service_ns_sum = latencies.service_ns_sum.saturating_add(sum);
        }
        let ns = |value: f64| value.clamp(0.0, 1e18) as u64;
        let lowest = one.bins.keys().filter_map(|ns| ns.parse::<f64>().ok());
        let lowest = lowest.reduce(f64::min);
        let min = lowest.filter(|_| one.min.is_nan()).unwrap_or(one.min);
        latencies.service_ns_min = latencies.service_ns_min.min(ns(min));
        latencies.service_ns_max = latencies.service_ns_max.max(ns(one.max));
    }
    latencies
}
