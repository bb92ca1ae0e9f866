//! Converts merged measurements to the parts of a [`RunSummary`](dyno_core::summary::RunSummary).

use dyno_core::clock::Nanos;
use dyno_core::interval::{
    Counters, Interval, LATENCY_NS_MAX, Latencies, OperationCounters, OperationInterval, carries,
};
use dyno_core::summary::{
    Bucket, Fairness, IntervalSummary, LatencySummary, OperationSummary, Percentile, Rates,
};
use hdrhistogram::Histogram;

pub use dyno_core::interval::SAMPLES_BEYOND_MIN;

/// Buckets of a distribution per decade. Every summary has the same bounds, so that the
/// distributions of two runs can be overlaid.
pub const BUCKETS_PER_DECADE: f64 = 10.0;

const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// Service times: from the start to the end of each event.
pub fn service(latencies: &Latencies, percents: &[f64]) -> LatencySummary {
    summary(
        &latencies.service,
        Exact {
            sum: latencies.service_ns_sum,
            min: latencies.service_ns_min,
            max: latencies.service_ns_max,
            clipped: latencies.clipped,
        },
        percents,
    )
}

/// Response times: from the scheduled start to the end of each event. Empty in a closed loop, which
/// has no schedule.
pub fn response(latencies: &Latencies, percents: &[f64]) -> LatencySummary {
    // Recording counts only service times that were clipped. The top bucket of the histogram has
    // the values beyond its bound, and at most the last thousandth below it.
    let clipped = if latencies.response_ns_max > LATENCY_NS_MAX {
        latencies.response.count_at(LATENCY_NS_MAX)
    } else {
        0
    };
    summary(
        &latencies.response,
        Exact {
            sum: latencies.response_ns_sum,
            min: latencies.response_ns_min,
            max: latencies.response_ns_max,
            clipped,
        },
        percents,
    )
}

/// The percentiles of a histogram of nanoseconds whose exact extremes are known. Each is the
/// smallest recorded latency that this share of the samples does not exceed, to the three digits of
/// the histogram. It is `None` if fewer than [`SAMPLES_BEYOND_MIN`] samples are below it or beyond
/// it. The 0th and the 100th are the exact extremes.
pub fn percentiles(
    histogram: &Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    percents: &[f64],
) -> Vec<Percentile> {
    let value_ms = |percent: f64| {
        if histogram.is_empty() || !(0.0..=100.0).contains(&percent) {
            None
        } else if percent == 0.0 {
            Some(min_ns as f64 / NS_PER_MS)
        } else if percent == 100.0 {
            Some(max_ns as f64 / NS_PER_MS)
        } else if carries(histogram.len(), percent) {
            let ns = histogram.value_at_quantile(percent / 100.0);
            // In an edited file the maximum may be below the minimum.
            Some(ns.clamp(min_ns, max_ns.max(min_ns)) as f64 / NS_PER_MS)
        } else {
            None
        }
    };
    percents
        .iter()
        .map(|&percent| Percentile {
            percent,
            value_ms: value_ms(percent),
        })
        .collect()
}

/// The rates of the events that ended within a measurement of `measured_s` seconds.
pub fn rates(counters: &Counters, measured_s: f64) -> Rates {
    let per_s = |count: u64| {
        if measured_s > 0.0 {
            count as f64 / measured_s
        } else {
            0.0
        }
    };
    Rates {
        events_per_s: per_s(counters.events),
        queries_per_s: Some(per_s(counters.queries())),
        errors_per_s: Some(per_s(counters.errors)),
        reconnects_per_s: Some(per_s(counters.reconnects)),
    }
}

