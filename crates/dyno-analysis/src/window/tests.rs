//! Cuts windows, and compares them with manual calculations.

#![allow(clippy::unwrap_used)] // a broken test may well panic

use std::time::Duration;

use dyno_core::interval::{Counters, Latencies};
use dyno_core::record::{
    Event, EventKind, RunHead, RunState, Series, SeriesKey, SeriesKind, Source,
};
use dyno_core::summary::{Percentile, PrintedRates, RunEnd};
use proptest::prelude::*;

use super::*;
use crate::summary::rebuild;

fn head() -> RunHead {
    RunHead {
        name: "x".into(),
        source: Source::Dyno,
        profile: Default::default(),
        tool: "dyno".into(),
        created_unix_s: 1.0,
        argv: Vec::new(),
        workload: Default::default(),
        script_sha256: String::new(),
        target: Default::default(),
        drive: Some(Drive {
            warmup: Duration::from_secs(2),
            time: Some(Duration::from_secs(100)),
            ..Drive::default()
        }),
        percentiles: vec![50.0, 100.0],
        factors: Default::default(),
        note: String::new(),
        phase: None,
        trial: None,
        plan: None,
    }
}

fn interval(at_s: f64, printed: f64) -> IntervalSummary {
    IntervalSummary {
        at_s,
        length_s: 1.0,
        sessions: Some(1),
        states: None,
        counters: Counters {
            events: printed.round() as u64,
            reads: 3,
            errors: 1,
            ..Counters::default()
        },
        printed: Some(PrintedRates {
            events_per_s: Some(printed),
            queries_per_s: None,
        }),
        errors_seen: 1,
        percentiles: vec![Percentile {
            percent: 95.0,
            value_ms: Some(printed / 10.0),
        }],
        max_ms: None,
        backlog: Some(at_s as u64),
        concurrency: None,
    }
}

/// A run of one interval per second, starting at `first`.
fn run(first: i32, rates: &[f64]) -> RunRecord {
    let mut run = RunRecord::new(head());
    let ends = (first + 1..).map(f64::from);
    run.intervals = ends
        .zip(rates)
        .map(|(at, rate)| interval(at, *rate))
        .collect();
    run
}

fn span(from_s: f64, ms: &[u64]) -> Span {
    let mut latencies = Latencies::default();
    ms.iter()
        .for_each(|ms| latencies.record_service(ms * 1_000_000));
    Span {
        from_s,
        to_s: from_s + 1.0,
        count: ms.len() as u64,
        service_ns_sum: latencies.service_ns_sum,
        service_ns_min: latencies.service_ns_min,
        service_ns_max: latencies.service_ns_max,
        service: latencies.service,
        response: latencies.response,
    }
}

fn window(from_s: f64, to_s: f64) -> Window {
    Window {
        from_s: Some(from_s),
        to_s: Some(to_s),
    }
}

