//! A comparison of two sides.

use dyno_core::figures::MS;
use dyno_stats::Equivalence;
use dyno_verdict::{Basis, Better, Comparison, Metric};

use super::{Cell, PAGE, Table, Value, equivalence_word, other_work};
use crate::number::{figure, in_time_unit, plain, time_unit};
use crate::terminal::{EventWord, Ink};

/// The heading of the last column where each column has one.
const OUTCOME: &str = "outcome";

/// The figures of both sides, with ratios. Columns of rank 0 fit a narrow terminal.
pub(crate) fn metrics(comparison: &Comparison, narrow: bool) -> Table {
    let number = |value: Option<f64>| value.map(|value| Value::Text(digits(value)));
    let base = |metric: &Metric| number(shown(metric, metric.base));
    let new = |metric: &Metric| number(shown(metric, metric.new));
    let event = match comparison.host_test {
        true => EventWord::Event,
        false => EventWord::Transaction,
    };
    let (head, between) = match narrow {
        true => ("95 %", "–"),
        false => ("95 % interval", " – "),
    };
    let mut table = Table::of(comparison.metrics.iter().filter(|one| is_there(one)))
        .text("", 0, |metric| name(metric, event))
        .figure("base", 0, base)
        .figure("new", 0, new)
        .figure("new/base", 0, ratio)
        .figure(head, 0, |metric| interval(metric, between).map(Value::Text))
        .text("0.5 – 1 – 2", PAGE, |metric| {
            let (low, high) = (metric.low, metric.high);
            metric.ratio.map(|ratio| Value::Ratio { ratio, low, high })
        })
        .figure("change", PAGE, |metric| {
            let percent = metric.ratio.map(|ratio| (ratio - 1.0) * 100.0);
            percent.map(|percent| Value::Text(format!("{percent:+.1} %")))
        })
        .figure("p", 1, |metric| {
            let p = metric.p_corrected.map_or_else(|| "–".to_owned(), chance);
            (Ink::Faint, p)
        })
        .text("remark", PAGE, remark)
        .word("", 0, direction)
        .source("");
    let (base, new) = (comparison.base.stalled_s, comparison.new.stalled_s);
    if base.unwrap_or(0.0) + new.unwrap_or(0.0) > 0.0 {
        let mut cells: Vec<Cell> = vec!["stalled s".to_owned().into()];
        cells.extend([base, new].map(|value| Cell::from(number(value))));
        cells.resize_with(table.heads.len() - 1, || None::<Value>.into());
        cells.push(String::new().into());
        table.rows.push(cells);
    }
    table
}

/// What the values of a metric include, and its remark, with their colour.
pub(crate) fn remark(metric: &Metric) -> (Ink, String) {
    let (side, cause) = match (metric.base_includes, metric.new_includes) {
        (None, None) => return (Ink::Faint, metric.remark.clone()),
        (Some(cause), None) => ("the base includes", cause),
        (None, Some(cause)) => ("the new side includes", cause),
        (Some(cause), Some(_)) => ("both sides include", cause),
    };
    let also = if metric.remark.is_empty() { "" } else { "; " };
    let text = format!("{side} {}{also}{}", other_work(cause), metric.remark);
    (Ink::Warning, text)
}

/// The table with a heading for each column, as pages and Markdown need it. The first columns have
/// these names; a terminal leaves the first and the last without one. If no difference is
/// significant, the last column is empty and left out.
pub(crate) fn headed(mut table: Table, names: [&str; 3]) -> Table {
    let has_text = |row: &Vec<Cell>| {
        let last = row.last().map(|cell| &cell.value);
        last.is_some_and(|value| *value != Value::Text(String::new()))
    };
    let decides = table.rows.iter().any(has_text);
    if let Some(last) = table.heads.last_mut() {
        last.name = OUTCOME.to_owned();
    }
    if !decides {
        table.retain(|head| head.name != OUTCOME);
    }
    for (head, name) in table.heads.iter_mut().zip(names) {
        head.name = name.to_owned();
    }
    table
}

fn ratio(metric: &Metric) -> (Ink, String) {
    let ink = match metric.significant {
        true => Ink::Strong,
        false => Ink::Plain,
    };
    (ink, metric.ratio.map_or_else(|| "–".to_owned(), times))
}

