//! The text of a part of a schedule.

use super::{LoadPart, LoadShape, Scheduled};
use crate::units::{parse_count, parse_duration, parse_rate};

const EXPECTED_RATE: &str = "'100/s for 30s', '100/s..1000/s over 5m' or 'sine 100/s..500/s every \
     1m for 10m'";
const EXPECTED_SESSIONS: &str = "'16 for 30s', '1..64 over 5m' or 'sine 8..64 every 1m for 10m'";

/// Parses a part; `rest_s` is its length if the text has none.
pub(super) fn part(text: &str, of: Scheduled, rest_s: Option<f64>) -> Result<LoadPart, String> {
    let expected = match of {
        Scheduled::Rate => EXPECTED_RATE,
        Scheduled::Sessions => EXPECTED_SESSIONS,
    };
    let other = || format!("'{text}' is not a part of a schedule: expected {expected}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let (is_sine, words) = match words.as_slice() {
        ["sine", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let (levels, mut words) = words.split_first().ok_or_else(other)?;
    let (from, to) = match levels.split_once("..") {
        Some((from, to)) => (level(from, of)?, level(to, of)?),
        None if is_sine => return Err(other()),
        None => (level(levels, of)?, level(levels, of)?),
    };
    let is_ramp = levels.contains("..") && !is_sine;
    let mut period_s = None;
    if let ["every", period, rest @ ..] = words {
        period_s = Some(length(period)?);
        words = rest;
    }
    if is_sine != period_s.is_some() {
        return Err(other());
    }
    let seconds = match words {
        ["for", time] => length(time)?,
        ["over", time] if is_ramp => length(time)?,
        [] => match rest_s {
            Some(rest_s) if rest_s > 0.0 => rest_s,
            Some(_) => return Err(format!("no time is left (--time) for '{text}'")),
            None => {
                return Err(format!("'{text}' has no length: expected {expected}"));
            }
        },
        _ => return Err(other()),
    };
    let shape = match (is_sine, is_ramp) {
        (true, _) => LoadShape::Sine,
        (_, true) => LoadShape::Ramp,
        _ => LoadShape::Constant,
    };
    Ok(LoadPart {
        shape,
        from,
        to,
        seconds,
        period_s,
    })
}

fn level(text: &str, of: Scheduled) -> Result<f64, String> {
    match of {
        Scheduled::Rate => parse_rate(text).map_err(|error| error.to_string()),
        // Whole and below 2^53, so nothing is rounded.
        Scheduled::Sessions => parse_count(text)
            .map(|count| count as f64)
            .map_err(|error| error.to_string()),
    }
}

fn length(text: &str) -> Result<f64, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    match time.is_zero() {
        true => Err(format!("'{text}' must be longer than 0")),
        false => Ok(time.as_secs_f64()),
    }
}
