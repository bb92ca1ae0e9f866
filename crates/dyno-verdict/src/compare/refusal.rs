//! Conditions under which two sides must not be compared.

use std::collections::BTreeSet;

use dyno_core::record::{Profile, RunRecord};

use crate::compare::{CompareOptions, differences};
use crate::text;
use crate::view::View;

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side has no runs.
    #[error("cannot compare: the {0} side has no runs")]
    NoRuns(&'static str),
    /// A run is given twice.
    #[error(
        "cannot compare: {0} is given twice; a repetition must be a separate run, because the \
         differences between runs show the effect of chance"
    )]
    Twice(String),
    /// A run has no events.
    #[error(
        "cannot compare {0}: no event ended in it, so it has no figures; compare a run that \
         measured some events"
    )]
    NoEvents(String),
    /// The correct workload and one that reproduces another tool's errors.
    #[error(
        "cannot compare {one} with {other}: one ran in the standard profile, the other in the \
         reference profile, which do not do the same work"
    )]
    Profiles {
        /// A run in one profile.
        one: String,
        /// A run in the other.
        other: String,
    },
    /// Runs of one side that are not repetitions of each other.
    #[error(
        "cannot use {one} and {other} as repetitions of each other: they differ in {differences}; \
         put only runs with the same options on one side"
    )]
    NoRepetition {
        /// A run.
        one: String,
        /// Another run of the same side.
        other: String,
        /// Their differences.
        differences: String,
    },
    /// Different workloads.
    #[error(
        "cannot compare {one} with {other}: the workloads are {one_workload} and {other_workload}; \
         compare runs of one workload, or use --force if their events mean the same to you"
    )]
    Workloads {
        /// A run.
        one: String,
        /// The workload of that run.
        one_workload: String,
        /// Another run.
        other: String,
        /// The workload of the other run.
        other_workload: String,
    },
    /// Different operations of the same workload.
    #[error(
        "cannot compare {one} with {other}: the timed operations are {one_operations} and \
         {other_operations}"
    )]
    Operations {
        /// A run.
        one: String,
        /// The operations of that run.
        one_operations: String,
        /// Another run.
        other: String,
        /// The operations of the other run.
        other_operations: String,
    },
    /// A closed and an open loop.
    #[error(
        "cannot compare {one} with {other}: one is a closed loop, whose latencies begin when a \
         session is free, and one an open loop, whose latencies begin when an event is due"
    )]
    Loops {
        /// A run of one kind.
        one: String,
        /// A run of the other.
        other: String,
    },
}

impl CompareError {
    /// The message as a sentence, for pages: they have no `--force`.
    pub fn sentence(&self) -> String {
        let message = match self {
            Self::Workloads {
                one,
                one_workload,
                other,
                other_workload,
            } => format!(
                "cannot compare {one} with {other}: the workloads are {one_workload} and \
                 {other_workload}; compare runs of one workload"
            ),
            error => error.to_string(),
        };
        text::sentence(&message)
    }
}

pub(super) fn check(
    base: &[View],
    new: &[View],
    options: &CompareOptions,
) -> Result<(), CompareError> {
    for (side, views) in [("base", base), ("new", new)] {
        if views.is_empty() {
            return Err(CompareError::NoRuns(side));
        }
    }
    let Some((first, others)) = base.split_first() else {
        return Err(CompareError::NoRuns("base"));
    };
    // A side compared with itself has no difference.
    let names = |views: &[View]| -> Vec<String> {
        let names = views.iter().map(|view| view.run.head.name.clone());
        names.collect()
    };
    let other = match names(base) == names(new) {
        true => &[][..],
        false => new,
    };
    let mut known = BTreeSet::new();
    let mut all = base.iter().chain(other);
    if let Some(view) = all.find(|view| !known.insert(&view.run.head.name)) {
        return Err(CompareError::Twice(name(view)));
    }
    for view in base.iter().chain(new) {
        if view.totals().events == 0 {
            return Err(CompareError::NoEvents(name(view)));
        }
    }
    for view in others.iter().chain(new) {
        pair(first, view, options)?;
    }
    repetitions(base)?;
    repetitions(new)
}

/// Runs of one side are repetitions only if they had the same requested load.
fn repetitions(side: &[View]) -> Result<(), CompareError> {
    let Some((first, others)) = side.split_first() else {
        return Ok(());
    };
    let plan = differences::plan(first);
    for other in others {
        let own = differences::plan(other);
        let names: BTreeSet<&String> = plan.keys().chain(own.keys()).collect();
        let value = |plan: &differences::Description, name: &str| {
            plan.get(name).cloned().unwrap_or_else(|| "none".to_owned())
        };
        let differ: Vec<String> = names
            .into_iter()
            .filter(|name| plan.get(*name) != own.get(*name))
            .filter(|name| {
                let both = plan.contains_key(*name) && own.contains_key(*name);
                let imported = first.imported() || other.imported();
                let may_lack = differences::OF_PLAN.contains(&name.as_str())
                    || (imported && differences::OF_COMMAND.contains(&name.as_str()));
                both || !may_lack
            })
            .map(|name| format!("{name} ({} and {})", value(&plan, name), value(&own, name)))
            .collect();
        if !differ.is_empty() {
            return Err(CompareError::NoRepetition {
                one: name(first),
                other: name(other),
                differences: text::few(&differ, 4),
            });
        }
    }
    Ok(())
}

fn pair(one: &View, other: &View, options: &CompareOptions) -> Result<(), CompareError> {
    let names = (name(one), name(other));
    let (one_head, other_head) = (&one.run.head, &other.run.head);
    if one_head.profile != other_head.profile {
        let standard = one_head.profile == Profile::Standard;
        let (one, other) = if standard { names } else { (names.1, names.0) };
        return Err(CompareError::Profiles { one, other });
    }
    // A log without the kind of its loop is a closed loop: sysbench has no other.
    if one.open_loop() != other.open_loop() {
        return Err(CompareError::Loops {
            one: names.0,
            other: names.1,
        });
    }
    if options.other_workload {
        return Ok(());
    }
    let workload = |view: &View| base_name(&view.run.head.workload.name);
    let is_known = |view: &View| view.run.head.workload.known().is_some();
    if is_known(one) && is_known(other) && workload(one) != workload(other) {
        return Err(CompareError::Workloads {
            one: names.0,
            one_workload: workload(one),
            other: names.1,
            other_workload: workload(other),
        });
    }
    let (ones, others) = (operations(one), operations(other));
    if ones != others && !one.imported() && !other.imported() {
        return Err(CompareError::Operations {
            one: names.0,
            one_operations: text::list(&ones),
            other: names.1,
            other_operations: text::list(&others),
        });
    }
    Ok(())
}

/// A run's number, as used in commands, and its name.
pub(super) fn name(view: &View) -> String {
    named(view.run)
}

/// The number and name of a recorded run.
pub(super) fn named(run: &RunRecord) -> String {
    match run.id {
        0 => run.head.name.clone(),
        id => format!("run {id} ({})", run.head.name),
    }
}

/// A workload's name without the folder and extension of its file.
fn base_name(name: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".lua").unwrap_or(file).to_owned()
}

fn operations(view: &View) -> Vec<String> {
    let mut names: Vec<String> = view.run.operations.iter().map(|o| o.name.clone()).collect();
    names.sort();
    names
}
