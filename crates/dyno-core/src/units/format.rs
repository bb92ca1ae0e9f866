//! Quantities as text.

use std::fmt::Write;
use std::time::Duration;

/// A duration that [`super::parse_duration`] reads back: `250ms`, `1.5s`, `1h30m`, `0s`.
pub fn format_duration(duration: Duration) -> String {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let (unit, name) = match ns {
        0 => return "0s".to_owned(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let mut text = String::new();
    let mut rest = ns;
    for (unit, name) in [
        (86_400_000_000_000, 'd'),
        (3_600_000_000_000, 'h'),
        (60_000_000_000, 'm'),
    ] {
        if rest >= unit {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}{name}", rest / unit);
            rest %= unit;
        }
    }
    if rest > 0 {
        let decimals = decimals(rest % unit, unit);
        let _ = write!(text, "{}{decimals}{name}", rest / unit);
    }
    text
}

/// `.5` for 500 of 1000, without trailing zeros; empty for 0. `unit` is a power of ten.
fn decimals(rest: u64, unit: u64) -> String {
    if rest == 0 {
        return String::new();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!(".{}", digits.trim_end_matches('0'))
}

/// A size that [`super::parse_size`] reads back, in the largest unit that leaves it whole.
pub fn format_size(bytes: u64) -> String {
    let units: [(u64, &str); 4] = [
        (1 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    let mut units = units.into_iter();
    match units.find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// A count for reading: 1234567 is `1,234,567`.
pub fn human_count(count: u64) -> String {
    group(&count.to_string())
}

/// A figure for reading, with `decimals` decimals and grouped digits: 1234.56 is `1,234.6`.
/// Infinities and NaN are `-`.
pub fn human_number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    // A value that rounds to zero has no sign.
    let negative = value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let sign = if negative { "-" } else { "" };
    format!("{sign}{}{fraction}", group(whole))
}

/// A duration in seconds for reading, to three significant digits: 0.001234 is `1.23 ms`. From a
/// minute on `2m 05s`, from an hour on `1h 02m`. Infinities and NaN are `-`.
pub fn human_seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "-".to_owned();
    }
    if seconds < 0.0 {
        return format!("-{}", human_seconds(-seconds));
    }
    // The bounds are where the rounded text would reach the next unit.
    if seconds >= 3_599.5 {
        let minutes = (seconds / 60.0).round() as u64;
        return format!("{}h {:02}m", human_count(minutes / 60), minutes % 60);
    }
    if seconds >= 59.95 {
        let whole = seconds.round() as u64;
        return format!("{}m {:02}s", whole / 60, whole % 60);
    }
    let (value, unit) = match seconds {
        s if s >= 0.999_5 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s if s >= 0.000_000_999_5 => (s * 1e6, "us"),
        0.0 => return "0 s".to_owned(),
        s => (s * 1e9, "ns"),
    };
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// A size for reading, in powers of 1024 to three significant digits: 1536 is `1.50 KiB`.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Digits in groups of three.
fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
