//! Latencies: a table of percentiles and the distribution.

use dyno_core::record::NotObserved;
use dyno_core::summary::{Bucket, LatencySummary, RunSummary};
use dyno_core::unknown::TOTALS_UNKNOWN;

use super::look::{Ink, columns};
use super::page::Page;
use super::spark::{grouped, sparkline, sum};
use super::words::EventWord;
use crate::document::{self, PAGE};
use crate::number::{latency, thousands};
use dyno_analysis::summarize::SAMPLES_BEYOND_MIN;

/// The width of a bound in a distribution.
const BOUND_WIDTH: usize = 9;

/// Maximum width of a distribution with its bounds, in columns, in a wide terminal or a pipe.
const BARS_MAX: usize = 120;

/// More buckets than Dyno's histograms have: a damaged summary must not allocate gigabytes.
const AXIS_BUCKETS_MAX: i32 = 1000;

/// The latencies of the run.
pub(super) fn section(run: &RunSummary, page: &mut Page) {
    let known = |of: &&LatencySummary| of.count > 0;
    let service = Some(&run.service).filter(known);
    // A log may have response times only.
    let response = run.response.as_ref();
    let response = response.filter(|of| service.is_some() || known(of));
    if service.or(response).is_none() && run.totals.events > 0 {
        page.row("latency", Ink::Plain, "of the whole run: not known");
        return;
    }
    if service.or(response).is_none() {
        page.row("latency", Ink::Warning, &unknown(run));
        return;
    }
    let service = service.map(|of| ("  service", of));
    let response = response.map(|of| ("  response", of));
    let rows: Vec<_> = service.into_iter().chain(response).collect();
    table("latency", &rows, page);
    distribution(&rows, page);
    let clipped = run.service.clipped + run.response.as_ref().map_or(0, |r| r.clipped);
    if clipped > 0 {
        let text = format!(
            "{} latencies of more than an hour count as one hour.",
            thousands(clipped)
        );
        page.row("", Ink::Plain, &text);
    }
}

/// Why there are no latencies.
pub(super) fn unknown(run: &RunSummary) -> String {
    let none = |gap: &NotObserved| gap.what == TOTALS_UNKNOWN;
    match run.totals.events {
        0 if !run.not_observed.iter().any(none) => format!(
            "No {} finished, so there is no latency to report.",
            EventWord::of(run).one()
        ),
        _ => "Unknown: no latency distribution is recorded.".to_owned(),
    }
}

/// A table with a row for each summary, split into bands if there are many percentiles.
pub(super) fn table(label: &str, rows: &[(&str, &LatencySummary)], page: &mut Page) {
    let kinds: Vec<_> = rows.iter().map(|(name, of)| (*name, "", *of)).collect();
    let mut table = document::latencies(&kinds);
    table.retain(|head| head.rank != PAGE);
    let heads = table.heads.iter().skip(1);
    let width = heads
        .map(|head| columns(&head.name) + 2)
        .fold(9, usize::max);
    let per_band = (page.body_width() / width).max(1);
    let texts = table.texts();
    let mut label = label;
    for from in (1..table.heads.len()).step_by(per_band) {
        for (number, row) in texts.iter().enumerate() {
            let cells = row.iter().skip(from).take(per_band);
            let cells: String = cells.map(|(_, text)| right(text, width)).collect();
            match number {
                0 => page.line(label, Ink::Strong, &[(Ink::Faint, &cells)]),
                _ => page.line(&row[0].1, Ink::Plain, &[(Ink::Plain, &cells)]),
            }
        }
        label = "";
    }
    if let Some((_, summary)) = rows.iter().find(|(_, s)| lacks_samples(s)) {
        let text = format!(
            "– where fewer than {SAMPLES_BEYOND_MIN} of the {} samples lie beyond the percentile",
            thousands(summary.count)
        );
        for line in super::look::wrap(&text, page.body_width()) {
            page.line("", Ink::Plain, &[(Ink::Faint, &line)]);
        }
    }
}

fn lacks_samples(summary: &LatencySummary) -> bool {
    summary.percentiles.iter().any(|p| {
        let beyond = summary.count as f64 * p.percent.min(100.0 - p.percent) / 100.0;
        p.value_ms.is_none() && summary.count > 0 && beyond < SAMPLES_BEYOND_MIN
    })
}

/// The distributions over a common axis.
fn distribution(rows: &[(&str, &LatencySummary)], page: &mut Page) {
    let buckets = || rows.iter().flat_map(|(_, summary)| &summary.buckets);
    let low = buckets().map(|b| b.from_ms).fold(f64::INFINITY, f64::min);
    let high = buckets().map(|b| b.to_ms).fold(0.0, f64::max);
    if buckets().next().is_none() {
        return;
    }
    let width = page.body_width().min(BARS_MAX) - 2 * (BOUND_WIDTH + 1);
    let axis = axis(rows);
    let from = right(&latency(low), BOUND_WIDTH);
    for (i, (name, summary)) in rows.iter().enumerate() {
        let counts: Vec<f64> = axis
            .iter()
            .map(|&from_ms| count_at(&summary.buckets, from_ms))
            .collect();
        let bars = sparkline(&grouped(&counts, width, sum));
        let label = match (rows.len(), i) {
            (1, _) => "distribution",
            _ => name,
        };
        if rows.len() > 1 && i == 0 {
            page.line("distribution", Ink::Strong, &[]);
        }
        let ink = if rows.len() > 1 {
            Ink::Plain
        } else {
            Ink::Strong
        };
        let to = latency(high);
        page.line(
            label,
            ink,
            &[
                (Ink::Faint, &from),
                (Ink::Plain, " "),
                (Ink::Good, &bars),
                (Ink::Plain, " "),
                (Ink::Faint, &to),
            ],
        );
    }
}

/// The lower bounds of all buckets of all rows, with gaps between rows filled.
fn axis(rows: &[(&str, &LatencySummary)]) -> Vec<f64> {
    let mut bounds: Vec<f64> = Vec::new();
    let all = || rows.iter().flat_map(|(_, summary)| &summary.buckets);
    let Some(lowest) = all().min_by(|a, b| a.from_ms.total_cmp(&b.from_ms)) else {
        return bounds;
    };
    let high = all().map(|b| b.to_ms).fold(0.0, f64::max);
    // Buckets have equal logarithmic width, so one bucket's ratio gives all bounds.
    let ratio = lowest.to_ms / lowest.from_ms;
    if !(ratio > 1.0 && lowest.from_ms > 0.0 && high.is_finite()) {
        return bounds;
    }
    let count = ((high / lowest.from_ms).ln() / ratio.ln()).round() as i32;
    let count = count.min(AXIS_BUCKETS_MAX);
    bounds.extend((0..count).map(|i| lowest.from_ms * ratio.powi(i)));
    bounds
}

/// The count of the bucket that begins at `from_ms`, allowing for rounding.
fn count_at(buckets: &[Bucket], from_ms: f64) -> f64 {
    buckets
        .iter()
        .filter(|bucket| (bucket.from_ms / from_ms - 1.0).abs() < 0.01)
        .map(|bucket| bucket.count as f64)
        .sum()
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}
