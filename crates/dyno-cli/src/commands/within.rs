//! Runs that are a part of something larger: an experiment, a search.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use dyno_core::plan::{Plan, RecordPlan};
use dyno_load::StopSignal;
use dyno_run::TablesThere;
use dyno_run::calibration::Calibration;

use super::plans;
use super::target::Password;
use crate::fleet::AgentLoad;
use crate::options::Parsed;
use crate::output::{Kept, Output};
use crate::record_options::{record_plan, refuse_everybodys};
use crate::{console, signals};

/// What a command is a part of.
pub struct Within {
    /// The identity of the trial that a run is of.
    pub trial: Option<String>,
    /// RunContext the command early.
    pub stop: Arc<StopSignal>,
    /// Where its results go.
    pub kept: Kept,
    /// Nothing is run: what is kept is the plan.
    pub plans_only: bool,
    /// Runs nothing; reports which of the workload's tables exist.
    pub tables: Option<Arc<Mutex<Option<TablesThere>>>>,
    /// The run is the part that an agent makes of one.
    pub part: Option<Arc<AgentLoad>>,
    /// Where a calibration goes that is wanted in place of a run.
    pub calibration: Option<Arc<Mutex<Option<Calibration>>>>,
}

impl Within {
    /// Of something that is ended by this signal.
    pub fn new(stop: Arc<StopSignal>) -> Self {
        Self {
            trial: None,
            stop,
            kept: Kept::default(),
            plans_only: false,
            tables: None,
            part: None,
            calibration: None,
        }
    }
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

/// What a run has to do with who asked for it.
pub struct RunContext {
    /// What ends it early.
    pub stop: Arc<StopSignal>,
    /// Where its result goes.
    pub output: Output,
    /// The part of a run that it is, if it is one.
    pub part: Option<Arc<AgentLoad>>,
    /// Where to report which tables exist, if requested in place of a run.
    pub tables: Option<Arc<Mutex<Option<TablesThere>>>>,
}

impl RunContext {
    /// What the command line, or what the run is a part of, says.
    ///
    /// # Errors
    /// Signals cannot be handled, or a file cannot be written.
    pub fn of(within: Option<&Within>, parsed: &Parsed) -> Result<Self> {
        Ok(match within {
            None => Self {
                stop: signals::install()?,
                output: Output::of(parsed)?,
                part: None,
                tables: None,
            },
            Some(within) => Self {
                stop: Arc::clone(&within.stop),
                output: Output::Kept(within.kept.clone()),
                part: within.part.clone(),
                tables: within.tables.clone(),
            },
        })
    }
}

/// Where the target's password comes from.
pub fn password(within: Option<&Within>) -> Password {
    let part = within.and_then(|within| within.part.as_ref());
    part.map_or(Password::Own, |part| part.password.clone())
}
