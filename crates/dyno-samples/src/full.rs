//! Runs of any length with everything that a report can show.

mod ended;
mod observed;

use dyno_core::interval::Counters;
use dyno_core::rand::Stream;
use dyno_core::record::*;
use dyno_core::summary::*;
use hdrhistogram::Histogram;

use crate::values;
use ended::{head, summary};
use observed::{events, facts, findings, series, settings};

/// The dimensions of a run.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Length of the measurement, in seconds.
    pub seconds: u32,
    /// Length of the warm-up, in seconds.
    pub warmup: u32,
    /// Length of a span, in seconds.
    pub span: u32,
    /// Number of operations in addition to `event`.
    pub operations: usize,
    /// Database counters.
    pub counters: usize,
    /// Whether the load is an open loop.
    pub open: bool,
    /// A factor on the throughput, for comparisons.
    pub speed: f64,
    /// The stream of random numbers.
    pub stream: u64,
}

/// A run of twenty minutes with everything.
pub const USUAL: Shape = Shape {
    seconds: 1200,
    warmup: 120,
    span: 5,
    operations: 4,
    counters: 90,
    open: false,
    speed: 1.0,
    stream: 1,
};

#[rustfmt::skip]
const OPERATIONS: [&str; 10] = [
    "NEW_ORDER", "PAYMENT", "ORDER_STATUS", "DELIVERY", "STOCK_LEVEL",
    "ADD_LINK", "GET_LINK", "COUNT_LINK", "UPDATE_NODE", "DELETE_NODE",
];

/// A run of one minute without a warm-up.
pub fn minute(stream: u64, speed: f64) -> RunRecord {
    run(Shape {
        stream,
        speed,
        seconds: 60,
        warmup: 0,
        ..USUAL
    })
}

/// A whole run of this shape.
pub fn run(shape: Shape) -> RunRecord {
    let intervals: Vec<IntervalSummary> = (0..shape.warmup + shape.seconds)
        .map(|n| interval(shape, f64::from(n) + 1.0 - f64::from(shape.warmup)))
        .collect();
    let names = std::iter::once("event")
        .chain(OPERATIONS)
        .take(shape.operations + 1);
    let operations: Vec<Operation> = names
        .enumerate()
        .map(|(n, name)| operation(shape, n, name))
        .collect();
    let head = head(shape);
    let findings = findings();
    let busy_s = f64::from(shape.seconds) * 0.99;
    let share = |session: u32| {
        let events = 80_000 + u64::from(session * 37 % 900);
        values::share(session, session % 4, events, busy_s)
    };
    let psi = "this kernel has no /proc/pressure; boot it with psi=1";
    RunRecord {
        id: 17,
        state: RunState::Completed,
        summary: Some(summary(shape, &head, &intervals, &operations)),
        intervals,
        operations,
        series: series(shape),
        not_observed: vec![values::gap("host.pressure", psi)],
        facts: facts(),
        settings: settings(shape),
        events: events(shape),
        sessions: (0..64).map(share).collect(),
        verdict: Some(dyno_core::finding::verdict(&findings)),
        findings,
        ..RunRecord::new(head)
    }
}

/// The costs of an event.
pub fn costs() -> Vec<Cost> {
    #[rustfmt::skip]
    let all = [
        ("server CPU", Some(812.4), "us", "server.cpu.user + server.cpu.system / events"),
        ("read from disk", Some(41.3), "kb", "host.disk[nvme0n1].read_bytes / events"),
        ("written to disk", Some(20.8), "kb", "host.disk[nvme0n1].write_bytes / events"),
        ("network", Some(3_412.0), "bytes", "host.network[lo].rx_bytes / events"),
        ("context switches", None, "count", "server.context_switches was not observed"),
    ];
    all.map(|(name, value, unit, source)| values::cost(name, value, unit, source))
        .into()
}

/// The share of the full throughput at this second.
fn pace(shape: Shape, at_s: f64) -> f64 {
    let warm = if at_s < 0.0 {
        0.55 + 0.45 * (1.0 + at_s / f64::from(shape.warmup))
    } else {
        1.0
    };
    let phase = at_s.rem_euclid(240.0);
    let checkpoint = if phase > 200.0 { 0.72 } else { 1.0 };
    let stalled = at_s > 100.0 && (at_s.rem_euclid(410.0) - 300.0).abs() < 1.6;
    if stalled {
        0.01
    } else {
        warm * checkpoint * shape.speed
    }
}