#[test]
fn figures_are_of_the_window_alone() {
    let mut whole = run(-2, &[1.0, 2.0, 10.4, 20.4, 437.67, 40.4, 50.4]);
    whole.operations = vec![Operation {
        name: "event".into(),
        spans: (0..5)
            .map(|s| span(f64::from(s), &[1, 2, s as u64 + 10]))
            .collect(),
        total: None,
    }];
    whole.series = vec![Series {
        key: SeriesKey {
            name: "host.cpu.idle".into(),
            unit: "percent".into(),
            source: "x".into(),
        },
        kind: SeriesKind::Rate,
        points: (0..6).map(|s| (f64::from(s), f64::from(s))).collect(),
    }];
    whole.events = [0.5, 2.5, 4.5]
        .map(|at_s| Event {
            at_s,
            until_s: Some(at_s + 0.25),
            kind: EventKind::Note,
            text: "x".into(),
            detail: Default::default(),
        })
        .into();
    let part = cut(whole, window(1.0, 4.0)).unwrap();
    let summary = part.summary.as_ref().unwrap();
    assert_eq!(
        (summary.measured_s, summary.totals.events),
        (3.0, 20 + 438 + 40)
    );
    let mean = (20.4 + 437.67 + 40.4) / 3.0;
    assert!((summary.rates.events_per_s - mean).abs() < 1e-9);
    assert_eq!(summary.rates.queries_per_s, Some(3.0));
    assert_eq!(
        (summary.totals.errors, summary.rates.errors_per_s),
        (3, Some(1.0))
    );
    // The spans of seconds 1 to 3.
    assert_eq!(
        (summary.service.count, summary.service.max_ms),
        (9, Some(13.0))
    );
    assert!((summary.service.mean_ms.unwrap() - (9.0 + 36.0) / 9.0).abs() < 1e-9);
    assert_eq!(part.operations[0].total.as_ref().unwrap().count, 9);
    let bins = bins::of(&part);
    let rates: Vec<f64> = bins.iter().map(bins::Bin::events_per_s).collect();
    assert_eq!(rates, [20.4, 437.67, 40.4]);
    let times: Vec<f64> = part
        .intervals
        .iter()
        .map(|interval| interval.at_s)
        .collect();
    assert_eq!(times, [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(part.series[0].points.last(), Some(&(3.0, 4.0)));
    let events: Vec<f64> = part.events.iter().map(|event| event.at_s).collect();
    assert_eq!(events, [-0.5, 1.5]);
    let drive = summary.drive.as_ref().unwrap();
    assert_eq!(
        (drive.warmup.as_secs(), drive.time.unwrap().as_secs()),
        (3, 3)
    );
    assert_eq!(
        summary.warnings,
        ["These figures cover 1 to 4 s of a run of 5 s."]
    );
}

#[test]
fn statements_that_no_interval_has_are_unknown_for_the_window() {
    let mut whole = run(0, &[10.0, 30.0, 20.0]);
    let gaps = |run: &RunRecord| -> usize {
        let all = run.not_observed.iter();
        all.filter(|gap| gap.what == OTHER_UNKNOWN).count()
    };
    assert_eq!(gaps(&cut(whole.clone(), window(0.0, 2.0)).unwrap()), 0);
    whole.not_observed.push(NotObserved {
        what: OTHER_OF_INTERVALS_UNKNOWN.to_owned(),
        why: String::new(),
    });
    let part = cut(whole, window(0.0, 2.0)).unwrap();
    assert_eq!(gaps(&part), 1);
    assert_eq!(part.summary.unwrap().rates.queries_per_s, None);
}

#[test]
fn without_histograms_percentiles_come_from_intervals() {
    let part = cut(run(0, &[10.0, 30.0, 20.0, 90.0]), window(0.0, 3.0)).unwrap();
    let summary = part.summary.unwrap();
    assert_eq!(summary.service.count, 0);
    assert!(
        summary
            .service
            .percentiles
            .iter()
            .all(|percentile| percentile.value_ms.is_none())
    );
    let figures: Vec<(&str, f64)> = summary
        .figures
        .iter()
        .map(|figure| (figure.name.as_str(), figure.value))
        .collect();
    assert_eq!(
        figures,
        [
            ("p95 of intervals, median", 2.0),
            ("p95 of intervals, highest", 3.0)
        ]
    );
    assert!(part.not_observed.iter().any(|gap| gap.what == "service"));
}

#[test]
fn a_run_without_an_end_is_summarised_from_its_intervals() {
    // The first interval and span belong to the warm-up.
    let mut unfinished = run(-1, &[7.0, 10.0, 20.0, 30.0]);
    unfinished.operations = vec![Operation {
        name: "event".into(),
        spans: vec![span(-1.0, &[9]), span(0.0, &[1, 2]), span(1.0, &[3])],
        total: None,
    }];
    let rebuilt = rebuild(&unfinished);
    assert_eq!((rebuilt.totals.events, rebuilt.measured_s), (60, 3.0));
    assert!((rebuilt.rates.events_per_s - 20.0).abs() < 1e-9);
    assert_eq!(
        (rebuilt.service.count, rebuilt.service.min_ms),
        (3, Some(1.0))
    );
    assert!(rebuilt.figures.is_empty());
    assert!(matches!(rebuilt.end, RunEnd::Failed(_)));
    unfinished.state = RunState::Interrupted;
    assert_eq!(rebuild(&unfinished).end, RunEnd::Interrupted);
    // What was in flight at the end is unknown, also for a part.
    let in_flight = |summary: &RunSummary| (summary.events_in_grace, summary.events_unfinished);
    assert_eq!(in_flight(&rebuilt), (None, None));
    let part = |run: &RunRecord| cut(run.clone(), window(1.0, 3.0)).unwrap().summary.unwrap();
    assert_eq!(in_flight(&part(&unfinished)), (None, None));
    unfinished.summary = Some(rebuilt.clone());
    assert_eq!(in_flight(&part(&unfinished)), (None, None));
    unfinished.summary = Some(RunSummary {
        events_in_grace: Some(2),
        events_unfinished: Some(1),
        ..rebuilt
    });
    assert_eq!(in_flight(&part(&unfinished)), (Some(0), Some(0)));
}

#[test]
fn a_gap_is_in_no_rate() {
    let mut whole = run(0, &[100.0; 4]);
    whole
        .intervals
        .extend((10..14).map(|at| interval(f64::from(at), 100.0)));
    let part = cut(whole, window(2.0, 12.0)).unwrap().summary.unwrap();
    assert_eq!((part.measured_s, part.rates.events_per_s), (10.0, 100.0));
    assert_eq!(part.totals.events, 500);
    let expected = "Intervals cover 5 of these 10 s; rates refer to the covered time.";
    assert!(
        part.warnings.iter().any(|warning| warning == expected),
        "{:?}",
        part.warnings
    );
}

#[test]
fn rejects_invalid_windows() {
    let error = |from_s, to_s| cut(run(0, &[1.0; 5]), window(from_s, to_s)).unwrap_err();
    assert!(error(9.0, 12.0).to_string().contains("is only 5 s long"));
    assert!(
        error(3.0, 2.0)
            .to_string()
            .contains("not after its beginning")
    );
    assert!(error(1.2, 1.9).to_string().contains("are 1 s long"));
    let nothing = cut(run(0, &[]), Window::default()).unwrap_err();
    assert_eq!(nothing, WindowError::NoIntervals);
}

proptest! {
    #[test]
    fn a_window_is_the_run_of_its_seconds(
        rates in prop::collection::vec(0u32..100_000, 4..60),
        ends in (0usize..60, 1usize..60),
    ) {
        let rates: Vec<f64> = rates.into_iter().map(|rate| f64::from(rate) / 100.0).collect();
        let from = ends.0 % (rates.len() - 1);
        let to = (from + ends.1).min(rates.len());
        let part = cut(run(0, &rates), window(from as f64, to as f64)).unwrap();
        let alone = run(0, &rates[from..to]);
        let of = |run: &RunRecord| -> Vec<f64> {
            bins::of(run).iter().map(bins::Bin::events_per_s).collect()
        };
        prop_assert_eq!(of(&part), of(&alone));
        // The same, calculated in another way.
        let mut sorted = rates[from..to].to_vec();
        sorted.sort_by(f64::total_cmp);
        let half = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[half - 1] + sorted[half]) / 2.0,
            _ => sorted[half],
        };
        let found = dyno_stats::median(&of(&part)).unwrap();
        prop_assert!((found - median).abs() <= 1e-9 * median.max(1.0));
        let summary = part.summary.unwrap();
        let mean = rates[from..to].iter().sum::<f64>() / (to - from) as f64;
        prop_assert!((summary.rates.events_per_s - mean).abs() <= 1e-9 * mean.max(1.0));
        prop_assert_eq!(summary.measured_s, (to - from) as f64);
    }
}
