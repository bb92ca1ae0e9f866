//! Runs set against a base.

use dyno_core::finding::Outcome;
use dyno_verdict::{Basis, Better, Comparison, Metric, Side};

use super::look::{Ink, Look};
use super::page::Page;
use super::table::{Align, Table};
use crate::number::plain;

/// The comparison: who, the ratios with their intervals, what differs besides, and what to think
/// of it.
pub fn comparison(comparison: &Comparison, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&format!(
        "{} against {}",
        names(&comparison.new),
        names(&comparison.base)
    ));
    for (label, side) in [("base", &comparison.base), ("new", &comparison.new)] {
        page.row(label, Ink::Plain, &described(side));
    }
    page.blank();
    let mut out = page.finish();
    out.push('\n');
    out.push_str(&metrics(&comparison.metrics, look));
    let mut page = Page::new(*look);
    page.blank();
    rests(comparison, &mut page);
    out.push_str(&page.finish());
    out
}

/// What the figures rest on, what differs, and what speaks against the comparison.
fn rests(comparison: &Comparison, page: &mut Page) {
    remarks(&comparison.metrics, page);
    page.row(
        "basis",
        Ink::Faint,
        match comparison.basis {
            Basis::BetweenRuns => {
                "Intervals and significance rest on how much the runs of one side differ."
            }
            Basis::WithinRuns => {
                "Intervals and significance rest on the seconds within the runs; how much runs of \
                 the same differ is not in them: three or more a side would tell."
            }
        },
    );
    let (meant, unmeant): (Vec<_>, Vec<_>) = comparison
        .differences
        .iter()
        .partition(|difference| difference.intended);
    let told = |difference: &&dyno_verdict::Difference| {
        format!(
            "{}: {} → {}",
            difference.what,
            or_dash(&difference.base),
            or_dash(&difference.new)
        )
    };
    for (label, ink, differences) in [
        ("intended", Ink::Plain, meant),
        ("differs too", Ink::Warning, unmeant),
    ] {
        let mut label = label;
        for difference in &differences {
            page.row(label, ink, &told(difference));
            label = "";
        }
    }
    for finding in &comparison.findings {
        let (label, ink) = match finding.outcome {
            Outcome::Refuse => ("refused", Ink::Error),
            Outcome::Doubt => ("doubt", Ink::Warning),
            Outcome::Pass | Outcome::NotChecked => continue,
        };
        page.row(
            label,
            ink,
            &format!("{}: {}", finding.check, finding.evidence),
        );
        if !finding.advice.is_empty() {
            page.row("", Ink::Plain, &finding.advice);
        }
    }
}

/// Remarks, each with the metrics that it is about.
fn remarks(metrics: &[Metric], page: &mut Page) {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for metric in metrics.iter().filter(|metric| !metric.remark.is_empty()) {
        match told.iter_mut().find(|(remark, _)| *remark == metric.remark) {
            Some((_, names)) => names.push(&metric.name),
            None => told.push((&metric.remark, vec![&metric.name])),
        }
    }
    let mut label = "remarks";
    for (remark, names) in told {
        page.row(
            label,
            Ink::Faint,
            &format!("{}: {remark}", names.join("; ")),
        );
        label = "";
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

fn names(side: &Side) -> String {
    let runs: Vec<String> = side.runs.iter().map(|run| run.id.to_string()).collect();
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    format!("{plural} {}", runs.join(", "))
}

fn described(side: &Side) -> String {
    let mut parts: Vec<String> = side
        .runs
        .iter()
        .map(|run| {
            let verdict = run.verdict.map_or("not judged", |verdict| verdict.word());
            match run.waived.as_slice() {
                [] => format!("{} ({verdict})", run.name),
                waived => format!("{} ({verdict}, waived: {})", run.name, waived.join(", ")),
            }
        })
        .collect();
    if let (Some(mean), Some(median)) = (side.mean_per_s, side.median_per_s) {
        parts.push(format!(
            "mean {} /s, median second {} /s",
            digits(mean),
            digits(median)
        ));
    }
    if let (Some(stalls), Some(stalled_s)) = (side.stalls, side.stalled_s) {
        let each = if stalls == 1 { "stall" } else { "stalls" };
        parts.push(format!("{stalls} {each}, {:.0} s", stalled_s.max(0.0)));
    }
    parts.join("; ")
}

fn metrics(metrics: &[Metric], look: &Look) -> String {
    let mut table = Table::new(&[
        ("", Align::Whole),
        ("base", Align::Right),
        ("new", Align::Right),
        ("new/base", Align::Right),
        ("95 % interval", Align::Right),
        ("p", Align::Right),
        ("", Align::Left),
    ]);
    for metric in metrics {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
        let interval = match (metric.low, metric.high) {
            (Some(low), Some(high)) => format!("{low:.3} – {high:.3}"),
            (Some(low), None) => format!("{low:.3} – unbounded"),
            _ => "–".to_owned(),
        };
        let (ink, said) = said(metric);
        table.row(vec![
            (Ink::Plain, format!("{}, {}", metric.name, metric.unit)),
            (Ink::Plain, number(metric.base)),
            (Ink::Plain, number(metric.new)),
            (
                if metric.significant {
                    Ink::Strong
                } else {
                    Ink::Plain
                },
                metric
                    .ratio
                    .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}")),
            ),
            (Ink::Plain, interval),
            (
                Ink::Faint,
                metric.p_corrected.map_or_else(|| "–".to_owned(), chance),
            ),
            (ink, said),
        ]);
    }
    table.finish(look)
}

/// What the ratio means in words, and in which colour.
fn said(metric: &Metric) -> (Ink, String) {
    let Some(ratio) = metric.ratio.filter(|_| metric.significant) else {
        return (Ink::Faint, String::new());
    };
    let better = match metric.better {
        Better::Higher => ratio > 1.0,
        Better::Lower => ratio < 1.0,
    };
    let (ink, word) = if better {
        (Ink::Good, "better")
    } else {
        (Ink::Error, "worse")
    };
    (ink, word.to_owned())
}

fn chance(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// Four digits, as the intervals carry no more.
fn digits(value: f64) -> String {
    let magnitude = value.abs().max(1e-12).log10().floor() as i32;
    let scale = 10_f64.powi(3 - magnitude.clamp(-12, 3));
    plain((value * scale).round() / scale)
}
