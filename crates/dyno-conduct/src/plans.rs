//! From a job to its plan.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use dyno_core::plan::{Arrivals, Drive, OpenLoop, OptionValue, PhasePlan, Plan, RecordPlan, Role};
use dyno_core::target::TargetPlan;
use dyno_run::{Job, Loaded, Sinks};
use dyno_script::Phase;

use crate::usage;

/// Inputs of a plan apart from the job and its options.
#[derive(Clone)]
pub struct Shaping {
    /// The command in the plan.
    pub command: String,
    /// The workload, as typed.
    pub workload: String,
    /// The database is temporary.
    pub temporary: bool,
    /// Numbers of sessions, one run each; empty for a single run.
    pub ladder: Vec<u32>,
    /// Options of several load generators and of the server's agent, by name.
    pub agents: BTreeMap<String, String>,
    /// The user requested the warm-up.
    pub warmup: bool,
    /// The plan from a file.
    pub given: Option<Plan>,
    /// No option may change the given plan's phases and roles.
    pub unchanged: bool,
}

impl Shaping {
    /// The given plan, if its phases and roles apply as they are.
    pub fn unchanged_plan(&self) -> Option<&Plan> {
        self.given.as_ref().filter(|_| self.unchanged)
    }
}

/// The plan of a job.
///
/// # Errors
/// The script raised an error, or the given plan does not fit the script.
pub fn make(
    shaping: &Shaping,
    loaded: &mut Loaded,
    own: &[(String, OptionValue)],
    record: RecordPlan,
    notices: &Sinks,
) -> Result<Plan> {
    let mut plan = loaded.job.plan(&shaping.workload, own, record);
    plan.modules = loaded.description.modules.iter().cloned().collect();
    plan.command.clone_from(&shaping.command);
    plan.ladder.clone_from(&shaping.ladder);
    plan.agents.clone_from(&shaping.agents);
    if shaping.temporary {
        plan.target = Some(TargetPlan::temporary());
    }
    let options = loaded.job.all_options(own);
    if let Some(given) = shaping.unchanged_plan()
        && !given.phases.is_empty()
    {
        plan.phases.clone_from(&given.phases);
    } else if loaded.job.command.as_deref() == Some("run") && shaping.command != "calibrate" {
        let phases = loaded.phases(&options)?;
        set_phases(&mut plan, &loaded.job, own, shaping, &phases)?;
    }
    if plan.phases.is_empty() && plan.ladder.is_empty() {
        plan.roles = loaded.roles(&options)?;
    }
    bound_workers(&mut plan, &loaded.job);
    if let Some(given) = &shaping.given {
        let has_roles = !given.roles.is_empty() && given.command == plan.command;
        if shaping.unchanged && has_roles && given.roles != plan.roles {
            return Err(usage(format!(
                "the plan's roles differ from those of {} with these options; leave them out of \
                 the plan, and change the options that define them",
                shaping.workload
            )));
        }
        let is_other = given.script_sha256 != plan.script_sha256
            || !given.modules.is_empty() && given.modules != plan.modules;
        if is_other {
            let path = loaded.job.work.path();
            notices.warn(format!(
                "{path} has changed since the plan was made; the run may differ"
            ));
        }
    }
    Ok(plan)
}

/// Adds these phases to the plan; with a given plan, only those that it has.
///
/// # Errors
/// A phase is invalid, or the script lacks one of the given plan.
pub(crate) fn set_phases(
    plan: &mut Plan,
    job: &Job,
    own: &[(String, OptionValue)],
    shaping: &Shaping,
    phases: &[Phase],
) -> Result<()> {
    let given = shaping.given.as_ref();
    let given = given.map_or(&[][..], |given| &given.phases);
    for known in given {
        if !phases.iter().any(|phase| phase.name == known.name) {
            return Err(usage(format!(
                "the plan has the phase {}, which {} does not have with these options",
                known.name, shaping.workload
            )));
        }
    }
    let known = |phase: &Phase| given.iter().find(|known| known.name == phase.name);
    let request = |phase: &&Phase| given.is_empty() || known(phase).is_some();
    let planned = |phase| {
        let warmup = known(phase).map(|known| known.warmup);
        planned(job, phase, own, (shaping.warmup, warmup))
    };
    plan.phases = phases
        .iter()
        .filter(request)
        .map(planned)
        .collect::<Result<_>>()?;
    Ok(())
}

/// Sets the number of workers for the maximum number of sessions.
fn bound_workers(plan: &mut Plan, job: &Job) {
    let played = |roles: &[Role]| roles.iter().map(|role| role.sessions).sum::<u32>();
    let sessions = plan.phases.iter().map(|phase| played(&phase.roles));
    let sessions = sessions.chain([played(&plan.roles), plan.drive.sessions]);
    let most = sessions.chain(plan.ladder.iter().copied()).max();
    plan.drive.workers = job.workers_for(most.unwrap_or(1));
}

/// A phase's own limits, options and roles. The warm-up is the command line's, else the given
/// plan's.
fn planned(
    job: &Job,
    phase: &Phase,
    own: &[(String, OptionValue)],
    (request, read): (bool, Option<Duration>),
) -> Result<PhasePlan> {
    let mut planned = phase_plan(&job.drive, phase, request)?;
    if let Some(read) = read.filter(|_| !request) {
        planned.warmup = read;
    }
    let mut job = job.clone();
    planned.limit(&mut job.drive);
    let options = job.all_options(&phase_options(own, &planned)?);
    // A new state, as in the phase: a used one keeps its initial options.
    planned.roles = Loaded::new(job)?.roles(&options)?;
    Ok(planned)
}

/// Converts a script's phase, without its roles. Defaults come from the drive; the warm-up only if
/// the user asked for one.
///
/// # Errors
/// An invalid time.
fn phase_plan(drive: &Drive, phase: &Phase, warmup: bool) -> Result<PhasePlan> {
    let warmup_s = phase.warmup_s.map(seconds).transpose()?;
    let otherwise = if warmup { drive.warmup } else { Duration::ZERO };
    Ok(PhasePlan {
        name: phase.name.clone(),
        options: phase.options.clone(),
        time: phase.time_s.map(seconds).transpose()?,
        events: phase.events,
        warmup: warmup_s.unwrap_or(otherwise),
        open_loop: match phase.rate_per_s {
            None => drive.open_loop,
            Some(per_second) => (per_second > 0.0).then(|| OpenLoop {
                per_second,
                arrivals: drive
                    .open_loop
                    .map_or(Arrivals::Poisson, |own| own.arrivals),
            }),
        },
        roles: Vec::new(),
        before: phase.before.clone(),
        undo: phase.undo.clone(),
        unit: phase.unit.clone(),
        per_event: phase.per_event,
    })
}

/// The script's options in a phase.
///
/// # Errors
/// The phase sets an option that the script lacks.
pub(crate) fn phase_options(
    own: &[(String, OptionValue)],
    phase: &PhasePlan,
) -> Result<Vec<(String, OptionValue)>> {
    let options = phase.options(own);
    options.map_err(|name| anyhow!("the script has no option '{name}'"))
}

fn seconds(s: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(s).with_context(|| format!("{s} seconds is not a valid time"))
}
