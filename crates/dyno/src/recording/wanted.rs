//! What the user wants recorded, claimed and waived.

use std::path::PathBuf;

use anyhow::Result;
use dyno_core::finding::Waiver;
use dyno_verdict::{Claim, RequestedSetting};

use super::context;
use crate::kept;
use crate::options::Parsed;
use crate::settings::usage;

/// When to calibrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibrate {
    /// Built-in workloads, unless it was done before.
    Auto,
    /// Before this run.
    Always,
    /// Not at all; what is known from before is not used either.
    Never,
}

/// What of the workload's ledger is compared with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Nothing.
    Nothing,
    /// What is read quickly beside a run.
    Quick,
    /// All of it, though whole tables must be read.
    Whole,
}

/// What the options of a run say about its record and verdict.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The results file; `None` for none.
    pub file: Option<PathBuf>,
    /// Whether to observe host, processes and database.
    pub observe: bool,
    /// What of the workload's ledger to compare with the database.
    pub ledger: Compared,
    /// The user's words about the run.
    pub note: String,
    /// What is said of the caches.
    pub claim: Option<Claim>,
    /// Settings that the server must have.
    pub expected: Vec<RequestedSetting>,
    /// Findings that are not to count.
    pub waivers: Vec<Waiver>,
    /// When to calibrate.
    pub calibrate: Calibrate,
    /// Whether a refusal is to show in the exit status.
    pub gate: bool,
}

impl Wanted {
    /// What `dyno run`'s options say.
    ///
    /// # Errors
    /// An option without sense.
    pub fn of(parsed: &Parsed) -> Result<Self> {
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
        Ok(Self {
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
            gate: parsed.has("gate"),
        })
    }
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
    context::claim(text).ok_or_else(|| {
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
