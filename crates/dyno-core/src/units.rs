//! Durations, rates, sizes and counts as people type and read them.
//!
//! Parsing is strict and exact (decimal arithmetic; floating point only for rates). Each error
//! quotes the text, names the problem and shows a valid example. The `format_*` functions give text
//! that parses back to the same value; the `human_*` functions round for reading.

use std::time::Duration;

pub use format::{
    format_duration, format_size, human_count, human_number, human_seconds, human_size,
};

mod format;

/// Text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}: {why}; write for example {example}")]
pub struct UnitError {
    what: &'static str,
    text: String,
    why: String,
    example: &'static str,
}

/// A duration: `250ms`, `1.5s`, `10s`, `5m`, `1h30m`, or a bare number of seconds. Units are `ns`,
/// `us`, `ms`, `s`, `m`, `h` and `d`, larger before smaller. The resolution is 1 ns; finer digits
/// are rejected.
///
/// # Errors
/// Anything else, and more than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    duration_ns(text.trim())
        .map(Duration::from_nanos)
        .map_err(|why| UnitError {
            what: "duration",
            text: text.to_owned(),
            why,
            example: "250ms, 10s, 5m or 1h30m",
        })
}

/// A rate per second: `1000/s`, `0.5/s`, `20k/s`, `30/m`, `10/h`, or a bare number. The number
/// takes decimal `k`, `M` and `G`. Always finite and not negative.
///
/// # Errors
/// Anything else.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    rate_per_s(text.trim()).map_err(|why| UnitError {
        what: "rate",
        text: text.to_owned(),
        why,
        example: "1000/s, 0.5/s or 20k/s",
    })
}

/// A size in bytes: `512`, `16K`, `4M`, `1G`, `2T`, in powers of 1024 (also as `KiB` or `KB`).
///
/// # Errors
/// Anything else, more than 64 bits, or a fraction of a byte.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    whole(text.trim(), size_factor).map_err(|why| UnitError {
        what: "size",
        text: text.to_owned(),
        why,
        example: "512, 16K, 4M or 1G (powers of 1024)",
    })
}

/// A count of things: `10000`, `100k`, `1M` (a million), `1.5G`, in powers of 1000. Underscores
/// may group digits.
///
/// # Errors
/// Anything else, more than 64 bits, or a number that is not whole.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    whole(text.trim(), count_factor).map_err(|why| UnitError {
        what: "count",
        text: text.to_owned(),
        why,
        example: "10000, 100k or 1M (powers of 1000)",
    })
}

const DURATION_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

fn duration_ns(text: &str) -> Result<u64, String> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut last_unit = u64::MAX;
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after.find(starts_number).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let unit = match name {
            "" if number.len() == text.len() => 1_000_000_000,
            "" => return Err(format!("'{number}' has no unit")),
            name => {
                let known = DURATION_UNITS.iter().find(|(unit, _)| *unit == name);
                known.ok_or_else(|| format!("there is no unit '{name}'"))?.1
            }
        };
        if unit >= last_unit {
            return Err("units must go from large to small".to_owned());
        }
        last_unit = unit;
        let part = scaled(number, unit)?.ok_or("the finest resolution is 1 ns")?;
        total = total.checked_add(part).ok_or("it is too long")?;
        rest = after;
    }
    Ok(total)
}

fn rate_per_s(text: &str) -> Result<f64, String> {
    let (amount, per) = match text.split_once('/') {
        None => (text, 1.0),
        Some((amount, "s" | "sec")) => (amount, 1.0),
        Some((amount, "m" | "min")) => (amount, 60.0),
        Some((amount, "h")) => (amount, 3600.0),
        Some((_, other)) => {
            return Err(format!("'/{other}' is not one of /s, /m and /h"));
        }
    };
    let (number, suffix) = split_number(amount)?;
    let factor = match suffix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        other => return Err(format!("'{other}' is not one of k, M and G")),
    };
    let digits = number.replace('_', "");
    let value: f64 = digits.parse().map_err(|_| not_a_number(number))?;
    let rate = value * factor / per;
    if rate.is_finite() {
        Ok(rate)
    } else {
        Err("it is too large".to_owned())
    }
}

fn size_factor(suffix: &str) -> Option<u64> {
    Some(match suffix {
        "" | "B" => 1,
        "k" | "K" | "kB" | "KB" | "KiB" => 1 << 10,
        "M" | "MB" | "MiB" => 1 << 20,
        "G" | "GB" | "GiB" => 1 << 30,
        "T" | "TB" | "TiB" => 1 << 40,
        _ => return None,
    })
}

fn count_factor(suffix: &str) -> Option<u64> {
    Some(match suffix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    })
}

fn whole(text: &str, factor: impl Fn(&str) -> Option<u64>) -> Result<u64, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let (number, suffix) = split_number(text)?;
    let factor = factor(suffix).ok_or_else(|| format!("there is no unit '{suffix}'"))?;
    scaled(number, factor)?.ok_or_else(|| "it is not a whole number".to_owned())
}

fn starts_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Splits a leading decimal number off.
fn split_number(text: &str) -> Result<(&str, &str), String> {
    let end = text
        .find(|c: char| !starts_number(c) && c != '_')
        .unwrap_or(text.len());
    match text.split_at(end) {
        ("", _) if text.starts_with('-') => Err("it is negative".to_owned()),
        ("", _) => Err("it must start with a number".to_owned()),
        split => Ok(split),
    }
}

/// The decimal `number` times `factor`, exactly; `None` if that is not whole.
fn scaled(number: &str, factor: u64) -> Result<Option<u64>, String> {
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let valid = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !valid(whole) || !valid(fraction) {
        return Err(not_a_number(number));
    }
    let too_large = || format!("{number} is too large");
    let whole: u64 = match whole {
        "" => 0,
        whole => whole.parse().map_err(|_| too_large())?,
    };
    let fraction = fraction.trim_end_matches('0');
    // 24 digits times the largest factor (a day, 2^47) stay below 2^128.
    if fraction.len() > 24 {
        return Ok(None);
    }
    let power = 10u128.pow(fraction.len() as u32);
    let numerator = fraction.parse::<u128>().unwrap_or(0) * u128::from(factor);
    if numerator % power != 0 {
        return Ok(None);
    }
    let total = u128::from(whole) * u128::from(factor) + numerator / power;
    u64::try_from(total).map(Some).map_err(|_| too_large())
}

fn not_a_number(text: &str) -> String {
    format!("'{text}' is not a decimal number")
}

#[cfg(test)]
mod tests;
