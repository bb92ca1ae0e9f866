//! Options for records, claims and waivers.

use anyhow::Result;
use dyno_core::factors::{EVERYBODYS, Factors, parse_factors};
use dyno_core::finding::Waiver;
use dyno_core::plan::{RecordPlan, RequestedSetting};
use dyno_core::suggest::nearest;
use dyno_core::threshold::Threshold;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::options::Parsed;
use crate::run_store;
use crate::settings::{self, usage};

/// The record plan from `dyno run`'s options.
///
/// # Errors
/// An invalid option.
pub(crate) fn record_plan(parsed: &Parsed) -> Result<RecordPlan> {
    let usual = RecordPlan::default();
    let observe = switch(parsed, "observe")?;
    let calibrate = choice(parsed, "calibrate", "auto, always, never")?;
    let ledger = choice(parsed, "ledger", "on, full, off")?;
    let percentiles = parsed.value("percentiles").map(settings::percentiles);
    let thresholds = thresholds(parsed)?;
    if let Some(ratio) = thresholds.iter().find(|one| one.is_ratio()) {
        return Err(usage(format!(
            "--fail-if: {ratio} is a ratio to another run; use it with `dyno compare --fail-if`"
        )));
    }
    let expected = pairs(parsed, "expect", "innodb_flush_log_at_trx_commit=1")?;
    if !observe && !expected.is_empty() {
        return Err(usage(
            "--expect needs the server's settings, which --observe off does not read",
        ));
    }
    Ok(RecordPlan {
        file: run_store::file(parsed),
        observe,
        ledger: ledger.unwrap_or(usual.ledger),
        note: parsed.value("note").unwrap_or_default().to_owned(),
        factors: factors(parsed)?,
        statements: parsed.has("statements"),
        explain: explained(parsed)?,
        cpu_profile: parsed.has("cpu-profile"),
        claim: choice(parsed, "claim", "in-memory, on-disk, cold, warm")?,
        expected: expected
            .into_iter()
            .map(|(name, value)| RequestedSetting { name, value })
            .collect(),
        waivers: waivers(parsed)?,
        calibrate: calibrate.unwrap_or(usual.calibrate),
        percentiles: with_those_of(
            &thresholds,
            percentiles.transpose()?.unwrap_or(usual.percentiles),
        ),
        force: parsed.has("force"),
        gate: parsed.has("gate"),
        fail_if: thresholds.iter().map(Threshold::to_string).collect(),
        trial: None,
        varied: Vec::new(),
    })
}

/// The factors of `--factor NAME=LEVEL`.
///
/// # Errors
/// An invalid factor.
pub(crate) fn factors(parsed: &Parsed) -> Result<Factors> {
    parse_factors(parsed.values("factor")).map_err(|why| usage(format!("--factor: {why}")))
}

/// Rejects factors that every run has: the user's level could contradict the run's.
///
/// # Errors
/// There is such a factor.
pub(crate) fn refuse_everybodys(parsed: &Parsed) -> Result<()> {
    let own = factors(parsed)?;
    match EVERYBODYS.into_iter().find(|name| own.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(usage(format!(
            "--factor: every run already has the factor '{name}'"
        ))),
    }
}

/// Whether to record figures of each statement shape, for output or for examples.
pub(crate) fn keeps_shapes(parsed: &Parsed) -> bool {
    let all = |what: &str| what == dyno_run::EXPLAIN_ALL;
    parsed.has("statements") || parsed.values("explain").any(all)
}

fn explained(parsed: &Parsed) -> Result<Vec<String>> {
    let all: Vec<String> = parsed.values("explain").map(str::to_owned).collect();
    if let Some(several) = all.iter().find(|what| !dyno_run::is_single(what)) {
        return Err(usage(format!(
            "--explain '{several}' has several statements; give --explain once for each"
        )));
    }
    let wrong = all
        .iter()
        .find(|what| *what != dyno_run::EXPLAIN_ALL && !dyno_run::has_plan(what));
    match wrong {
        None => Ok(all),
        Some(what) => Err(usage(format!(
            "--explain '{what}': expected all, for the statements of the run, or a statement such \
             as 'SELECT …'"
        ))),
    }
}

/// The conditions of `--fail-if`.
///
/// # Errors
/// An invalid condition.
pub(crate) fn thresholds(parsed: &Parsed) -> Result<Vec<Threshold>> {
    let texts = parsed.values("fail-if");
    let read = |text: &str| {
        text.parse()
            .map_err(|error| usage(format!("--fail-if: {error}")))
    };
    texts.map(read).collect()
}

/// Adds the conditions' percentiles to those recorded.
fn with_those_of(thresholds: &[Threshold], mut percentiles: Vec<f64>) -> Vec<f64> {
    for percent in thresholds.iter().filter_map(Threshold::percentile) {
        if !percentiles.contains(&percent) {
            percentiles.push(percent);
        }
    }
    percentiles.sort_by(f64::total_cmp);
    percentiles
}

/// The waivers of the options.
///
/// # Errors
/// A waiver without a reason, or of an unknown check.
pub(crate) fn waivers(parsed: &Parsed) -> Result<Vec<Waiver>> {
    pairs(parsed, "waive", "stalls=the backup at noon")?
        .into_iter()
        .map(|(check, reason)| waiver(check, reason))
        .collect()
}

/// A waiver of an existing check.
///
/// # Errors
/// The check does not exist; suggests the nearest.
pub(crate) fn waiver(check: String, reason: String) -> Result<Waiver> {
    let known: Vec<&str> = dyno_verdict::checks()
        .iter()
        .map(|known| known.name)
        .collect();
    if !known.contains(&check.as_str()) {
        let hint = match nearest(&check, known) {
            Some(name) => format!("did you mean '{name}'? "),
            None => String::new(),
        };
        return Err(usage(format!(
            "there is no check '{check}' to waive; {hint}`dyno show --findings` and \
             docs/validity.md list all"
        )));
    }
    Ok(Waiver { check, reason })
}

fn pairs(parsed: &Parsed, name: &str, example: &str) -> Result<Vec<(String, String)>> {
    parsed
        .values(name)
        .map(|text| match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(usage(format!(
                "--{name}: '{text}' is not NAME=VALUE, e.g. --{name}='{example}'"
            ))),
        })
        .collect()
}

/// The value of an option with fixed choices.
fn choice<T: DeserializeOwned>(parsed: &Parsed, name: &str, words: &str) -> Result<Option<T>> {
    let Some(text) = parsed.value(name) else {
        return Ok(None);
    };
    let value = serde_json::from_value(Value::String(text.to_owned()));
    value
        .map(Some)
        .map_err(|_| usage(format!("--{name}: '{text}' is not one of {words}")))
}

/// An option that is on by default.
fn switch(parsed: &Parsed, name: &str) -> Result<bool> {
    match parsed.value(name) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(usage(format!("--{name}: '{other}' is neither on nor off"))),
    }
}
