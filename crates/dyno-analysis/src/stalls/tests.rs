//! Finds stalls in realistic rates.

#![allow(clippy::unwrap_used)] // a broken test may well panic

use super::*;

fn bins(rates: &[u64]) -> Vec<Bin> {
    let bin = |(second, &events): (usize, &u64)| {
        let mut bin = Bin {
            at_s: second as f64 + 1.0,
            length_s: 1.0,
            ..Bin::default()
        };
        bin.counters.events = events;
        bin.events = events as f64;
        bin
    };
    rates.iter().enumerate().map(bin).collect()
}

fn spans(rates: &[u64]) -> Vec<(f64, f64)> {
    let found = of_bins(&bins(rates), &[], Shortest::default()).unwrap();
    let pair = |span: &Span| (span.from_s, span.to_s);
    found.spans.iter().map(pair).collect()
}

fn noisy(seconds: usize, level: u64) -> Vec<u64> {
    let noise = |second: usize| level * (90 + (second as u64 * 37) % 21) / 100;
    (0..seconds).map(noise).collect()
}

#[test]
fn a_run_stalled_for_most_of_its_time_has_a_level() {
    let mut rates = noisy(14, 3000);
    rates[2..13].fill(0);
    let found = of_bins(&bins(&rates), &[], Shortest::default()).unwrap();
    assert_eq!(found.spans.len(), 1);
    assert_eq!((found.spans[0].from_s, found.spans[0].to_s), (2.0, 13.0));
    assert_eq!((found.stalled_s(), found.longest_s()), (11.0, 11.0));
    assert!((found.share() - 11.0 / 14.0).abs() < 1e-9);
    assert!((2700.0..=3300.0).contains(&found.level_per_s));
    assert_eq!(found.moving(&[1.0; 14]).len(), 3);
    // A few events per second are a stall, too.
    rates[2..13].fill(20);
    assert_eq!(spans(&rates), [(2.0, 13.0)]);
}

#[test]
fn noise_is_not_a_stall() {
    assert!(spans(&noisy(600, 3500)).is_empty());
    // Every third second has half of the level, and single seconds have a tenth.
    let mut rates = noisy(600, 3500);
    (0..600).step_by(3).for_each(|second| rates[second] /= 2);
    rates[100] /= 10;
    assert!(spans(&rates).is_empty());
}

#[test]
fn dips_are_stalls_only_where_almost_nothing_ended() {
    let mut rates = noisy(300, 3500);
    (9..300).step_by(10).for_each(|second| rates[second] = 1400);
    assert!(spans(&rates).is_empty());
    (9..300).step_by(10).for_each(|second| rates[second] = 0);
    let found = of_bins(&bins(&rates), &[], Shortest::default()).unwrap();
    assert_eq!((found.spans.len(), found.period_s), (30, Some(10.0)));
}

#[test]
fn a_lower_level_to_the_end_is_not_a_stall() {
    let mut rates = noisy(30, 40_000);
    rates[15..].fill(900);
    assert_eq!(spans(&rates), []);
    // If the rate recovers, or falls to almost nothing, it is a stall.
    rates[28..].fill(40_000);
    assert_eq!(spans(&rates), [(15.0, 28.0)]);
    rates[15..].fill(3);
    assert_eq!(spans(&rates), [(15.0, 30.0)]);
}

#[test]
fn intervals_may_be_longer_than_a_second() {
    let mut bins = bins(&[40_000, 0, 38_000]);
    for (number, bin) in bins.iter_mut().enumerate() {
        (bin.at_s, bin.length_s) = (5.0 * (number + 1) as f64, 5.0);
    }
    let found = of_bins(&bins, &[], Shortest::default()).unwrap();
    assert_eq!(found.spans.len(), 1);
    assert_eq!((found.spans[0].from_s, found.spans[0].to_s), (5.0, 10.0));
}

#[test]
fn a_cold_start_is_not_a_stall() {
    let mut rates = noisy(60, 3500);
    rates[..3].copy_from_slice(&[525, 525, 1200]);
    assert!(spans(&rates).is_empty());
    // But an empty beginning is a stall.
    rates[..2].fill(0);
    assert_eq!(spans(&rates), [(0.0, 2.0)]);
}

#[test]
fn reports_why_a_series_is_too_short() {
    assert_eq!(
        of_bins(&bins(&[1000; 4]), &[], Shortest::default()),
        Err(TooLittle::Seconds(4))
    );
    assert_eq!(
        of_bins(&bins(&[0; 30]), &[], Shortest::default()),
        Err(TooLittle::Nothing)
    );
    let rare = of_bins(&bins(&[3, 0, 2, 4, 0, 3]), &[], Shortest::default()).unwrap_err();
    assert_eq!(rare, TooLittle::Level(3.0));
    assert!(
        rare.to_string().contains("at least 20 are needed"),
        "{rare}"
    );
    assert!(of_bins(&bins(&[20, 20, 0, 20, 20]), &[], Shortest::default()).is_ok());
}