/// A metric with its unit, in few words.
fn name(metric: &Metric, event: EventWord) -> String {
    if metric.name == "events" {
        return event.per_s().to_owned();
    }
    let name = match metric.name.split_once(", ") {
        Some(("latency", "mean")) => "mean latency",
        Some(("latency", "maximum")) => "max latency",
        Some(("latency", rest)) => rest,
        Some(("events", rest)) => rest,
        _ if metric.name == "written by the server" => "server writes",
        _ if metric.name == "read by the server" => "server reads",
        _ => &metric.name,
    };
    format!("{name} {}", unit(metric))
}

/// The interval of the ratio, if there is one.
pub(crate) fn interval(metric: &Metric, between: &str) -> Option<String> {
    let high = metric.high.map_or_else(|| "∞".to_owned(), times);
    Some(format!("{}{between}{high}", times(metric.low?)))
}

/// A ratio with three decimals, more for small ones.
pub(crate) fn times(ratio: f64) -> String {
    match ratio.abs() {
        small if small < 0.0995 => {
            let scale = 10_f64.powi(2 - small.max(1e-9).log10().floor() as i32);
            plain((ratio * scale).round() / scale)
        }
        usual if usual < 10.0 => format!("{ratio:.3}"),
        large if large < 100.0 => format!("{ratio:.2}"),
        _ => digits(ratio.round()),
    }
}

/// The unit of a metric's values in short form: times have the one that fits the longer side.
fn unit(metric: &Metric) -> String {
    match metric.unit.as_str() {
        MS => time_unit(longer_ms(metric)).to_owned(),
        "per second" => "/s".to_owned(),
        "per 100 attempts" => "per 100".to_owned(),
        other => match other.split_once(" per ") {
            Some((what, of)) => format!("{}/{of}", what.replace("us", "µs")),
            None => other.to_owned(),
        },
    }
}

/// A value of a metric in the unit of its row.
fn shown(metric: &Metric, value: Option<f64>) -> Option<f64> {
    match metric.unit.as_str() {
        MS => value.map(|ms| in_time_unit(ms, time_unit(longer_ms(metric)))),
        _ => value,
    }
}

fn longer_ms(metric: &Metric) -> f64 {
    let sides = [metric.base, metric.new].into_iter().flatten();
    sides.fold(0.0, f64::max)
}

/// The ratio in words, with its colour.
fn direction(metric: &Metric) -> (Ink, String) {
    let nothing = (Ink::Faint, "");
    let (ink, word) = match (metric.equivalence, metric.ratio) {
        (Some(test), Some(ratio)) => {
            let ink = match test.answer {
                Equivalence::Different => change(metric, ratio).0,
                Equivalence::Undecided { .. } => Ink::Faint,
                Equivalence::Same | Equivalence::SameButMeasurable => Ink::Plain,
            };
            (ink, equivalence_word(&test))
        }
        (None, Some(ratio)) if metric.significant => change(metric, ratio),
        _ => nothing,
    };
    (ink, word.to_owned())
}

fn change(metric: &Metric, ratio: f64) -> (Ink, &'static str) {
    let better = match metric.better {
        Better::Higher => ratio > 1.0,
        Better::Lower => ratio < 1.0,
    };
    match better {
        true => (Ink::Good, "better"),
        false => (Ink::Error, "worse"),
    }
}

fn chance(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// Four digits, the precision of the intervals; a ratio has at most three decimals.
pub(crate) fn digits(value: f64) -> String {
    if value.abs() >= 1000.0 && value.abs() < 1e15 {
        return figure(value.round());
    }
    let magnitude = value.abs().max(1e-12).log10().floor() as i32;
    let scale = 10_f64.powi(3 - magnitude.clamp(-12, 3));
    plain((value * scale).round() / scale)
}

/// Whether either side has a nonzero value.
pub(crate) fn is_there(metric: &Metric) -> bool {
    let some = |value: Option<f64>| value.is_some_and(|value| value != 0.0);
    some(metric.base) || some(metric.new)
}

/// What the intervals are based on.
pub(crate) fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::BetweenRuns => {
            "Ratios are of each side's figures over all its runs. Intervals and significance are \
             based on the variation between the runs of one side."
        }
        Basis::WithinRuns => {
            "Intervals and significance are based on the seconds within the runs; they do not \
             include run-to-run variation: run each side at least three times to include it."
        }
    }
}