/// A named operation. `in_window` counts those that ended within the measurement of `measured_s`
/// seconds. Response times are recorded in an open loop.
pub fn operation(
    name: &str,
    sums: Option<&OperationInterval>,
    in_window: &OperationCounters,
    measured_s: f64,
    (open, percents): (bool, &[f64]),
) -> OperationSummary {
    let nothing = OperationInterval::default();
    let sums = sums.unwrap_or(&nothing);
    let done_per_s = if measured_s > 0.0 {
        in_window.done as f64 / measured_s
    } else {
        0.0
    };
    let first_tries = sums.first_tries.as_deref();
    OperationSummary {
        name: name.to_owned(),
        totals: sums.counters,
        done_per_s,
        service: service(&sums.latencies, percents),
        response: (open || !sums.latencies.response.is_empty())
            .then(|| response(&sums.latencies, percents)),
        first_tries: first_tries.map(|first| service(first, percents)),
    }
}

/// The totals of one session over a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTotal {
    /// Events that ended and count.
    pub events: u64,
    /// The sum of their latencies.
    pub busy_ns: Nanos,
}

/// How evenly the sessions were served.
pub fn fairness(sessions: &[SessionTotal]) -> Fairness {
    let (events_mean, events_stddev) = spread(sessions.iter().map(|s| s.events as f64));
    let (time_mean_s, time_stddev_s) = spread(sessions.iter().map(|s| s.busy_ns as f64 / NS_PER_S));
    Fairness {
        events_mean,
        events_stddev,
        time_mean_s,
        time_stddev_s,
        events_min: sessions.iter().map(|s| s.events).min(),
        events_max: sessions.iter().map(|s| s.events).max(),
    }
}

/// An interval of a measurement that began at `origin`. The latencies are response times if any
/// were recorded (in an open loop), and otherwise service times.
pub fn interval(interval: &Interval, origin: Nanos, percents: &[f64]) -> IntervalSummary {
    let latencies = &interval.latencies;
    let (histogram, min_ns, max_ns) = if latencies.response.is_empty() {
        (
            &latencies.service,
            latencies.service_ns_min,
            latencies.service_ns_max,
        )
    } else {
        (
            &latencies.response,
            latencies.response_ns_min,
            latencies.response_ns_max,
        )
    };
    IntervalSummary {
        at_s: interval.end.saturating_sub(origin) as f64 / NS_PER_S,
        length_s: interval.end.saturating_sub(interval.start) as f64 / NS_PER_S,
        sessions: Some(interval.states.running()),
        states: Some(interval.states),
        counters: interval.counters,
        printed: None,
        errors_seen: interval.errors.values().map(|error| error.count).sum(),
        percentiles: percentiles(histogram, min_ns, max_ns, percents),
        max_ms: (!histogram.is_empty()).then_some(max_ns as f64 / NS_PER_MS),
        backlog: Some(interval.backlog),
        concurrency: Some(interval.concurrency),
    }
}

/// Exact values of latencies, in nanoseconds.
pub struct Exact {
    /// The sum.
    pub sum: u64,
    /// The smallest; `u64::MAX` without values.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// How many are beyond the bound of the histogram.
    pub clipped: u64,
}

/// The summary of a histogram of nanoseconds.
pub fn summary(histogram: &Histogram<u64>, exact: Exact, percents: &[f64]) -> LatencySummary {
    let count = histogram.len();
    let percentiles = percentiles(histogram, exact.min, exact.max, percents);
    if count == 0 {
        return LatencySummary {
            percentiles,
            ..LatencySummary::default()
        };
    }
    LatencySummary {
        count,
        min_ms: Some(exact.min as f64 / NS_PER_MS),
        mean_ms: Some(exact.sum as f64 / count as f64 / NS_PER_MS),
        max_ms: Some(exact.max as f64 / NS_PER_MS),
        sum_ms: Some(exact.sum as f64 / NS_PER_MS),
        stddev_ms: Some(histogram.stdev() / NS_PER_MS),
        percentiles,
        buckets: buckets(histogram),
        clipped: exact.clipped,
    }
}

