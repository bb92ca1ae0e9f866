//! Latencies of a run, of each kind.

use dyno_core::summary::LatencySummary;

use super::{PAGE, Table, Value};

/// A row for each kind: its name, what it measures, and its figures. All rows have the percentiles
/// of the first.
pub(crate) fn latencies(kinds: &[(&str, &str, &LatencySummary)]) -> Table {
    let mut columns = Table::of(kinds)
        .text("time", 0, |kind| kind.0.to_owned())
        .text("measured", PAGE, |kind| kind.1.to_owned())
        .figure("events", PAGE, |kind| Value::Count(kind.2.count))
        .figure("min", 0, |kind| kind.2.min_ms.map(Value::Ms))
        .mean(0, of);
    for one in kinds.iter().take(1).flat_map(|kind| &kind.2.percentiles) {
        columns = columns.percentile(one.percent, 0, of);
    }
    columns
        .longest(0, of)
        .figure("std. deviation", PAGE, |kind| {
            kind.2.stddev_ms.map(Value::Ms)
        })
        .source(
            "the run's total histograms, exact sums and extremes. A percentile is omitted where \
             too few events are beyond it.",
        )
}

fn of<'k>(kind: &'k (&str, &str, &LatencySummary)) -> &'k LatencySummary {
    kind.2
}
