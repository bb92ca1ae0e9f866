//! Plans: made from a command line, printed, and read again.

mod own;

use std::time::Duration;

use anyhow::{Result, anyhow};
use dyno_core::db::Family;
use dyno_core::plan::{
    Edition, LoadSchedule, OptionValue, PLAN_VERSION, PhasePlan, Plan, RecordPlan, Role,
};
use dyno_core::redact;
use dyno_core::target::TargetPlan;
use dyno_load::SESSIONS_MAX;
use dyno_run::{Job, Loaded};
use dyno_script::{OptionKind, Phase, ScriptOption};

use super::phases;
use super::planned::options_of;
use crate::console;
use crate::definitions::RUN;
use crate::input;
use crate::options::Parsed;
use crate::settings::usage;

/// Option groups that affect a script's phases and roles.
const SHAPING: [&str; 2] = ["Load", "Random numbers"];

/// A plan from a file, as command-line options. Options on the command line come later and so
/// override it.
#[derive(Clone)]
pub struct GivenPlan {
    /// The plan.
    pub plan: Plan,
    own: Vec<(&'static str, Option<String>)>,
    script: Vec<(String, Option<String>)>,
}

/// A plan with hundreds of phases is smaller.
const BYTES_MAX: u64 = 16 << 20;

/// Whether to print the plan.
pub fn is_wanted(parsed: &Parsed) -> bool {
    let bare = |(name, value): &(&str, Option<String>)| *name == "plan" && value.is_none();
    parsed.own.iter().any(bare)
}

impl GivenPlan {
    /// The plan in the file of `--plan`.
    ///
    /// # Errors
    /// The file cannot be read, is not a plan, or is a plan of another command.
    pub fn read(parsed: &Parsed, command: &str) -> Result<Option<Self>> {
        let Some(file) = parsed.values("plan").last() else {
            return Ok(None);
        };
        let text = input::read_text(file, BYTES_MAX).map_err(|error| match file {
            "-" => anyhow!("cannot read a plan from standard input: {error}"),
            file => usage(format!(
                "cannot read the plan {file}: {error}. --plan=FILE runs the plan in it; to write \
                 a workload's plan: dyno {command} WORKLOAD --plan > {file}"
            )),
        })?;
        let plan = parse(&text).map_err(|why| usage(format!("the plan {file}: {why}")))?;
        let fits = plan.command == command || (plan.command == "run" && command != "saturate");
        if !fits {
            return Err(usage(format!(
                "the plan {file} is for `dyno {}`, not for `dyno {command}`",
                plan.command
            )));
        }
        let mut own = own::own(&plan);
        // A calibration follows the run's plan.
        if plan.command != command && command != "calibrate" {
            // A run's plan does not set the number of sessions that load or check.
            own.retain(|(name, _)| !["sessions", "workers"].contains(name));
        }
        Ok(Some(Self {
            own,
            script: (plan.options.iter())
                .map(|(name, value)| (name.clone(), Some(value.to_string())))
                .collect(),
            plan,
        }))
    }

    /// Puts the plan's options before the command line's. Returns whether an option may affect a
    /// script's phases and roles.
    pub fn beneath(&self, parsed: &mut Parsed) -> bool {
        let shapes = |name: &str| {
            let opt = RUN.iter().find(|opt| opt.name == name);
            opt.is_some_and(|opt| SHAPING.contains(&opt.group))
        };
        let changed = !parsed.script.is_empty() || parsed.own.iter().any(|(name, _)| shapes(name));
        let test = dyno_host::find(&self.plan.workload);
        let means = |name: &str| {
            let opt = RUN.iter().find(|opt| opt.name == name);
            let applies = |test| opt.is_none_or(|opt| opt.applies_to_test(test));
            test.is_none_or(applies)
        };
        // The plan's number of workers fits only its own sessions.
        let other_sessions = parsed.has("sessions") || parsed.has("ladder");
        // A schedule's length is the sum of its parts.
        let scheduled = ["rate", "sessions"].iter().any(|name| {
            let text = parsed.value(name);
            text.is_some_and(LoadSchedule::is_one)
        });
        let holds = |name: &str| match name {
            "workers" => !other_sessions,
            "time" => !scheduled,
            _ => true,
        };
        let own = self
            .own
            .iter()
            .filter(|(name, _)| means(name) && holds(name));
        parsed.own.splice(0..0, own.cloned().collect::<Vec<_>>());
        parsed.script.splice(0..0, self.script.iter().cloned());
        parsed.words.insert(0, self.plan.workload.clone());
        changed
    }

