//! Latencies in time: percentiles as lines, all latencies as a heat map.

use dyno_core::record::{Operation, Span};
use dyno_stats::median;
use hdrhistogram::Histogram;

use super::chart::{Axis, Chart, Choice, Compact, Heat, Look, Time};
use super::page::{Caption, Page, source_note};
use super::run::View;
use super::thin::{Keep, thin};
use super::throughput::POINTS_MAX;
use crate::number;

/// The most columns of a heat map, so that finer data need not be loaded.
pub const COLUMNS_MAX: usize = 240;
/// Rows of a heat map per factor of ten.
const ROWS_PER_DECADE: f64 = 14.0;
/// The last row is for everything longer.
const ROWS_MAX: usize = 120;
const NS_PER_MS: f64 = 1e6;

/// Writes the section on latencies in time.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "latency", "Latency over time");
    percentiles(page, view);
    heat(page, view);
    page.end_section();
}

/// The requested percentiles of each interval.
fn percentiles(page: &mut Page, view: &View<'_>) {
    let mut lines = Vec::new();
    let mut note = String::new();
    let asked = &view.run.head.percentiles;
    for (n, percent) in asked.iter().enumerate() {
        let line = thin(
            &view.percentile_over_time(*percent),
            view.points(POINTS_MAX),
            Keep::Extremes,
        );
        if line.y.iter().all(|ms| !ms.is_finite()) {
            continue;
        }
        note = source_note("percentiles of each interval", &line, Keep::Extremes);
        let name = format!("p{}", number::plain(*percent));
        lines.push(page.line(&name, 0, &line, Look::Line, [4, 0, 1, 5, 7, 2][n % 6]));
    }
    if lines.is_empty() {
        page.nothing(
            "There are no percentiles over time: no interval has enough events, or none were \
             recorded.",
        );
        return;
    }
    let word = view.latency_word();
    let mut axis = Axis::new(word, "ms");
    axis.log = true;
    let title = match lines.as_slice() {
        // A chart with one line has no legend for its name.
        [line] => format!("{} {word}", line.name),
        _ => format!("Percentiles of {word}"),
    };
    let caption = Caption {
        id: "percentiles",
        title: &title,
        about: "Percentiles of each interval on a logarithmic axis. A gap means that the interval \
                has too few events.",
        source: &note,
        size: "",
    };
    let run = view.index;
    let time = Time {
        run,
        axes: vec![axis],
        lines,
        slider: false,
    };
    page.figure(view, &caption, Chart::Time(time));
}

/// Every operation's latencies in time.
fn heat(page: &mut Page, view: &View<'_>) {
    let operations = view.run.operations.iter();
    let maps: Vec<(String, Heat)> = operations
        .filter_map(|operation| Some((operation.name.clone(), heat_of(view, operation)?)))
        .collect();
    let Some((_, first)) = maps.first() else {
        page.nothing("There is no heat map: the run has no recorded latencies over time.");
        return;
    };
    let merged = match merged_s(view, &first.columns) {
        Some(length_s) => format!(
            "spans of the run, merged into {} columns of about {}",
            first.columns.len(),
            number::length(length_s)
        ),
        None => "spans of the run".to_owned(),
    };
    let caption = Caption {
        id: "heat",
        title: if view.is_open() {
            "Response times as a heat map"
        } else {
            "Latencies as a heat map"
        },
        about: "Each column is a span of time, each row a range of latencies. Darker cells \
                (brighter on a dark page) have more operations. A second stripe means a second \
                path, such as cache and disk.",
        source: &merged,
        size: "tall",
    };
    page.figure(view, &caption, Chart::Heat(Choice { of: maps }));
}

fn heat_of(view: &View<'_>, operation: &Operation) -> Option<Heat> {
    let columns = columns(&operation.spans);
    let filled = || columns.iter().filter(|column| !column.latencies.is_empty());
    let low_ns = filled().map(|column| column.latencies.min()).min()?.max(1);
    let high_ns = filled()
        .map(|column| column.latencies.max())
        .max()?
        .max(low_ns + 1);
    let first = (low_ns as f64).log10() * ROWS_PER_DECADE;
    let first = first.floor();
    let last = ((high_ns as f64).log10() * ROWS_PER_DECADE).floor() + 1.0;
    let count = ((last - first) as usize).clamp(1, ROWS_MAX);
    let bound_ms =
        |row: usize| Compact(10_f64.powf((first + row as f64) / ROWS_PER_DECADE) / NS_PER_MS);
    let mut cells = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let mut rows = vec![0_u64; count];
        for value in column.latencies.iter_recorded() {
            let ns = value.value_iterated_to().max(1) as f64;
            let row = (ns.log10() * ROWS_PER_DECADE - first).max(0.0) as usize;
            rows[row.min(count - 1)] += value.count_since_last_iteration();
        }
        let length_s = (column.to_s - column.from_s).max(1e-9);
        for (row, count) in rows.iter().enumerate().filter(|(_, count)| **count > 0) {
            cells.extend([
                Compact(number as f64),
                Compact(row as f64),
                Compact(*count as f64 / length_s),
            ]);
        }
    }
    Some(Heat {
        run: view.index,
        columns: columns
            .iter()
            .map(|c| (Compact(c.from_s), Compact(c.to_s)))
            .collect(),
        rows: (0..=count).map(bound_ms).collect(),
        cells,
    })
}

/// The length of columns if several intervals were merged into one.
fn merged_s(view: &View<'_>, columns: &[(Compact, Compact)]) -> Option<f64> {
    let lengths: Vec<f64> = columns.iter().map(|(from, to)| to.0 - from.0).collect();
    let intervals: Vec<f64> = view.run.intervals.iter().map(|i| i.length_s).collect();
    let (column_s, interval_s) = (median(&lengths)?, median(&intervals)?);
    (column_s > 1.5 * interval_s).then_some(column_s)
}

/// Adjacent spans, merged.
struct Column {
    from_s: f64,
    to_s: f64,
    latencies: Histogram<u64>,
}

fn columns(spans: &[Span]) -> Vec<Column> {
    let per_column = spans.len().div_ceil(COLUMNS_MAX).max(1);
    spans.chunks(per_column).filter_map(column).collect()
}

fn column(spans: &[Span]) -> Option<Column> {
    let (first, last) = (spans.first()?, spans.last()?);
    let mut latencies = Histogram::new_from(user_latencies(first));
    latencies.auto(true);
    for span in spans {
        // Fails only if a histogram must grow beyond the available memory.
        latencies.add(user_latencies(span)).ok()?;
    }
    Some(Column {
        from_s: first.from_s,
        to_s: last.to_s,
        latencies,
    })
}

/// The latencies that users saw: response times if recorded, else service times.
pub(super) fn user_latencies(span: &Span) -> &Histogram<u64> {
    if span.response.is_empty() {
        &span.service
    } else {
        &span.response
    }
}

/// All spans of an operation merged, or its total.
pub(super) fn whole(operation: &Operation) -> Option<Histogram<u64>> {
    if let Some(total) = &operation.total {
        return Some(user_latencies(total).clone());
    }
    column(&operation.spans).map(|column| column.latencies)
}
