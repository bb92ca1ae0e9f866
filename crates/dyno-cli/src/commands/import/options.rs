//! Facts that the user knows and the logs lack.

use std::time::Duration;

use anyhow::Result;
use dyno_analysis::window::Window;
use dyno_core::record::Profile;
use dyno_import::Options;

use crate::options::Parsed;
use crate::settings::{duration, number, usage};
use crate::window;

/// Facts that the user knows and the logs lack.
pub(super) fn options(parsed: &Parsed) -> Result<Options> {
    let known = Options::default();
    let utc_offset_s = match parsed.value("utc-offset") {
        None => known.utc_offset_s,
        Some(text) => dyno_import::utc_offset(text).ok_or_else(|| {
            usage(format!(
                "--utc-offset: '{text}' is not an offset from UTC such as +02:00 or -5"
            ))
        })?,
    };
    let started = |text: &str| {
        dyno_import::point_in_time(text, utc_offset_s).ok_or_else(|| {
            usage(format!(
                "--started: '{text}' is neither a date with a time, such as 2026-11-21T12:45:12Z, \
                 nor seconds since 1970"
            ))
        })
    };
    let interval = |name: &str, otherwise: f64| match parsed.value(name) {
        None => Ok(otherwise),
        Some(_) => match duration(parsed, name, Duration::ZERO)?.as_secs_f64() {
            0.0 => Err(usage(format!("--{name} must be above 0"))),
            seconds => Ok(seconds),
        },
    };
    let percentile = match parsed.value("percentile") {
        None => None,
        Some(_) => match number(parsed, "percentile", 0.0)? {
            percent if percent > 0.0 && percent <= 100.0 => Some(percent),
            percent => {
                return Err(usage(format!(
                    "--percentile must be above 0 and at most 100, not {percent}"
                )));
            }
        },
    };
    let unit = |name: &str| {
        let bytes = dyno_import::vmstat_unit_bytes(name);
        bytes.ok_or_else(|| usage(format!("--vmstat-unit: '{name}' is not one of k, K, m, M")))
    };
    let profile = match parsed.value("profile") {
        None | Some("standard") => Profile::Standard,
        Some("reference") => Profile::Reference,
        Some(other) => {
            return Err(usage(format!(
                "--profile: '{other}' is neither standard nor reference"
            )));
        }
    };
    Ok(Options {
        started_unix_s: parsed.value("started").map(started).transpose()?,
        utc_offset_s,
        vmstat_interval_s: interval("vmstat-interval", known.vmstat_interval_s)?,
        iostat_interval_s: interval("iostat-interval", known.iostat_interval_s)?,
        vmstat_unit_bytes: parsed.value("vmstat-unit").map(unit).transpose()?,
        first_report: parsed.has("first-report"),
        percentile,
        profile,
        ..known
    })
}

/// A workload or server name from the user.
///
/// # Errors
/// It is empty.
pub(super) fn name(parsed: &Parsed, option: &str) -> Result<Option<String>> {
    match parsed.value(option).map(str::trim) {
        Some("") => Err(usage(format!("--{option}: the name must not be empty"))),
        name => Ok(name.map(dyno_core::redact::text)),
    }
}

/// The window that counts: from the end of `--warmup`, or between `--from` and `--to`.
///
/// # Errors
/// Both are given, or a time is invalid.
pub(super) fn window(parsed: &Parsed) -> Result<Option<Window>> {
    let asked = window::asked(parsed)?;
    if parsed.value("warmup").is_none() {
        return Ok(asked);
    }
    if parsed.has("from") {
        return Err(usage(
            "--warmup and --from set the same time; give one of them",
        ));
    }
    let from_s = duration(parsed, "warmup", Duration::ZERO)?.as_secs_f64();
    let to_s = asked.and_then(|window| window.to_s);
    Ok(Some(Window {
        from_s: Some(from_s),
        to_s,
    }))
}
