//! Numbers with their units.

use dyno_core::text::trim_zeros;
use maud::{Markup, html};

use super::markup::{Text, lines};
use crate::document::Value;
use crate::number;

/// The HTML of a table's value, with more digits than in a terminal.
pub(super) fn cell(of: &Value) -> Markup {
    let text = match of {
        Value::Missing => "–".to_owned(),
        Value::Code(text) => return html! { code { (Text(text)) } },
        Value::Ratio { ratio, low, high } if *ratio > 0.0 => return bar(*ratio, *low, *high),
        Value::Ratio { .. } => String::new(),
        Value::Folded(head, text) if !text.is_empty() => {
            return html! { details { summary { (Text(head)) } pre { (Text(text)) } } };
        }
        Value::Text(text) | Value::Folded(text, _) => text.clone(),
        Value::Count(count) => number::thousands(*count),
        Value::Rate(per_s) => significant(*per_s),
        Value::Ms(ms) => value(*ms, "ms"),
        Value::Share(share) => percent(*share),
    };
    lines(&text)
}

/// A ratio with its interval, from a half to twice, on a logarithmic scale.
fn bar(ratio: f64, low: Option<f64>, high: Option<f64>) -> Markup {
    let x = |ratio: f64| 60.0 + ratio.max(1e-9).log2().clamp(-1.0, 1.0) * 56.0;
    let unknown = low.map_or(ratio, |_| f64::INFINITY);
    let (low, high) = (x(low.unwrap_or(ratio)), x(high.unwrap_or(unknown)));
    html! {
        svg class="ratio" viewBox="0 0 120 16" width="120" height="16" aria-hidden="true" {
            path class="one" d="M60 0V16" {}
            path class="interval" d=(format_args!("M{low:.1} 8H{high:.1}")) {}
            // Beyond the scale it is an arrow, not a dot.
            @match ratio.log2() {
                far if far > 1.0 => { path class="far" d="M113 3.500l6 4.500-6 4.500Z" {} }
                far if far < -1.0 => { path class="far" d="M7 3.500l-6 4.500 6 4.500Z" {} }
                _ => { circle cx=(format_args!("{:.1}", x(ratio))) cy="8" r="3.500" {} }
            }
        }
    }
}

/// A value in a unit of `SeriesKey::unit`, for reading.
pub(super) fn value(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match unit {
        "bytes" => signed(value, bytes),
        "bytes/s" => signed(value, bytes) + "/s",
        "kb" => signed(value * 1024.0, bytes),
        "percent" => format!("{} %", significant(value)),
        "ms" => signed(value, number::latency),
        "us" => signed(value / 1e3, number::latency),
        "s" => format!("{} s", significant(value)),
        "count" => significant(value),
        "count/s" => significant(value) + "/s",
        "ratio" => significant(value),
        "mhz" => format!("{} MHz", significant(value)),
        other => format!("{} {other}", significant(value)),
    }
}

pub(super) fn maybe(number: Option<f64>, unit: &str) -> String {
    number.map_or_else(|| "–".to_owned(), |number| value(number, unit))
}

/// At most four significant digits, with grouped thousands.
pub(super) fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let text = if size >= 999.5 {
        return if size < 1e15 {
            let sign = if value < 0.0 { "−" } else { "" };
            format!("{sign}{}", number::thousands(size.round() as u64))
        } else {
            format!("{value:.3e}")
        };
    } else if size >= 99.95 {
        format!("{size:.1}")
    } else if size >= 0.9995 {
        format!("{size:.2}")
    } else if size >= 0.000_995 {
        format!("{size:.4}")
    } else {
        format!("{size:.2e}")
    };
    let short = match text.contains('e') {
        false => trim_zeros(&text),
        true => &text,
    };
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{short}")
}

/// A share of one, in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.001 {
        return "< 0.001 %".to_owned();
    }
    let decimals = match percent {
        _ if percent >= 99.95 => 0,
        _ if percent >= 9.995 => 1,
        _ if percent >= 0.0995 => 2,
        _ => 3,
    };
    format!("{} %", trim_zeros(&format!("{percent:.decimals$}")))
}

fn signed(value: f64, format: impl Fn(f64) -> String) -> String {
    if value < 0.0 {
        format!("−{}", format(-value))
    } else {
        format(value)
    }
}

fn bytes(size: f64) -> String {
    number::bytes(size.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units() {
        assert_eq!(value(1536.0, "bytes"), "1.50 KiB");
        assert_eq!(value(1536.0, "bytes/s"), "1.50 KiB/s");
        assert_eq!(value(-3.0, "ms"), "−3.00 ms");
        assert_eq!(value(12.0, "percent"), "12 %");
        assert_eq!(value(288.0, "kb"), "288 KiB");
        assert_eq!(value(145.6, "us"), "146 µs");
        assert_eq!(value(0.5, "cores"), "0.5 cores");
        assert_eq!(value(f64::NAN, "cores"), "–");
    }

    #[test]
    fn digits_are_few() {
        assert_eq!(significant(1_234_567.8), "1,234,568");
        assert_eq!(significant(-1234.0), "−1,234");
        assert_eq!(significant(123.45), "123.5");
        assert_eq!(significant(100.0), "100");
        assert_eq!(significant(0.012_34), "0.0123");
        assert_eq!(significant(0.000_012), "1.20e-5");
    }
}
