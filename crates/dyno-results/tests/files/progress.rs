//! Reads a run in progress step by step.

use crate::common::{head, interval, latencies};
use dyno_core::record::{Event, EventKind, SeriesKind};
use dyno_results::{ReadPosition, Results, RunStage};
use dyno_samples::values;
use tempfile::TempDir;

fn note(at_s: f64) -> Event {
    values::event(at_s, None, EventKind::Note, &format!("at {at_s}"))
}

#[test]
fn each_poll_returns_only_new_records() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut run = Results::open(&path)
        .unwrap()
        .begin(&head("followed"))
        .unwrap();
    let reader = Results::open_read(&path).unwrap();
    let mut position = ReadPosition::default();
    let nothing = reader.progress(run.id(), &mut position).unwrap();
    assert!(nothing.intervals.is_empty() && nothing.spans.is_empty());
    assert_eq!(nothing.head.stage, RunStage::Running);
    assert_eq!(nothing.head.name, "followed");
    assert_eq!(position, ReadPosition::default());

    let key = values::key("host.cpu.idle", "percent");
    let cpu = run.series(&key, SeriesKind::Gauge).unwrap();
    for number in 1..=3 {
        run.sample(f64::from(number), &[(cpu, f64::from(number) * 10.0)])
            .unwrap();
        run.event(&note(f64::from(number))).unwrap();
        let all = latencies(100 * u64::from(number), 5);
        run.interval(&interval(number), &[("event", &all), ("PAY", &all)])
            .unwrap();
        let seen = reader.progress(run.id(), &mut position).unwrap();
        assert_eq!(
            format!("{:?}", seen.intervals),
            format!("{:?}", [interval(number)])
        );
        assert_eq!(seen.events, [note(f64::from(number))]);
        let spans: Vec<_> = seen
            .spans
            .iter()
            .map(|(name, span)| (&name[..], span.count))
            .collect();
        let count = 100 * u64::from(number);
        assert_eq!(spans, [("event", count), ("PAY", count)]);
        let last = seen.samples.last().unwrap();
        assert_eq!(
            (&last.name[..], &last.unit[..]),
            ("host.cpu.idle", "percent")
        );
        assert_eq!(
            (last.at_s, last.value),
            (f64::from(number), f64::from(number) * 10.0)
        );
    }
    let idle = reader.progress(run.id(), &mut position).unwrap();
    assert!(idle.intervals.is_empty() && idle.spans.is_empty() && idle.events.is_empty());
    // The first call returns everything in order.
    let all = reader
        .progress(run.id(), &mut ReadPosition::default())
        .unwrap();
    let ends: Vec<f64> = all.intervals.iter().map(|interval| interval.at_s).collect();
    assert!(ends.len() == 3 && ends.is_sorted(), "{ends:?}");
    assert_eq!(all.spans.len(), 6);
    assert_eq!(all.samples.len(), 3);
    assert!(
        reader
            .progress(run.id() + 1, &mut ReadPosition::default())
            .is_err()
    );
}
