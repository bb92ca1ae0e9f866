//! Runs that are part of an experiment or a search.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use dyno_core::plan::{Plan, RecordPlan};
use dyno_load::StopSignal;
use dyno_run::TablesThere;

use super::plans;
use crate::options::Parsed;
use crate::output::{Kept, Output};
use crate::record_options::{record_plan, refuse_everybodys};
use crate::{console, signals};

/// The context of a command within a larger one.
pub struct Within {
    /// The identity of the run's trial.
    pub trial: Option<String>,
    /// Ends the command early.
    pub stop: Arc<StopSignal>,
    /// The destination of results.
    pub kept: Kept,
    /// Only stores the plan; runs nothing.
    pub plans_only: bool,
    /// Runs nothing; reports which of the workload's tables exist.
    pub tables: Option<Arc<Mutex<Option<TablesThere>>>>,
}

impl Within {
    /// A context that this signal ends.
    pub fn new(stop: Arc<StopSignal>) -> Self {
        Self {
            trial: None,
            stop,
            kept: Kept::default(),
            plans_only: false,
            tables: None,
        }
    }
}

/// The record plan of a run.
///
/// # Errors
/// An invalid option.
pub fn record(within: Option<&Within>, parsed: &Parsed) -> Result<RecordPlan> {
    if within.is_none() {
        refuse_everybodys(parsed)?;
    }
    Ok(RecordPlan {
        trial: within.and_then(|within| within.trial.clone()),
        ..record_plan(parsed)?
    })
}

/// Whether only the plan is wanted, which is then stored or printed.
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

/// A run's connection to its caller.
pub struct RunContext {
    /// Ends it early.
    pub stop: Arc<StopSignal>,
    /// The destination of its result.
    pub output: Output,
    /// Where to report which tables exist, if requested in place of a run.
    pub tables: Option<Arc<Mutex<Option<TablesThere>>>>,
}

impl RunContext {
    /// Reads it from the command line, or from the larger command.
    ///
    /// # Errors
    /// Signals cannot be handled, or a file cannot be written.
    pub fn of(within: Option<&Within>, parsed: &Parsed) -> Result<Self> {
        Ok(match within {
            None => Self {
                stop: signals::install()?,
                output: Output::of(parsed)?,
                tables: None,
            },
            Some(within) => Self {
                stop: Arc::clone(&within.stop),
                output: Output::Kept(within.kept.clone()),
                tables: within.tables.clone(),
            },
        })
    }
}
