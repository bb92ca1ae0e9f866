//! Synthetic runs that can be recorded.

#![allow(clippy::unwrap_used)] // a broken test may well panic

pub(crate) mod day;

use dyno_core::db::ErrorKind;
use dyno_core::finding::{Cause, Durability, DurabilityClass, Finding, Outcome, Stall, Verdict};
use dyno_core::interval::{Counters, ErrorCount, LATENCY_NS_MAX, Latencies};
use dyno_core::record::{RunHead, Span};
use dyno_core::states::SessionStates;
use dyno_core::summary::{
    ClientCost, Fairness, IntervalSummary, LatencySummary, PrintedRates, RunSummary, TargetSummary,
};
use dyno_samples::values;
use hdrhistogram::Histogram;

/// Reproducible random numbers.
pub(crate) struct Random(pub u64);

impl Random {
    /// A random number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        // Knuth's constants of a 64-bit linear congruential generator.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub(crate) fn target() -> TargetSummary {
    head("").target
}

pub(crate) fn head(name: &str) -> RunHead {
    RunHead {
        note: "before the upgrade".to_owned(),
        ..values::head(name)
    }
}

/// Second `number` of a run, from 1.
pub(crate) fn interval(number: u32) -> IntervalSummary {
    let events = u64::from(number) * 10;
    IntervalSummary {
        sessions: Some(14),
        states: Some(SessionStates {
            working: 9,
            waiting: 4,
            connecting: 1,
            lost: 1,
            finished: 1,
            idle: 0,
        }),
        counters: Counters {
            events,
            not_done: 6,
            reads: 20,
            reads_empty: 7,
            writes: 10,
            other: 5,
            errors: 1,
            reconnects: 2,
            connects_failed: 8,
            retries: 3,
            rows: 4000,
            bytes_in: 1 << 20,
            bytes_out: 1 << 10,
        },
        printed: number.is_multiple_of(2).then_some(PrintedRates {
            events_per_s: Some(437.67 + f64::from(number)),
            queries_per_s: None,
        }),
        errors_seen: 4,
        percentiles: values::percentiles(&[(95.0, Some(4.125)), (99.9, None)]),
        max_ms: Some(17.5),
        backlog: Some(0),
        concurrency: Some(16),
        ..values::interval(f64::from(number), events)
    }
}

/// `count` latencies around `ms`.
pub(crate) fn latencies(count: u64, ms: u64) -> Latencies {
    let mut latencies = Latencies::default();
    for i in 0..count {
        latencies.record_service(ms * 1_000_000 + i * 10_000);
    }
    latencies
}

/// A histogram of two digits, as the results file stores them.
pub(crate) fn histogram(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 2).unwrap();
    for &ns in values {
        histogram.saturating_record(ns);
    }
    histogram
}

pub(crate) fn span(from_s: f64, to_s: f64, service: &[u64], response: &[u64]) -> Span {
    Span {
        from_s,
        to_s,
        count: service.len() as u64,
        service_ns_sum: service.iter().sum(),
        service_ns_min: service.iter().min().copied().unwrap_or(0),
        service_ns_max: service.iter().max().copied().unwrap_or(0),
        service: histogram(service),
        response: histogram(response),
    }
}

pub(crate) fn summary() -> RunSummary {
    let deadlocks = ErrorCount {
        count: 4,
        kind: ErrorKind::Conflict,
        sample: "Deadlock found".to_owned(),
    };
    let totals = Counters {
        events: 60,
        ..Counters::default()
    };
    let mut summary = RunSummary {
        elapsed_s: 3.25,
        service: LatencySummary {
            count: 60,
            percentiles: values::percentiles(&[(95.0, Some(4.5))]),
            ..LatencySummary::default()
        },
        events_in_grace: Some(1),
        errors: [("1213".to_owned(), deadlocks)].into(),
        fairness: Some(Fairness::default()),
        client: Some(ClientCost::default()),
        limits: vec!["the server's CPUs".to_owned()],
        costs: vec![values::cost("server CPU", Some(120.5), "us", "server.cpu")],
        intervals: vec![interval(1)],
        ..values::summary(&head(""), 3.0, totals)
    };
    summary.rates.queries_per_s = Some(35.0);
    summary
}

pub(crate) fn finding(check: &str, outcome: Outcome) -> Finding {
    Finding {
        causes: vec![Cause::OtherProcesses],
        durability: Some(Durability {
            class: DurabilityClass::Process,
            because: vec!["synchronous_commit = off".to_owned()],
        }),
        stalls: Some(vec![Stall {
            from_s: 54.0,
            to_s: 54.75,
            events_per_s: 0.0,
            level_per_s: 500.0,
        }]),
        ..values::finding(check, 2, outcome, "A worker used 97 % of its core.")
    }
}

pub(crate) fn doubtful() -> (Vec<Finding>, Verdict) {
    let findings = vec![
        finding("client-cpu", Outcome::Doubt),
        finding("errors", Outcome::Pass),
    ];
    (findings, Verdict::Doubtful)
}