/// The distribution in logarithmic buckets, without empty ones at its ends. A bin of the histogram
/// counts in the bucket of its middle, which blurs the bounds by less than a thousandth.
pub fn buckets(histogram: &Histogram<u64>) -> Vec<Bucket> {
    let index_of = |ns: u64| (BUCKETS_PER_DECADE * (ns.max(1) as f64).log10()).floor() as usize;
    let bound_ms = |index: usize| 10f64.powf(index as f64 / BUCKETS_PER_DECADE) / NS_PER_MS;
    let mut out: Vec<Bucket> = Vec::new();
    let mut first = 0;
    for bin in histogram.iter_recorded() {
        let index = index_of(histogram.median_equivalent(bin.value_iterated_to()));
        if out.is_empty() {
            first = index;
        }
        while first + out.len() <= index {
            let next = first + out.len();
            out.push(Bucket {
                from_ms: bound_ms(next),
                to_ms: bound_ms(next + 1),
                count: 0,
            });
        }
        let count = &mut out[index - first].count;
        *count = count.saturating_add(bin.count_since_last_iteration());
    }
    out
}

/// Mean and population standard deviation; 0 without values.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count();
    if count == 0 {
        return (0.0, 0.0);
    }
    let mean = values.clone().sum::<f64>() / count as f64;
    // Two passes, because a sum of squares loses precision when sessions are alike.
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / count as f64;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        for &ns in values {
            latencies.record_service(ns);
            latencies.record_response(ns.saturating_mul(2));
        }
        latencies
    }

    #[test]
    fn a_percentile_needs_samples_beyond_it() {
        let percentile = |count: u64, percent: f64| {
            let latencies = recorded(&(1..=count).map(|i| i * 1_000_000).collect::<Vec<_>>());
            service(&latencies, &[percent]).percentiles[0].value_ms
        };
        assert_eq!(percentile(99, 95.0), None);
        let p95 = percentile(100, 95.0).unwrap();
        assert!((p95 - 95.0).abs() < 0.1, "{p95}");
        assert_eq!(percentile(4999, 99.9), None);
        assert!(percentile(5000, 99.9).is_some());
        assert_eq!(percentile(99, 5.0), None);
        assert!(percentile(100, 5.0).is_some());
        assert_eq!(percentile(9, 50.0), None);
        assert!(percentile(10, 50.0).is_some());
        assert_eq!(percentile(3, 100.0), Some(3.0));
        assert_eq!(percentile(3, 0.0), Some(1.0));
        assert_eq!(percentile(1000, 101.0), None);
        assert_eq!(percentile(0, 100.0), None);
    }

    #[test]
    fn latencies_without_an_event_are_unknown() {
        let latencies = Latencies::default();
        let summary = service(&latencies, &[50.0]);
        assert_eq!(
            (summary.count, summary.min_ms, summary.max_ms),
            (0, None, None)
        );
        assert_eq!(summary.mean_ms, None);
        assert!(summary.buckets.is_empty());
        assert_eq!(summary.percentiles[0].value_ms, None);
        assert_eq!(interval(&Interval::default(), 0, &[]).max_ms, None);
    }

    #[test]
    fn an_interval_of_an_open_loop_has_response_times() {
        let mut measured = Interval {
            start: 5_000_000_000,
            end: 6_000_000_000,
            ..Interval::default()
        };
        measured.latencies.record_service(1_000_000);
        let closed = interval(&measured, 2_000_000_000, &[100.0]);
        assert_eq!((closed.at_s, closed.length_s), (4.0, 1.0));
        assert_eq!(closed.percentiles[0].value_ms, Some(1.0));
        measured.latencies.record_response(7_000_000);
        let open = interval(&measured, 2_000_000_000, &[100.0]);
        assert_eq!(open.max_ms, Some(7.0));
        assert_eq!(open.percentiles[0].value_ms, Some(7.0));
    }

    #[test]
    fn fairness_is_the_population_formula() {
        let total = |events, busy_ns| SessionTotal { events, busy_ns };
        let spread = fairness(&[total(2, 1_000_000_000), total(4, 3_000_000_000)]);
        assert_eq!((spread.events_mean, spread.events_stddev), (3.0, 1.0));
        assert_eq!((spread.time_mean_s, spread.time_stddev_s), (2.0, 1.0));
        assert_eq!((spread.events_min, spread.events_max), (Some(2), Some(4)));
        assert_eq!(fairness(&[]).events_mean, 0.0);
    }

    #[test]
    fn rates_are_per_measured_second() {
        let counters = Counters {
            events: 10,
            reads: 20,
            writes: 5,
            other: 5,
            errors: 2,
            reconnects: 1,
            ..Counters::default()
        };
        let per_s = rates(&counters, 2.0);
        assert_eq!((per_s.events_per_s, per_s.queries_per_s), (5.0, Some(15.0)));
        assert_eq!(
            (per_s.errors_per_s, per_s.reconnects_per_s),
            (Some(1.0), Some(0.5))
        );
        assert_eq!(rates(&counters, 0.0).events_per_s, 0.0);
    }

    #[test]
    fn latencies_beyond_the_bound_are_counted_as_clipped() {
        let latencies = recorded(&[1_000_000, LATENCY_NS_MAX, LATENCY_NS_MAX + 5_000_000_000]);
        assert_eq!(service(&latencies, &[]).clipped, 1);
        assert_eq!(response(&latencies, &[]).clipped, 2);
        assert_eq!(service(&latencies, &[]).max_ms, Some(3_605_000.0));
    }

    proptest! {
        #[test]
        fn a_merge_is_the_summary_of_all(
            parts in prop::collection::vec(prop::collection::vec(0u64..5_000_000_000, 0..200), 1..5)
        ) {
            let mut merged = Latencies::default();
            for part in &parts {
                merged.merge(&recorded(part));
            }
            let percents = [0.0, 50.0, 95.0, 99.0, 100.0];
            let whole = recorded(&parts.concat());
            for (a, b) in [
                (service(&merged, &percents), service(&whole, &percents)),
                (response(&merged, &percents), response(&whole, &percents)),
            ] {
                prop_assert_eq!(format!("{a:?}"), format!("{b:?}"));
            }
        }

        #[test]
        fn a_summary_holds_together(
            values in prop::collection::vec(0u64..5_000_000_000, 1..500)
        ) {
            let summary = service(&recorded(&values), &[1.0, 25.0, 50.0, 90.0, 99.0]);
            let exact_mean = values.iter().sum::<u64>() as f64 / values.len() as f64 / 1e6;
            prop_assert!((summary.mean_ms.unwrap() - exact_mean).abs() <= exact_mean * 1e-12);
            let [min, max] = [values.iter().min(), values.iter().max()]
                .map(|end| *end.unwrap() as f64 / 1e6);
            prop_assert_eq!((summary.min_ms, summary.max_ms), (Some(min), Some(max)));
            let in_buckets: u64 = summary.buckets.iter().map(|b| b.count).sum();
            prop_assert_eq!(in_buckets, values.len() as u64);
            prop_assert!(summary.buckets.first().unwrap().count > 0);
            prop_assert!(summary.buckets.last().unwrap().count > 0);
            for pair in summary.buckets.windows(2) {
                prop_assert_eq!(pair[0].to_ms, pair[1].from_ms);
            }
            let values: Vec<f64> = summary.percentiles.iter().filter_map(|p| p.value_ms).collect();
            prop_assert!(values.is_sorted(), "{:?}", values);
            for value in values {
                prop_assert!((min..=max).contains(&value));
            }
        }

        #[test]
        fn a_percentile_is_an_order_statistic(
            values in prop::collection::vec(1u64..5_000_000_000, 200..500)
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for percent in [50.0, 90.0, 95.0] {
                let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
                let exact = sorted[rank - 1] as f64 / 1e6;
                let summary = service(&recorded(&values), &[percent]);
                let value_ms = summary.percentiles[0].value_ms.unwrap();
                prop_assert!((value_ms - exact).abs() <= exact * 1e-3 + 1e-6, "{value_ms} {exact}");
            }
        }
    }
}