    /// Checks that the workload has the plan's options, each with a value.
    ///
    /// # Errors
    /// The workload lacks an option, or a hidden value was not given again.
    pub fn fits(&self, declared: Option<&[ScriptOption]>, parsed: &Parsed) -> Result<()> {
        let workload = &self.plan.workload;
        let phases = self.plan.phases.iter().flat_map(|phase| &phase.options);
        for (name, value) in self.plan.options.iter().chain(phases) {
            if let Some(declared) = declared
                && !declared.iter().any(|option| option.key() == *name)
            {
                return Err(usage(format!(
                    "the plan sets the option {name}, which {workload} does not have"
                )));
            }
            let kind = declared
                .and_then(|declared| declared.iter().find(|option| option.key() == *name))
                .map(|option| option.kind);
            if let Some(what) = kind.and_then(|kind| unlike(kind, value)) {
                return Err(usage(format!(
                    "the plan's option {name} of {workload} must be {what}, not {}",
                    serde_json::to_string(value).unwrap_or_default()
                )));
            }
            let hidden = value.to_string().contains(redact::HIDDEN);
            let given = parsed.script.iter().filter(|(own, _)| key(own) == *name);
            if hidden && given.count() < 2 {
                let dashed = name.replace('_', "-");
                return Err(usage(format!(
                    "the plan omits the option {name} of {workload}, whose value is a secret: add \
                     --{dashed}"
                )));
            }
        }
        Ok(())
    }
}

/// An option's name in scripts.
fn key(name: &str) -> String {
    name.replace('-', "_")
}

fn parse(text: &str) -> Result<Plan, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    match value
        .get("plan_version")
        .and_then(serde_json::Value::as_u64)
    {
        Some(version) if version == u64::from(PLAN_VERSION) => {}
        Some(version) => {
            return Err(format!(
                "it has version {version} of the format; this Dyno knows version {PLAN_VERSION}"
            ));
        }
        None => return Err("it has no plan_version, so it is not a Dyno plan".to_owned()),
    }
    // Parsed from the text, not from a JSON value, whose errors lack the line.
    let plan: Plan = serde_json::from_str(text).map_err(|error| error.to_string())?;
    check(&plan)?;
    Ok(plan)
}

/// Checks that a plan can be run by itself.
///
/// # Errors
/// What is wrong with it.
pub fn check(plan: &Plan) -> Result<(), String> {
    if plan.edition == Edition::Sysbench {
        return Err("it comes from `dyno sysbench`; repeat its command line instead".to_owned());
    }
    if !plan.drive.roles.is_empty() {
        return Err("roles belong next to the drive, not inside it".to_owned());
    }
    if plan.target.is_none() && dyno_host::find(&plan.workload).is_none() {
        return Err("it names no target".to_owned());
    }
    plan.target.as_ref().map_or(Ok(()), reachable)?;
    if !(1..=SESSIONS_MAX).contains(&plan.drive.sessions) {
        return Err(format!(
            "drive.sessions: {} is not between 1 and {SESSIONS_MAX}",
            plan.drive.sessions
        ));
    }
    Ok(())
}

/// Checks that the target names its server; without that a driver would use this host's. A plan
/// contains no password.
fn reachable(target: &TargetPlan) -> Result<(), String> {
    let is_server = !target.temporary && target.family != Family::Sqlite;
    if is_server && target.endpoints.is_empty() {
        return Err("target.endpoints is empty; name the server's host and port".to_owned());
    }
    if target.parameters.contains_key("password") {
        return Err(
            "target.parameters: a plan cannot hold a password; use password_env, defaults_file or \
             passfile"
                .to_owned(),
        );
    }
    Ok(())
}

