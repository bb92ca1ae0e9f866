//! Runs that are a part of something larger: an experiment, a search.

use std::sync::Arc;

use anyhow::Result;
use dyno_core::plan::{Plan, RecordPlan};
use dyno_load::StopSignal;

use super::plans;
use crate::options::Parsed;
use crate::output::{Kept, Output};
use crate::record_options::{record_plan, refuse_everybodys};
use crate::{console, signals};

/// What a command is a part of.
pub struct Within {
    /// The identity of the trial that a run is of.
    pub trial: Option<String>,
    /// Ends the command early.
    pub stop: Arc<StopSignal>,
    /// Where its results go.
    pub kept: Kept,
    /// Nothing is run: what is kept is the plan.
    pub plans_only: bool,
}

/// What is to be recorded of a run.
///
/// # Errors
/// An option without sense.
pub fn record(within: Option<&Within>, parsed: &Parsed) -> Result<RecordPlan> {
    if within.is_none() {
        refuse_everybodys(parsed)?;
    }
    Ok(RecordPlan {
        trial: within.and_then(|within| within.trial.clone()),
        ..record_plan(parsed)?
    })
}

/// Whether the plan is all that is wanted: it is kept or printed then.
///
/// # Errors
/// It cannot be written as JSON.
pub fn is_all(within: Option<&Within>, parsed: &Parsed, plan: &Plan) -> Result<bool> {
    if let Some(within) = within.filter(|within| within.plans_only) {
        within.kept.put_plan(plan.clone());
        return Ok(true);
    }
    let is_wanted = plans::is_wanted(parsed);
    if is_wanted {
        let shown = serde_json::to_string_pretty(&plan.clone().without_secrets())?;
        console::json(&(shown + "\n"));
    }
    Ok(is_wanted)
}

/// What ends a run early, and where its result goes.
///
/// # Errors
/// Signals cannot be handled, or a file cannot be written.
pub fn outcome(within: Option<&Within>, parsed: &Parsed) -> Result<(Arc<StopSignal>, Output)> {
    Ok(match within {
        None => (signals::install()?, Output::of(parsed)?),
        Some(within) => (Arc::clone(&within.stop), Output::Kept(within.kept.clone())),
    })
}
