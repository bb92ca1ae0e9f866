//! What the user wants recorded, claimed and waived.

use anyhow::Result;
use dyno_core::finding::Waiver;
use dyno_run::{Calibrate, Compared, Wanted};
use dyno_verdict::{Claim, RequestedSetting};

use crate::kept;
use crate::options::Parsed;
use crate::settings::usage;

/// What `dyno run`'s options say.
///
/// # Errors
/// An option without sense.
pub fn wanted(parsed: &Parsed) -> Result<Wanted> {
    let observe = switch(parsed, "observe")?;
    let calibrate = match parsed.value("calibrate") {
        None | Some("auto") => Calibrate::Auto,
        Some("always") => Calibrate::Always,
        Some("never") => Calibrate::Never,
        Some(other) => {
            return Err(usage(format!(
                "--calibrate: '{other}' is none of auto, always, never"
            )));
        }
    };
    let expected = pairs(parsed, "expect", "innodb_flush_log_at_trx_commit=1")?;
    if !observe && !expected.is_empty() {
        return Err(usage(
            "--expect needs the server's settings, which --observe off leaves unread",
        ));
    }
    Ok(Wanted {
        file: kept::file(parsed),
        observe,
        ledger: compared(parsed)?,
        note: parsed.value("note").unwrap_or_default().to_owned(),
        claim: parsed.value("claim").map(claim).transpose()?,
        expected: expected
            .into_iter()
            .map(|(name, value)| RequestedSetting { name, value })
            .collect(),
        waivers: waivers(parsed)?,
        calibrate,
        force: parsed.has("force"),
        gate: parsed.has("gate"),
    })
}

/// The waivers that options give.
///
/// # Errors
/// One without a reason, or of a check that there is not.
pub fn waivers(parsed: &Parsed) -> Result<Vec<Waiver>> {
    pairs(parsed, "waive", "stalls=the backup at noon")?
        .into_iter()
        .map(|(check, reason)| waiver(check, reason))
        .collect()
}

/// A waiver of a check that exists.
///
/// # Errors
/// There is no such check; the nearest is named.
pub fn waiver(check: String, reason: String) -> Result<Waiver> {
    let known: Vec<&str> = dyno_verdict::checks()
        .iter()
        .map(|known| known.name)
        .collect();
    if !known.contains(&check.as_str()) {
        let nearest = known
            .iter()
            .min_by_key(|known| strsim::osa_distance(known, &check))
            .copied()
            .unwrap_or_default();
        return Err(usage(format!(
            "there is no check '{check}' to waive; did you mean '{nearest}'? \
             docs/validity.md lists all"
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
                "--{name}: '{text}' is no NAME=VALUE, e.g. --{name}='{example}'"
            ))),
        })
        .collect()
}

fn claim(text: &str) -> Result<Claim> {
    dyno_run::claim(text).ok_or_else(|| {
        usage(format!(
            "--claim: '{text}' is none of in-memory, on-disk, cold, warm"
        ))
    })
}

/// An option that is on unless it says off.
fn compared(parsed: &Parsed) -> Result<Compared> {
    match parsed.value("ledger") {
        None | Some("on") => Ok(Compared::Quick),
        Some("full") => Ok(Compared::Whole),
        Some("off") => Ok(Compared::Nothing),
        Some(other) => Err(usage(format!(
            "--ledger: '{other}' is none of on, full, off"
        ))),
    }
}

fn switch(parsed: &Parsed, name: &str) -> Result<bool> {
    match parsed.value(name) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(usage(format!("--{name}: '{other}' is neither on nor off"))),
    }
}
