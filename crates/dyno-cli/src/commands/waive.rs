//! `dyno waive`: exclude a finding from a recorded run's verdict, with a reason.

use anyhow::Result;
use dyno_core::finding::Outcome;
use dyno_results::{Results, Scope};

use crate::definitions::WAIVE;
use crate::options::{Grammar, Script, help, parse};
use crate::record_options::waiver;
use crate::settings::usage;
use crate::{STATUS_DONE, console, run_store};
use dyno_core::redact;

/// Adds waivers to a recorded run.
///
/// # Errors
/// The run or check does not exist, or the file cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, WAIVE, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno waive RUN CHECK=REASON…\n\n\
             Exclude findings of a run from its verdict. The reason is printed with the result.\n\
             {}",
            help(WAIVE, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let [run, pairs @ ..] = parsed.words.as_slice() else {
        return Err(usage("dyno waive needs a RUN and CHECK=REASON"));
    };
    if pairs.is_empty() {
        return Err(usage("dyno waive needs CHECK=REASON after the run"));
    }
    let mut waivers = Vec::new();
    for pair in pairs {
        match pair.split_once('=') {
            Some((check, reason)) if !reason.trim().is_empty() => {
                waivers.push(waiver(check.to_owned(), redact::text(reason.trim()))?);
            }
            _ => return Err(usage(format!("'{pair}' is not CHECK=REASON"))),
        }
    }
    let (path, run) = run_store::locate(&parsed, run)?;
    let mut results = Results::open(&path)?;
    let id = results.find(&run)?;
    let record = results.load(id, &Scope::summary())?;
    for waiver in &waivers {
        let against = record.findings.iter().any(|finding| {
            finding.check == waiver.check
                && matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse)
        });
        if !against {
            return Err(usage(format!(
                "'{}' is not a finding against run {id}, so there is nothing to waive",
                waiver.check
            )));
        }
    }
    let mut verdict = record.verdict;
    for waiver in &waivers {
        verdict = results.waive(id, waiver)?;
    }
    if let Some(mut summary) = record.summary.filter(|summary| !summary.parts.is_empty()) {
        for part in &mut summary.parts {
            for waiver in &waivers {
                part.waive(&waiver.check);
            }
        }
        results.set_summary(id, &summary)?;
    }
    let word = verdict.map_or("not judged", |verdict| verdict.word());
    console::out(&format!("run {id} is {word}\n"));
    Ok(STATUS_DONE)
}
