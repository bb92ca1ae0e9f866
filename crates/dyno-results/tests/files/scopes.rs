//! A run that is loaded in part must agree with the whole run.

use crate::common::{self, head, histogram, interval};
use dyno_core::record::{Operation, RunRecord, Span};
use dyno_results::{Results, SPANS_HELD_MAX, Scope};
use hdrhistogram::Histogram;
use tempfile::TempDir;

/// So many spans per operation that loading merges them.
const SPANS: u64 = SPANS_HELD_MAX as u64 / 2 + 400;
const INTERVALS: u32 = 50;
const COLUMNS: usize = 240;
const PERCENTS: [f64; 6] = [0.0, 50.0, 95.0, 99.0, 99.9, 100.0];

/// Latencies from a microsecond to a minute. Every seventh span of one operation has none.
fn span(operation: u64, number: u64) -> Span {
    let count = if operation == 1 && number.is_multiple_of(7) {
        0
    } else {
        1 + number % 4
    };
    let service: Vec<u64> = (0..count)
        .map(|n| 1000 + (number * 7_919_393 + n * 104_729 + operation) % 50_000_000)
        .collect();
    let response: Vec<u64> = service.iter().map(|ns| ns * 1_200).collect();
    let response = if operation == 1 { &response[..] } else { &[] };
    // The first spans belong to the warm-up.
    let from_s = number as f64 - 20.0;
    common::span(from_s, from_s + 1.0, &service, response)
}

/// Records a run with this many spans. Returns the results file and the number of the run.
fn recorded(spans: u64) -> (TempDir, Results, i64) {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    drop(
        Results::open(results.path())
            .unwrap()
            .begin(&head("first"))
            .unwrap(),
    );
    let mut run = results.load(1, &Scope::every()).unwrap();
    run.head.name = "recorded".to_owned();
    run.intervals = (1..=INTERVALS).map(interval).collect();
    run.operations = (0..2)
        .map(|operation| Operation {
            name: format!("OP_{operation}"),
            spans: (0..spans).map(|number| span(operation, number)).collect(),
            total: None,
        })
        .collect();
    let id = results.import(&run).unwrap();
    (folder, results, id)
}

/// All spans of an operation together.
#[derive(Debug, PartialEq)]
struct Aggregate {
    name: String,
    from_to_s: Vec<f64>,
    count: u64,
    sum_ns: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    service: Vec<u64>,
    response: Vec<u64>,
}

fn aggregate(operation: &Operation) -> Aggregate {
    let spans = &operation.spans;
    let filled = || spans.iter().filter(|span| span.count > 0);
    let merged = |of: fn(&Span) -> &Histogram<u64>| {
        let mut sum = histogram(&[]);
        for span in spans {
            sum.add(of(span)).unwrap();
        }
        let values = PERCENTS.map(|percent| sum.value_at_percentile(percent));
        [values.as_slice(), &[sum.len()]].concat()
    };
    let ends = [spans.first().unwrap().from_s, spans.last().unwrap().to_s];
    Aggregate {
        name: operation.name.clone(),
        from_to_s: ends.to_vec(),
        count: spans.iter().map(|span| span.count).sum(),
        sum_ns: spans.iter().map(|span| span.service_ns_sum).sum(),
        min_ns: filled().map(|span| span.service_ns_min).min(),
        max_ns: filled().map(|span| span.service_ns_max).max(),
        service: merged(|span| &span.service),
        response: merged(|span| &span.response),
    }
}

fn aggregates(run: &RunRecord) -> Vec<Aggregate> {
    run.operations.iter().map(aggregate).collect()
}

#[test]
fn columns_add_up_to_the_whole() {
    let (_folder, results, id) = recorded(SPANS);
    let every = results.load(id, &Scope::every()).unwrap();
    let whole = results.load(id, &Scope::whole()).unwrap();
    let columns = results.load(id, &Scope::columns(COLUMNS)).unwrap();
    assert_eq!(aggregates(&columns), aggregates(&whole));
    assert_eq!(aggregates(&columns), aggregates(&every));
    assert_eq!(
        format!("{:?}", columns.intervals),
        format!("{:?}", whole.intervals)
    );
    for ((every, whole), columns) in
        (every.operations.iter().zip(&whole.operations)).zip(&columns.operations)
    {
        assert_eq!(every.spans.len() as u64, SPANS);
        assert!(whole.spans.len() < every.spans.len());
        assert_eq!(columns.spans.len(), COLUMNS);
        // Spans are adjacent, not empty, and of about equal length.
        for pair in columns.spans.windows(2) {
            assert_eq!(pair[0].to_s, pair[1].from_s);
        }
        let nominal_s = SPANS as f64 / COLUMNS as f64;
        for span in &columns.spans {
            let length_s = span.to_s - span.from_s;
            assert!((length_s - nominal_s).abs() <= 1.0, "{length_s} s");
        }
    }
}

#[test]
fn a_short_run_has_its_spans_as_they_are() {
    let spans = COLUMNS + 60;
    let (_folder, results, id) = recorded(spans as u64);
    let every = results.load(id, &Scope::every()).unwrap();
    let columns = results.load(id, &Scope::columns(COLUMNS)).unwrap();
    assert_eq!(aggregates(&columns), aggregates(&every));
    assert!(
        columns
            .operations
            .iter()
            .all(|operation| operation.spans.len() == spans)
    );
}

#[test]
fn a_terminal_has_the_events_of_each_interval() {
    let (_folder, results, id) = recorded(20);
    let summary = results.load(id, &Scope::summary()).unwrap();
    let terminal = results.load(id, &Scope::terminal()).unwrap();
    let intervals = |run: &RunRecord| -> Vec<(f64, f64, u64)> {
        let intervals = run.intervals.iter();
        intervals
            .map(|i| (i.at_s, i.length_s, i.counters.events))
            .collect()
    };
    assert_eq!(intervals(&terminal), intervals(&summary));
    assert_eq!(terminal.intervals.len(), INTERVALS as usize);
    assert!(
        terminal
            .intervals
            .iter()
            .all(|interval| interval.percentiles.is_empty())
    );
    for run in [&summary, &terminal] {
        assert!(run.series.is_empty());
        assert!(
            run.operations
                .iter()
                .all(|operation| operation.spans.is_empty())
        );
    }
}
