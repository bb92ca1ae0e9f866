//! Each side compared with the base, figure by figure.

use dyno_core::finding::Tally;
use dyno_verdict::{Basis, Comparison, Metric};

use super::super::figures;
use super::super::findings::chip;
use super::super::markup::Text;
use super::super::page::{Page, put};
use super::side::Side;
use super::{judged, swatch, verdict};
use crate::document;
use crate::terminal::{answer, interval, is_there, times};

/// Writes a table for each side but the first.
pub(super) fn write(page: &mut Page, sides: &[Side<'_, '_>]) {
    let (Some(base), others) = (sides.first(), sides.get(1..).unwrap_or_default()) else {
        return;
    };
    put!(
        page,
        "<section id=\"ratios\" aria-labelledby=\"ratios-h\"><h2 id=\"ratios-h\">Against {}</h2>",
        Text(&base.name)
    );
    page.entry("ratios", "Against the first");
    let alone = others.len() == 1;
    let mut any = false;
    for side in others {
        let Some(compared) = side.compared else {
            continue;
        };
        let open = if alone { " open" } else { "" };
        put!(
            page,
            "<details class=\"panel\"{open}><summary>{}{}</summary>",
            swatch(side.look.0),
            Text(answer(compared))
        );
        one(page, (base, side), compared);
        put!(page, "</details>\n");
        any = true;
    }
    match any {
        false => page.nothing("No figure could be compared."),
        true => put!(
            page,
            "<p class=\"source\">Change is new / base − 1: a ratio base / new of 1.30 is a loss of \
                23 %, not of 30 %. The bar shows the ratio with its interval on a logarithmic \
                scale from 0.5 to 2; the line in its middle is 1. p is corrected by Holm's method \
                for the number of figures.</p>\n"
        ),
    }
    page.end_section();
}

fn one(page: &mut Page, (base, side): (&Side<'_, '_>, &Side<'_, '_>), compared: &Comparison) {
    let (class, word) = verdict(Some(judged(compared)));
    let basis = match compared.basis {
        Basis::BetweenRuns => {
            "Intervals and significance are based on the variation between the runs of one side."
        }
        Basis::WithinRuns => {
            "Confidence intervals and significance are based on the seconds (or a log's intervals) \
             within the runs: they do not include run-to-run variation; run each side at least \
             three times to include it."
        }
    };
    put!(
        page,
        "<p class=\"about\"><span class=\"chip {class}\">{word}</span> {}. {basis}</p><div \
            class=\"scroll\"><table class=\"grid\"><thead><tr><th scope=\"col\">figure</th><th \
            scope=\"col\" class=\"n\">{}</th><th scope=\"col\" class=\"n\">{}</th><th \
            scope=\"col\" class=\"n\">ratio</th><th scope=\"col\" class=\"n\">interval \
            (95 %)</th><th scope=\"col\">0.5 – 1 – 2</th><th scope=\"col\" \
            class=\"n\">change</th><th scope=\"col\" class=\"n\">p</th><th \
            scope=\"col\">effect</th></tr></thead><tbody>",
        Tally::of(&compared.findings).words(),
        Text(&base.name),
        Text(&side.name)
    );
    for metric in compared.metrics.iter().filter(|metric| is_there(metric)) {
        row(page, metric);
    }
    page.end_table();
    doubts(page, compared);
}

/// The findings against the comparison.
fn doubts(page: &mut Page, compared: &Comparison) {
    let found = document::against(&compared.findings);
    if found.is_empty() {
        return;
    }
    put!(page, "<ul class=\"against\">");
    for finding in found {
        put!(
            page,
            "<li>{} <b>{}</b> {} {}</li>",
            chip(finding.outcome),
            Text(&finding.check),
            Text(&finding.evidence),
            Text(&finding.advice)
        );
    }
    put!(page, "</ul>");
}