/// The type that an option expects, if the value has another; the command line has its own
/// messages.
fn unlike(kind: OptionKind, value: &OptionValue) -> Option<&'static str> {
    let is_number =
        |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    let is_hidden = |text: &str| text.contains(redact::HIDDEN);
    let fits = match (kind, value) {
        (OptionKind::Bool, OptionValue::Bool(_)) => true,
        (OptionKind::Bool, OptionValue::Number(number)) => *number == 0.0 || *number == 1.0,
        (OptionKind::Bool, OptionValue::Text(text)) => !text.is_empty(),
        (OptionKind::Bool, OptionValue::List(_)) => false,
        (OptionKind::Int | OptionKind::Size | OptionKind::Double, OptionValue::Text(text)) => {
            is_number(text) || is_hidden(text)
        }
        (OptionKind::Int | OptionKind::Size | OptionKind::Double, value) => {
            matches!(value, OptionValue::Number(_))
        }
        (OptionKind::String | OptionKind::File, value) => {
            matches!(value, OptionValue::Text(_) | OptionValue::Number(_))
        }
        (OptionKind::List | OptionKind::Null, _) => true,
    };
    match kind {
        _ if fits => None,
        OptionKind::Bool => Some("true or false"),
        OptionKind::Int | OptionKind::Size | OptionKind::Double => Some("a number"),
        _ => Some("text"),
    }
}

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
    /// The user requested the warm-up.
    pub warmup: bool,
    /// The plan from a file.
    pub given: Option<GivenPlan>,
    /// No option may change the given plan's phases and roles.
    pub unchanged: bool,
}

impl Shaping {
    /// The given plan, if its phases and roles apply as they are.
    pub fn unchanged_plan(&self) -> Option<&GivenPlan> {
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
) -> Result<Plan> {
    let mut plan = loaded.job.plan(&shaping.workload, own, record);
    plan.modules = loaded.description.modules.iter().cloned().collect();
    plan.command.clone_from(&shaping.command);
    plan.ladder.clone_from(&shaping.ladder);
    if shaping.temporary {
        plan.target = Some(TargetPlan::temporary());
    }
    let options = options_of(&loaded.job.drive, own);
    if let Some(given) = shaping.unchanged_plan()
        && !given.plan.phases.is_empty()
    {
        plan.phases.clone_from(&given.plan.phases);
    } else if loaded.job.command.as_deref() == Some("run") && shaping.command != "calibrate" {
        let phases = loaded.phases(&options)?;
        set_phases(&mut plan, &loaded.job, own, shaping, &phases)?;
    }
    if plan.phases.is_empty() && plan.ladder.is_empty() {
        plan.roles = loaded.roles(&options)?;
    }
    bound_workers(&mut plan, &loaded.job);
    if let Some(given) = &shaping.given {
        let has_roles = !given.plan.roles.is_empty() && given.plan.command == plan.command;
        if shaping.unchanged && has_roles && given.plan.roles != plan.roles {
            return Err(usage(format!(
                "the plan's roles differ from those of {} with these options; leave them out of \
                 the plan, and change the options that define them",
                shaping.workload
            )));
        }
        let is_other = given.plan.script_sha256 != plan.script_sha256
            || !given.plan.modules.is_empty() && given.plan.modules != plan.modules;
        if is_other {
            let path = loaded.job.work.path();
            console::note(&format!(
                "warning: {path} has changed since the plan was made; the run may differ"
            ));
        }
    }
    Ok(plan)
}

/// Adds these phases to the plan; with a given plan, only those that it has.
///
/// # Errors
/// A phase is invalid, or the script lacks one of the given plan.
pub fn set_phases(
    plan: &mut Plan,
    job: &Job,
    own: &[(String, OptionValue)],
    shaping: &Shaping,
    phases: &[Phase],
) -> Result<()> {
    let given = shaping.given.as_ref();
    let given = given.map_or(&[][..], |given| &given.plan.phases);
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
    let mut planned = phases::plan(&job.drive, phase, request)?;
    if let Some(read) = read.filter(|_| !request) {
        planned.warmup = read;
    }
    let mut job = job.clone();
    planned.limit(&mut job.drive);
    let options = options_of(&job.drive, &phases::options(own, &planned)?);
    // A new state, as in the phase: a used one keeps its initial options.
    planned.roles = Loaded::new(job)?.roles(&options)?;
    Ok(planned)
}

#[cfg(test)]
mod tests;
