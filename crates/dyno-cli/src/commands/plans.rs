//! Plans: made from a command line, printed, and read again.

mod own;

use anyhow::{Result, anyhow};
use dyno_core::plan::{LoadSchedule, OptionValue, PLAN_VERSION, Plan};
use dyno_core::redact;
use dyno_run::check_plan;
use dyno_script::{OptionKind, ScriptOption};

use crate::definitions::RUN;
use crate::fleet_options::OF_PLANS;
use crate::input;
use crate::options::Parsed;
use crate::settings::usage;

/// Option groups that affect a script's phases and roles.
const SHAPING: [&str; 2] = ["Load", "Random numbers"];

/// A plan from a file, as command-line options. Options on the command line come later and so
/// override it.
#[derive(Clone)]
pub(super) struct GivenPlan {
    /// The plan.
    pub plan: Plan,
    own: Vec<(&'static str, Option<String>)>,
    script: Vec<(String, Option<String>)>,
}

/// A plan with hundreds of phases is smaller.
const BYTES_MAX: u64 = 16 << 20;

/// Whether to print the plan.
pub(super) fn is_wanted(parsed: &Parsed) -> bool {
    let bare = |(name, value): &(&str, Option<String>)| *name == "plan" && value.is_none();
    parsed.own.iter().any(bare)
}

impl GivenPlan {
    /// The plan in the file of `--plan`.
    ///
    /// # Errors
    /// The file cannot be read, is not a plan, or is a plan of another command.
    pub(super) fn read(parsed: &Parsed, command: &str) -> Result<Option<Self>> {
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
        let of_agents = |name: &&String| OF_PLANS.contains(&name.as_str());
        if let Some(name) = plan.agents.keys().find(|name| !of_agents(name)) {
            return Err(usage(format!(
                "the plan {file}: agents: '{name}' is not one of {}",
                OF_PLANS.join(", ")
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
    pub(super) fn beneath(&self, parsed: &mut Parsed) -> bool {
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
    pub(super) fn fits(&self, declared: Option<&[ScriptOption]>, parsed: &Parsed) -> Result<()> {
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
    check_plan(&plan)?;
    Ok(plan)
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

#[cfg(test)]
mod tests;