fn row(page: &mut Page, metric: &Metric) {
    let change = metric.ratio.map_or("–".to_owned(), |ratio| {
        let sign = if ratio >= 1.0 { "+" } else { "" };
        format!("{sign}{} %", figures::significant((ratio - 1.0) * 100.0))
    });
    put!(
        page,
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
            class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{change}</td><td \
            class=\"n\">{}</td><td>{}{}</td></tr>",
        Text(&metric.name),
        Text(value(metric.base, &metric.unit)),
        Text(value(metric.new, &metric.unit)),
        metric.ratio.map_or("–".to_owned(), times),
        interval(metric, " – ").unwrap_or_else(|| "–".to_owned()),
        bar(metric),
        metric.p_corrected.map_or("–".to_owned(), probability),
        if metric.significant {
            "<span class=\"effect\">effect</span>"
        } else if metric.p_corrected.is_some() {
            "no effect shown"
        } else {
            "not tested"
        },
        match metric.remark.as_str() {
            "" => String::new(),
            remark => format!(" <span class=\"source\">{}</span>", Text(remark)),
        }
    );
}

/// A figure of `compare` in the page's units.
pub(super) fn value(value: Option<f64>, unit: &str) -> String {
    let (own, per) = match unit.split_once(" per ") {
        Some((own, per)) => (own, format!(" per {per}")),
        None => (unit, String::new()),
    };
    match (value, own) {
        (None, _) => "–".to_owned(),
        (Some(value), "per second") => figures::value(value, "count/s"),
        (Some(value), "KB") => figures::value(value, "kb") + &per,
        (Some(value), "us" | "ms" | "bytes" | "count") => figures::value(value, own) + &per,
        (Some(value), "") => figures::significant(value) + &per,
        (Some(value), own) => format!("{} {own}{per}", figures::significant(value)),
    }
}

fn probability(p: f64) -> String {
    match p < 0.001 {
        true => "&lt; 0.001".to_owned(),
        false => format!("{p:.3}"),
    }
}

/// A ratio with its interval, from a half to twice, on a logarithmic scale.
fn bar(metric: &Metric) -> String {
    let Some(ratio) = metric.ratio.filter(|ratio| *ratio > 0.0) else {
        return String::new();
    };
    let x = |ratio: f64| 60.0 + ratio.max(1e-9).log2().clamp(-1.0, 1.0) * 56.0;
    let unknown = metric.low.map_or(ratio, |_| f64::INFINITY);
    let (low, high) = (
        x(metric.low.unwrap_or(ratio)),
        x(metric.high.unwrap_or(unknown)),
    );
    // Beyond the scale it is an arrow, not a dot.
    let dot = match ratio.log2() {
        far if far > 1.0 => "<path class=\"far\" d=\"M113 3.500l6 4.500-6 4.500Z\"/>".to_owned(),
        far if far < -1.0 => "<path class=\"far\" d=\"M7 3.500l-6 4.500 6 4.500Z\"/>".to_owned(),
        _ => format!("<circle cx=\"{:.1}\" cy=\"8\" r=\"3.500\"/>", x(ratio)),
    };
    format!(
        "<svg class=\"ratio\" viewBox=\"0 0 120 16\" width=\"120\" height=\"16\" \
            aria-hidden=\"true\"><path class=\"one\" d=\"M60 0V16\"/><path class=\"interval\" \
            d=\"M{low:.1} 8H{high:.1}\"/>{dot}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn figures_of_compare_have_the_units_of_the_page() {
        let of = |number, unit| value(Some(number), unit);
        assert_eq!(of(4000.0, "per second"), "4,000/s");
        assert_eq!(of(812.4, "us per event"), "812 µs per event");
        assert_eq!(of(1536.0, "KB per event"), "1.50 MiB per event");
        assert_eq!(of(0.5, "per 100 attempts"), "0.5 per 100 attempts");
        assert_eq!(of(3.25, "ms"), "3.25 ms");
        assert_eq!(value(None, "ms"), "–");
    }
}