#[test]
fn silences_are_known_to_the_millisecond() {
    let event = |kind, at_s: f64, length_s: f64| Event {
        at_s,
        until_s: Some(at_s + length_s),
        kind,
        text: String::new(),
        detail: Default::default(),
    };
    let mut rates = vec![1000; 20];
    (rates[4], rates[12]) = (0, 0);
    let events = [
        event(EventKind::Stall, 3.6, 1.9),
        event(EventKind::Stall, 8.2, 0.7),
        event(EventKind::Frozen, 12.05, 1.0),
    ];
    let found = of_bins(&bins(&rates), &events, Shortest::default()).unwrap();
    let spans: Vec<(f64, f64)> = (found.spans.iter())
        .map(|span| (span.from_s, span.length_s()))
        .collect();
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(
        spans.len() == 2 && near(spans[0].0, 3.6) && near(spans[0].1, 1.9) && near(spans[1].1, 0.7),
        "{spans:?}"
    );
    assert_eq!((found.silences.len(), found.own.len()), (2, 1));
    assert!(near(found.whole_s, 1.0));
    // Seconds in which a freeze began are kept if few other seconds remain.
    let rates = [
        490, 102, 388, 350, 142, 488, 104, 388, 490, 488, 487, 488, 492, 492,
    ];
    let frozen = [1.2, 3.7, 6.2].map(|at_s| event(EventKind::Frozen, at_s, 0.99));
    let found = of_bins(&bins(&rates), &frozen, Shortest::default()).unwrap();
    assert_eq!(
        found.moving(&rates.map(|rate| rate as f64)),
        [490.0, 488.0, 490.0, 488.0, 487.0, 488.0, 492.0, 492.0]
    );
    // The level of a run of three seconds is that of the time in which it moved.
    let short = of_bins(&bins(&[1000; 3]), &events[..0], Shortest::default());
    assert!(short.is_err());
    let silent = [event(EventKind::Stall, 1.0, 1.0)];
    let found = of_bins(&bins(&[1000, 0, 1000]), &silent, Shortest::default()).unwrap();
    assert!(near(found.level_per_s, 1000.0), "{found:?}");
    assert!(near(found.share(), 1.0 / 3.0));
}

#[test]
fn seconds_in_which_no_long_event_ends_are_not_stalls() {
    // 64 sessions in step, with events of 1.3 s.
    let rates = [
        0, 64, 64, 64, 0, 64, 64, 64, 0, 64, 64, 64, 0, 64, 64, 64, 0, 64, 64, 64,
    ];
    let shortest = |event_s: f64| Shortest {
        event_s,
        statement_s: event_s,
    };
    let found = of_bins(&bins(&rates), &[], shortest(1.3)).unwrap();
    assert_eq!((found.spans.len(), found.period_s), (0, None));
    assert_eq!(found.stalled_s(), 0.0);
    assert!(!found.stalled.contains(&true) && !found.set_aside.contains(&true));
    assert!(
        !of_bins(&bins(&rates), &[], shortest(0.4))
            .unwrap()
            .spans
            .is_empty()
    );
    // A silence longer than an event is a stall.
    let mut long = rates;
    long[8..12].fill(0);
    let found = of_bins(&bins(&long), &[], shortest(1.3)).unwrap();
    assert_eq!(
        found.spans,
        [Span {
            from_s: 8.0,
            to_s: 13.0
        }]
    );
}

#[test]
fn a_few_short_events_do_not_show_that_all_are_short() {
    let of = |percent, value_ms| dyno_core::summary::Percentile {
        percent,
        value_ms: Some(value_ms),
    };
    let service = |p95_ms: f64, max_ms| LatencySummary {
        mean_ms: Some(1000.0),
        max_ms,
        percentiles: vec![of(95.0, p95_ms), of(50.0, 900.0)],
        ..LatencySummary::default()
    };
    assert_eq!(usual_ms(&service(1200.0, Some(1500.0))), Some(1000.0));
    // The slower half takes 90 % of 1400 ms and 10 % of the maximum, at most.
    assert_eq!(usual_ms(&service(1400.0, Some(2300.0))), Some(1000.0));
    assert_eq!(usual_ms(&service(1400.0, Some(2500.0))), None);
    assert_eq!(usual_ms(&service(1200.0, None)), None);
}
