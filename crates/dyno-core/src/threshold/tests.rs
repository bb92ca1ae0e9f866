use super::*;
use crate::reported::Figure;
use crate::summary::{Percentile, Rates};

fn run() -> RunSummary {
    RunSummary {
        rates: Rates {
            events_per_s: 999.5,
            queries_per_s: Some(20_000.0),
            ..Rates::default()
        },
        service: LatencySummary {
            count: 1000,
            mean_ms: Some(8.0),
            max_ms: Some(60.0),
            percentiles: vec![
                Percentile {
                    percent: 99.0,
                    value_ms: Some(23.14),
                },
                Percentile {
                    percent: 99.9,
                    value_ms: None,
                },
            ],
            ..LatencySummary::default()
        },
        figures: vec![Figure {
            name: "new orders".to_owned(),
            value: 12.0,
            unit: "per minute".to_owned(),
            better: None,
        }],
        ..RunSummary::default()
    }
}

fn held(text: &str) -> ThresholdResult {
    text.parse::<Threshold>().unwrap().judge(&run())
}

#[test]
fn conditions_that_hold_fail_the_run() {
    for (text, failed, line) in [
        ("p99 > 20ms", true, "p99 > 20ms: 23.1 ms"),
        ("p99>23.14ms", false, "p99 > 23.14ms: 23.1 ms"),
        ("p99 >= 23140us", true, "p99 >= 23.14ms: 23.1 ms"),
        ("rate < 1000", true, "rate < 1000/s: 1,000/s"),
        ("tps <= 1k/s", true, "rate <= 1000/s: 1,000/s"),
        ("qps < 20k", false, "queries < 20000/s: 20,000/s"),
        ("mean > 10ms", false, "mean > 10ms: 8.00 ms"),
        ("max > 1s", false, "max > 1s: 60.0 ms"),
        ("errors > 0", false, "errors > 0: 0"),
        ("errors > 1%", false, "errors > 1 %: 0.00 %"),
        ("new_orders < 13", true, "new_orders < 13: 12"),
    ] {
        let held = held(text);
        assert_eq!((held.failed, &*held.line()), (failed, line), "{text}");
    }
}

#[test]
fn a_missing_figure_fails_with_the_reason() {
    for (text, why) in [
        ("p99.9 > 1s", "too few samples"),
        ("p95 > 1s", "not recorded"),
        ("new_order.p99 > 1s", "no 'new_order'"),
        ("tpmC < 10", "it reports new orders"),
        ("rate < 0.95x", "for `dyno compare`"),
    ] {
        let held = held(text);
        assert!(held.failed && held.line().contains(why), "{}", held.line());
    }
}

#[test]
fn refuses_invalid_conditions_with_a_reason() {
    for (text, why) in [
        ("p99", "a relation is missing"),
        ("> 3", "a figure is missing"),
        ("p99 > 20", "has no unit"),
        ("p99 > fast", "duration"),
        ("p101 > 20ms", "not a percentile"),
        ("rat < 10", "did you mean 'rate'"),
        ("rate < many", "rate"),
        ("rate < nanx", "not a number"),
        ("rate < -1x", "a ratio must be above 0"),
        ("rate < 0x", "a ratio must be above 0"),
        ("errors > -1%", "cannot be negative"),
    ] {
        let error = text.parse::<Threshold>().unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(text), "{error}");
    }
}

#[test]
fn a_condition_reads_as_it_was_typed_and_is_read_again() {
    for text in [
        "p99.9 > 20ms",
        "new_order.p95 >= 1.5s",
        "rate < 0.95x",
        "errors > 1%",
    ] {
        let first: Threshold = text.parse().unwrap();
        let again: Threshold = first.to_string().parse().unwrap();
        assert_eq!(first, again, "{text}");
    }
}

#[test]
fn an_interval_decides_only_as_a_whole() {
    let slower: Threshold = "rate < 0.95x".parse().unwrap();
    assert!(slower.is_ratio() && slower.metric() == "events");
    assert_eq!(slower.holds_between(0.8, 0.9), Some(true));
    assert_eq!(slower.holds_between(0.9, 1.0), None);
    assert_eq!(slower.holds_between(0.96, 1.1), Some(false));
}

#[test]
fn unfinished_events_fail_latency_conditions() {
    let hung = RunSummary {
        events_unfinished: Some(4),
        drive: Some(crate::plan::Drive::default()),
        ..run()
    };
    let judged = |text: &str, run: &RunSummary| text.parse::<Threshold>().unwrap().judge(run);
    for text in ["max > 1s", "p99.7 > 1s", "mean > 11ms"] {
        let held = judged(text, &hung);
        assert!(held.failed, "{text}: {}", held.line());
    }
    let held = judged("max > 1s", &hung);
    assert_eq!(
        held.line(),
        "max > 1s: 4 event(s) were unfinished at the end of the run; of the finished events, 60.0 \
         ms"
    );
    // Four of a thousand do not reach down to the 99th percentile.
    assert!(!judged("p99 > 1s", &hung).failed);
    assert!(!judged("mean > 20ms", &hung).failed);
    // A condition that holds anyway has its figure.
    assert_eq!(judged("max > 50ms", &hung).line(), "max > 50ms: 60.0 ms");
    let behind = RunSummary {
        open_loop: Some(crate::summary::OpenLoopSummary {
            offered_per_s: 400.0,
            backlog: Some(388),
            backlog_max: Some(388),
            achieved_per_s: 300.0,
            pacing_lag: None,
        }),
        ..run()
    };
    assert!(judged("max > 500ms", &behind).failed);
    assert!(!judged("max > 1s", &behind).failed);
}