fn noise(shape: Shape, at_s: f64, lane: u64) -> f64 {
    let seed = shape.stream * 7919 + ((at_s + 100_000.0) * 310.0) as u64;
    Stream::new(seed, lane).next_f64() - 0.5
}

fn interval(shape: Shape, at_s: f64) -> IntervalSummary {
    let pace = pace(shape, at_s - 0.5);
    let events = (4_200.0 * pace * (1.0 + 0.06 * noise(shape, at_s, 1))) as u64;
    let slow = 1.0 / pace.max(0.04);
    let errors = if (at_s as i64) % 97 == 0 { 3 } else { 0 };
    let percentile = |(percent, ms): (f64, f64)| {
        let scatter = 1.0 + 0.15 * noise(shape, at_s, percent as u64);
        (percent, Some(ms * slow * scatter))
    };
    let typical = [(50.0, 12.1), (95.0, 28.4), (99.0, 41.0), (99.9, 88.0)];
    IntervalSummary {
        sessions: Some(64),
        counters: Counters {
            events,
            reads: events * 14,
            writes: events * 4,
            other: events * 2,
            errors,
            rows: events * 60,
            bytes_in: events * 9_000,
            bytes_out: events * 1_200,
            ..Counters::default()
        },
        errors_seen: errors,
        percentiles: values::percentiles(&typical.map(percentile)),
        max_ms: Some(140.0 * slow),
        backlog: Some(if shape.open { (slow * 3.0) as u64 } else { 0 }),
        concurrency: Some(60),
        ..values::interval(at_s, events)
    }
}

fn operation(shape: Shape, number: usize, name: &str) -> Operation {
    let spans: Vec<Span> = (0..shape.seconds / shape.span)
        .map(|n| span(shape, number, f64::from(n * shape.span)))
        .collect();
    // The recorder's bounds, with the exact fields as sums.
    let mut total = spans.first().cloned();
    for span in spans.iter().skip(1) {
        if let Some(total) = &mut total {
            total.to_s = span.to_s;
            total.count += span.count;
            total.service_ns_sum += span.service_ns_sum;
            total.service_ns_max = total.service_ns_max.max(span.service_ns_max);
            total.service.add(&span.service).unwrap();
            total.response.add(&span.response).unwrap();
        }
    }
    Operation {
        name: name.into(),
        spans,
        total,
    }
}

/// Latencies with two modes (from the cache, from disk) and a tail that depends on the pace.
fn span(shape: Shape, number: usize, from_s: f64) -> Span {
    let pace = pace(shape, from_s + f64::from(shape.span) / 2.0);
    let mut service = Histogram::<u64>::new_with_bounds(1_000, 60_000_000_000, 2).unwrap();
    let mut response = service.clone();
    let mut random = Stream::new(shape.stream + from_s as u64, number as u64);
    let (mut sum, mut max, mut min) = (0, 0, u64::MAX);
    for _ in 0..300 {
        let disk = random.next_f64() < 0.38;
        let normal: f64 = (0..6).map(|_| random.next_f64()).sum::<f64>() - 3.0;
        let typical = if disk { 14e6 } else { 1.1e6 } * (1.0 + number as f64 / 3.0);
        let tail = if random.next_f64() < 0.01 { 6.0 } else { 1.0 };
        let ns = (typical * (normal * 0.45).exp() * tail / pace.max(0.05)) as u64;
        let times = (f64::from(shape.span) * 14.0 * pace).max(1.0) as u64;
        service.record_n(ns, times).unwrap();
        if shape.open {
            response
                .record_n(
                    ns + (random.next_f64() * 3e6 / pace.max(0.05)) as u64,
                    times,
                )
                .unwrap();
        }
        sum += ns * times;
        (min, max) = (min.min(ns), max.max(ns));
    }
    Span {
        from_s,
        to_s: from_s + f64::from(shape.span),
        count: service.len(),
        service_ns_sum: sum,
        service_ns_min: min,
        service_ns_max: max,
        service,
        response,
    }
}
