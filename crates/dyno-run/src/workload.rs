//! The workload of a run: a script or a test of the host.

use std::collections::BTreeSet;
use std::path::Path;

use dyno_core::plan::RandPlan;
use dyno_core::summary::{MachineFigure, MachineSummary};
use dyno_host::{Edition, Kind, Plan, Setting, Test};
use dyno_load::RunOutcome;
use dyno_script::{Declared, Description, OptionKind, ScriptOption, Source, SourceError};

use crate::builtins;
use crate::error::{Result, RunError, failed};
use crate::job::{Job, Ready};

/// The workload of a run.
#[derive(Clone)]
pub enum Workload {
    /// A script.
    Script(Source),
    /// A test of the host, with the defaults of one of the command lines.
    Host(&'static Test, Edition),
}

impl Workload {
    /// The workload with this name: a host test, or else a script.
    ///
    /// # Errors
    /// The script does not exist or cannot be read.
    pub fn find(name: &str, edition: Edition) -> Result<Self, SourceError> {
        match dyno_host::find(name) {
            Some(test) => Ok(Self::Host(test, edition)),
            None => dyno_script::find(name, builtins::SCRIPTS).map(Self::Script),
        }
    }

    /// The script, if this is one.
    pub fn script(&self) -> Option<&Source> {
        match self {
            Self::Script(source) => Some(source),
            Self::Host(..) => None,
        }
    }

    /// The test of the host, if this is one.
    pub fn test(&self) -> Option<&'static Test> {
        match self {
            Self::Script(_) => None,
            Self::Host(test, _) => Some(test),
        }
    }

    /// The name as typed. `None` for standard input.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Script(source) => source.name.as_deref(),
            Self::Host(test, _) => Some(test.name),
        }
    }

    /// Its path, for messages.
    pub fn path(&self) -> &str {
        match self {
            Self::Script(source) => &source.path,
            Self::Host(test, _) => test.name,
        }
    }

    /// What identifies the work: the text of a script, or the revision of a test.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::Script(source) => source.text.clone(),
            Self::Host(test, _) => {
                format!("dyno {} revision {}", test.name, test.revision).into_bytes()
            }
        }
    }

    /// Whether it is a built-in workload, without changes.
    pub fn is_builtin(&self) -> bool {
        match self {
            Self::Script(source) => builtins::is_builtin(source),
            Self::Host(..) => true,
        }
    }
}

/// The texts of a script and of all modules that it requires. `None` if one of them cannot be read.
pub fn sources(work: &Workload) -> Option<Vec<String>> {
    let source = work.script()?;
    let folder = Path::new(&source.path).parent();
    let mut texts = vec![String::from_utf8(source.text.clone()).ok()?];
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while at < texts.len() {
        for name in required(&texts[at]) {
            if !seen.insert(name.clone()) {
                continue;
            }
            let builtin = builtins::SCRIPTS.iter().find(|(own, _)| *own == name);
            texts.push(match builtin {
                Some((_, text)) => (*text).to_owned(),
                None => std::fs::read_to_string(folder?.join(format!("{name}.lua"))).ok()?,
            });
        }
        at += 1;
    }
    Some(texts)
}

/// The modules that a script requires by a string literal.
fn required(text: &str) -> Vec<String> {
    let calls = text.split("require").skip(1);
    let names = calls.filter_map(|rest| {
        // Skip "requires" and "required" in a text.
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let rest = rest.trim_start_matches(['(', ' ']);
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let (name, _) = rest[1..].split_once(quote)?;
        // The word may also be the end of a text.
        let is_name = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        name.chars().all(is_name).then(|| name.to_owned())
    });
    names.collect()
}

/// The declarations of a host test, in the form of a script's.
pub(crate) fn description(test: &Test, edition: Edition) -> Description {
    let kind = |kind| match kind {
        Kind::Int => OptionKind::Int,
        Kind::Double => OptionKind::Double,
        Kind::Size => OptionKind::Size,
        Kind::Bool => OptionKind::Bool,
        Kind::Text => OptionKind::String,
        Kind::List => OptionKind::List,
    };
    let option = |definition: &dyno_host::Definition| ScriptOption {
        name: definition.name.to_owned(),
        description: definition.about.to_owned(),
        kind: kind(definition.kind),
        default: Some(definition.default(edition).to_owned()).filter(|text| !text.is_empty()),
    };
    let command = |name: &&str| ((*name).to_owned(), false);
    Description {
        modules: Vec::new(),
        options: Some(test.options.iter().map(option).collect()),
        commands: test.commands.iter().map(command).collect(),
        functions: vec!["event".to_owned()],
        declared: Declared {
            operations: test.operations.iter().map(|name| (*name).into()).collect(),
            sums: Vec::new(),
        },
        hooks: Vec::new(),
    }
}

/// Reads the options of a host test and adjusts its drive to one thread per session, because events
/// block.
///
/// # Errors
/// Options have invalid values.
pub(crate) fn plan(job: &mut Job) -> Result<Plan> {
    let Workload::Host(test, edition) = job.work else {
        let path = job.work.path();
        return Err(failed(format!("{path} is not a host test")));
    };
    let plan = Plan::new(test, &job.options, &setting(edition, job));
    let plan = plan.map_err(RunError::Usage)?;
    let drive = &mut job.drive;
    drive.workers = drive.sessions;
    drive.events = match (drive.events, plan.events()) {
        (Some(request), Some(own)) => Some(request.min(own)),
        (request, own) => request.or(own),
    };
    if plan.ends_itself() && !drive.warmup.is_zero() {
        return Err(RunError::Usage(format!(
            "{} ends after one event per session, so a warm-up would leave nothing to measure",
            test.name
        )));
    }
    Ok(plan)
}

/// The settings of the drive for a test.
fn setting(edition: Edition, job: &Job) -> Setting {
    Setting {
        edition,
        sessions: job.drive.sessions,
        seed: job.drive.seed,
        rand: RandPlan::clone(&job.rand),
    }
}

/// The figures that only a host test has.
pub(crate) fn machine(
    ready: &Ready,
    outcome: &RunOutcome,
    measured_s: f64,
) -> Option<MachineSummary> {
    let plan = ready.plan()?;
    let figures = plan.figures(&outcome.in_window(), measured_s).into_iter();
    Some(MachineSummary {
        about: plan.about(),
        depth: plan.depth(),
        figures: figures
            .map(|figure| MachineFigure {
                name: figure.name.to_owned(),
                value: figure.value,
                unit: figure.unit.to_owned(),
            })
            .collect(),
    })
}
