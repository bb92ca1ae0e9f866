//! Warnings about the result of a search.

use dyno_analysis::search::{SearchEnd, SearchResult, Searched};
use dyno_core::db::Family;
use dyno_core::finding::{Cause, Outcome as Found};
use dyno_core::summary::RunSummary;
use dyno_core::units::parse_duration;

use super::ask::Terms;
use super::climb::Ground;
use super::fault::{refusals, waived};
use super::trial::record_of;

/// With fewer late events than this, whether a trial just keeps the promise is chance.
const LATE_FEW: f64 = 5.0;

/// Warnings about a result and the runs of its trials; whole sentences.
pub(super) fn warnings(
    terms: &Terms,
    ground: Option<&Ground>,
    runs: &[RunSummary],
    result: &SearchResult,
) -> Vec<String> {
    let mut all = Vec::new();
    if matches!(result.ending, SearchEnd::Refused | SearchEnd::Crowded) {
        all.push(format!("Two trials in a row are void: {}", result.why));
    }
    if let Some(ground) = ground {
        all.extend(ground.warnings.iter().cloned());
    }
    let (goal, trial_s) = (&terms.goal, result.plan.trial_s);
    let longest_s = terms.promise.longest().as_secs_f64();
    if longest_s >= trial_s {
        all.push(format!(
            "The promise allows {longest_s} s, and a trial lasts {trial_s} s: events that still \
             wait when a trial ends count as late. Try a longer --time."
        ));
    }
    let at = result.lower.or(result.upper);
    let rate = match result.plan.searched {
        Searched::Rate => at,
        Searched::Sessions => result.goodput_per_s,
    };
    if let Some(rate) = rate.filter(|rate| rate * trial_s * goal.loss_ratio < LATE_FEW) {
        all.push(format!(
            "A trial has about {:.0} events, of which {:.1} may be late, so chance decides. Try a \
             longer --time.",
            rate * trial_s,
            rate * trial_s * goal.loss_ratio
        ));
    }
    all.extend(cycles(runs, trial_s));
    all.extend(checkpoints(runs, trial_s));
    all.extend(waived(runs));
    all.extend(refusals(runs));
    all
}

/// Periodic server work that affected only some trials.
fn cycles(runs: &[RunSummary], trial_s: f64) -> Option<String> {
    let made = |run: &&RunSummary| {
        let mut findings = run.findings.iter();
        let own = findings.find(|own| own.check == "whole-cycles");
        own.is_some_and(|own| {
            matches!(own.outcome, Found::Pass | Found::Doubt) && !own.names(Cause::Backup)
        })
    };
    let met = runs.iter().filter(made).count();
    let first = runs.iter().find(made)?;
    let own = first
        .findings
        .iter()
        .find(|own| own.check == "whole-cycles")?;
    (met < runs.len()).then(|| {
        format!(
            "The server's background work fell into {met} of {} trials of {trial_s} s but not into \
             the others. In one of them: {} A longer --time includes it in each.",
            runs.len(),
            own.evidence
        )
    })
}

/// A checkpoint interval longer than a trial.
fn checkpoints(runs: &[RunSummary], trial_s: f64) -> Option<String> {
    let last = runs.last()?;
    let is_postgres = last.target.family == Some(Family::Postgres);
    if !is_postgres || last.recorded.is_none() {
        return None;
    }
    let record = record_of(last).ok()?;
    let every = record.setting("checkpoint_timeout")?.to_owned();
    let seconds: f64 = match every.parse() {
        Ok(seconds) => seconds,
        Err(_) => parse_duration(&every.replace("min", "m"))
            .ok()?
            .as_secs_f64(),
    };
    (seconds > trial_s).then(|| {
        format!(
            "PostgreSQL makes a checkpoint every {every} (checkpoint_timeout), longer than a \
             trial: the trials do not show the limit during a checkpoint."
        )
    })
}
