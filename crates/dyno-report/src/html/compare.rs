//! Several runs beside each other.

use dyno_core::finding::{Tally, Verdict};
use dyno_stats::describe;

use super::chart::{Axis, Boxes, Chart, Compact, Jitter};
use super::figures;
use super::markup::Text;
use super::page::{Caption, Page, put};
use super::run::View;
use super::{Comparison, ComparisonRow};
use crate::number;

/// Dots of one run.
const DOTS_MAX: usize = 1_500;
/// Outliers of one run.
const OUTLIERS_MAX: usize = 300;

/// Writes what comes before the runs themselves.
pub(super) fn write(
    page: &mut Page,
    views: &[View<'_>],
    title: &str,
    comparison: Option<&Comparison>,
) {
    put!(
        page,
        "<section class=\"overview\" id=\"runs\" aria-labelledby=\"runs-h\"><h1 \
            id=\"runs-h\">{}</h1>",
        Text(title)
    );
    page.entry("runs", "Runs");
    table(page, views);
    page.end_section();
    if let Some(comparison) = comparison {
        ratios(page, views, comparison);
        differences(page, views, comparison);
    }
    put!(
        page,
        "<section id=\"spread\" aria-labelledby=\"spread-h\"><h2 id=\"spread-h\">Spread of \
            seconds</h2>"
    );
    page.entry("spread", "Spread of seconds");
    dots(page, views);
    boxes(page, views);
    page.end_section();
}

fn table(page: &mut Page, views: &[View<'_>]) {
    put!(page, "<div class=\"panel\">");
    page.table(&[
        "run",
        "what",
        "verdict",
        "#events/s",
        "#median",
        "#p99",
        "#errors",
        "#server CPU \
    per event",
        "#stalls",
    ]);
    for view in views {
        let (class, word) = match view.run.verdict {
            None => ("", "not judged"),
            Some(Verdict::Valid) => ("pass", "✓ valid"),
            Some(Verdict::Doubtful) => ("doubt", "▲ doubtful"),
            Some(Verdict::Refused) => ("refuse", "✕ refused"),
        };
        let waived = Tally::of(&view.run.findings).waived;
        let word = match waived {
            0 => word.to_owned(),
            waived => format!("{word}, {waived} waived"),
        };
        let p99 = view
            .latency()
            .and_then(|l| l.percentiles.iter().find(|p| p.percent == 99.0)?.value_ms);
        let errors = view
            .run
            .summary
            .as_ref()
            .map(|s| s.errors.values().map(|e| e.count).sum::<u64>());
        let cpu = view.costs.iter().find(|cost| cost.name == "server CPU");
        put!(
            page,
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}<br><span \
                class=\"source\">{}</span></td><td><span class=\"chip \
                {class}\">{word}</span></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
                class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
                class=\"n\">{}</td></tr>",
            view.id("overview"),
            Text(&view.label),
            Text(view.title()),
            Text(&view.run.head.name),
            figures::maybe(view.rate_per_s(), "count"),
            figures::maybe(view.median_per_s, "count"),
            figures::maybe(p99, "ms"),
            errors.map_or("–".to_owned(), number::thousands),
            Text(cpu.map_or("–".to_owned(), |cost| figures::maybe(
                cost.value, &cost.unit
            ))),
            match &view.stalls {
                Ok(found) => found.spans.len().to_string(),
                Err(_) => "–".to_owned(),
            }
        );
    }
    put!(
        page,
        "</tbody></table></div><p class=\"source\">Source: summaries; median and stalls of the \
            intervals. Mean, median and stalls stand side by side because each hides what the \
            others show.</p></div>\n"
    );
}

fn label<'a>(views: &'a [View<'_>], run: usize) -> &'a str {
    views.get(run).map_or("?", |view| view.label.as_str())
}

fn ratios(page: &mut Page, views: &[View<'_>], comparison: &Comparison) {
    put!(
        page,
        "<section id=\"ratios\" aria-labelledby=\"ratios-h\"><h2 id=\"ratios-h\">Against the \
            base</h2>"
    );
    page.entry("ratios", "Against the base");
    for note in &comparison.notes {
        put!(page, "<p class=\"about\">{}</p>", Text(note));
    }
    if comparison.rows.is_empty() {
        page.nothing("No figure could be compared.");
        page.end_section();
        return;
    }
    put!(
        page,
        "<div class=\"panel\"><div class=\"scroll\"><table class=\"grid\"><thead><tr><th \
            scope=\"col\">run</th><th scope=\"col\">figure</th><th scope=\"col\" class=\"n\">base \
            {}</th><th scope=\"col\" class=\"n\">new</th><th scope=\"col\" class=\"n\">new / \
            base</th><th scope=\"col\" class=\"n\">interval</th><th scope=\"col\">0.5 – 1 – \
            2</th><th scope=\"col\" class=\"n\">change</th><th scope=\"col\" \
            class=\"n\">p</th><th scope=\"col\">effect</th></tr></thead><tbody>",
        Text(label(views, 0))
    );
    for row in &comparison.rows {
        ratio(page, views, row);
    }
    put!(
        page,
        "</tbody></table></div><p class=\"source\">Change is new / base − 1: a ratio base / new \
            of 1.30 is a loss of 23 %, not of 30 %. The bar shows the ratio with its interval on \
            a logarithmic scale; the line in its middle is 1.</p></div>\n"
    );
    page.end_section();
}

fn ratio(page: &mut Page, views: &[View<'_>], row: &ComparisonRow) {
    let interval = match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", digits(low), digits(high)),
        (Some(low), None) => format!("{}, unbounded", digits(low)),
        _ => "–".to_owned(),
    };
    let change = row.ratio.map_or("–".to_owned(), |ratio| {
        let sign = if ratio >= 1.0 { "+" } else { "" };
        format!("{sign}{} %", figures::significant((ratio - 1.0) * 100.0))
    });
    put!(
        page,
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
            class=\"n\">{}</td><td class=\"n\">{interval}</td><td>{}</td><td \
            class=\"n\">{change}</td><td class=\"n\">{}</td><td>{}{}</td></tr>",
        Text(label(views, row.run)),
        Text(&row.metric),
        Text(figures::maybe(row.base, &row.unit)),
        Text(figures::maybe(row.new, &row.unit)),
        row.ratio.map_or("–".to_owned(), digits),
        bar(row),
        row.p.map_or("–".to_owned(), probability),
        if row.significant {
            "<span class=\"effect\">effect</span>"
        } else if row.p.is_some() {
            "no effect shown"
        } else {
            "not tested"
        },
        if row.remark.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"source\">{}</span>", Text(&row.remark))
        }
    );
}

fn digits(ratio: f64) -> String {
    format!("{ratio:.3}")
}

fn probability(p: f64) -> String {
    if p < 0.001 {
        "&lt; 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// A ratio with its interval from a half to twice, on a logarithmic scale.
fn bar(row: &ComparisonRow) -> String {
    let Some(ratio) = row.ratio.filter(|ratio| *ratio > 0.0) else {
        return String::new();
    };
    let x = |ratio: f64| 60.0 + ratio.max(1e-9).log2().clamp(-1.0, 1.0) * 56.0;
    let unknown = row.low.map_or(ratio, |_| f64::INFINITY);
    let (low, high) = (x(row.low.unwrap_or(ratio)), x(row.high.unwrap_or(unknown)));
    format!(
        "<svg class=\"ratio\" viewBox=\"0 0 120 16\" width=\"120\" height=\"16\" \
            aria-hidden=\"true\"><path class=\"one\" d=\"M60 0V16\"/><path class=\"interval\" \
            d=\"M{low:.1} 8H{high:.1}\"/><circle cx=\"{:.1}\" cy=\"8\" r=\"3.500\"/></svg>",
        x(ratio)
    )
}

fn differences(page: &mut Page, views: &[View<'_>], comparison: &Comparison) {
    put!(
        page,
        "<section id=\"differences\" aria-labelledby=\"differences-h\"><h2 \
            id=\"differences-h\">What differs</h2>"
    );
    page.entry("differences", "What differs");
    if comparison.differences.is_empty() {
        page.nothing(
            "Nothing that is on record differs between the runs' plans, environments and settings.",
        );
        page.end_section();
        return;
    }
    put!(
        page,
        "<div class=\"panel\"><div class=\"scroll\"><table class=\"grid\"><thead><tr><th \
            scope=\"col\">what</th><th scope=\"col\">base {}</th><th scope=\"col\">run</th><th \
            scope=\"col\">new</th><th scope=\"col\">intended</th></tr></thead><tbody>",
        Text(label(views, 0))
    );
    for difference in &comparison.differences {
        let intended = if difference.intended {
            "yes"
        } else {
            "<span class=\"chip doubt\">▲ no</span>"
        };
        put!(
            page,
            "<tr><td class=\"key\">{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{intended}</td></tr>",
            Text(&difference.what),
            Text(&difference.base),
            Text(label(views, difference.run)),
            Text(&difference.new)
        );
    }
    put!(
        page,
        "</tbody></table></div><p class=\"source\">Source: facts, settings and plans of the \
            runs.</p></div>\n"
    );
    page.end_section();
}

/// The rates of the measurement's intervals.
fn measured(view: &View<'_>) -> Vec<f64> {
    let rates = view
        .rates
        .iter()
        .filter(|(at_s, rate)| *at_s > 0.0 && rate.is_finite());
    rates.map(|(_, rate)| *rate).collect()
}

/// Every so many-th of them, so that at most `most` are left.
fn some(values: &[f64], most: usize) -> Vec<Compact> {
    let step = values.len().div_ceil(most).max(1);
    values
        .iter()
        .step_by(step)
        .map(|value| Compact(*value))
        .collect()
}

fn dots(page: &mut Page, views: &[View<'_>]) {
    let all: Vec<Vec<f64>> = views.iter().map(measured).collect();
    if all.iter().all(Vec::is_empty) {
        page.nothing("No run has intervals on record.");
        return;
    }
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let thinned = match longest.div_ceil(DOTS_MAX) {
        0 | 1 => String::new(),
        step => format!("; of the longest, every {step}th is drawn"),
    };
    let caption = Caption {
        id: "jitter",
        title: "Every interval as a dot",
        about: "Each dot is one interval's throughput, scattered sideways to be seen. Dense bands \
            are states of the server, dots near zero are stalls.",
        source: &format!("intervals of the measurements{thinned}"),
        size: "tall",
    };
    let samples = all.iter().map(|values| some(values, DOTS_MAX)).collect();
    let axis = Axis::new("throughput", "count/s");
    page.figure_with_id(
        "jitter".to_owned(),
        &caption,
        Chart::Jitter(Jitter { axis, samples }),
    );
}

fn boxes(page: &mut Page, views: &[View<'_>]) {
    let mut chart = Boxes {
        axis: Axis::new("throughput", "count/s"),
        boxes: vec![],
        outliers: vec![],
    };
    for view in views {
        let values = measured(view);
        let (five, outliers) = whiskers(&values);
        chart.boxes.push(five.map(Compact));
        chart.outliers.push(some(&outliers, OUTLIERS_MAX));
    }
    let caption = Caption {
        id: "boxes",
        title: "Box plots of intervals",
        about: "The box spans the quartiles with the median across it; whiskers reach the last \
            interval within 1.5 times the box's length; dots lie beyond.",
        source: "intervals of the measurements; at most 300 outliers of a run are drawn",
        size: "",
    };
    page.figure_with_id("boxes".to_owned(), &caption, Chart::Boxes(chart));
}

/// Tukey's five, and what lies outside of them.
fn whiskers(values: &[f64]) -> ([f64; 5], Vec<f64>) {
    let Some(d) = describe(values) else {
        return ([f64::NAN; 5], Vec::new());
    };
    let (low, high) = (d.q1 - 1.5 * d.iqr, d.q3 + 1.5 * d.iqr);
    let inside = || {
        values
            .iter()
            .copied()
            .filter(|value| (low..=high).contains(value))
    };
    let outside = values
        .iter()
        .copied()
        .filter(|value| !(low..=high).contains(value));
    let lowest = inside().fold(d.q1, f64::min);
    let highest = inside().fold(d.q3, f64::max);
    ([lowest, d.q1, d.median, d.q3, highest], outside.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_end_at_samples() {
        let mut values: Vec<f64> = (0..=100).map(f64::from).collect();
        values.push(1000.0);
        let (five, outliers) = whiskers(&values);
        assert_eq!(five[2], 50.5);
        assert_eq!((five[0], five[4]), (0.0, 100.0));
        assert_eq!(outliers, [1000.0]);
        assert!(whiskers(&[]).0[0].is_nan());
    }
}
