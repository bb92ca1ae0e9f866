//! Plans a command: reads its words, loads its script and makes its plan. Does not connect.

use anyhow::{Context as _, Error, Result};
use dyno_conduct::Command;
use dyno_conduct::plans::{self, Shaping};
use dyno_conduct::target::Temporary;
use dyno_core::Target;
use dyno_core::plan::{Drive, OptionValue};
use dyno_core::redact;
use dyno_host::Edition;
use dyno_run::{CALL_TIMEOUT, Job, Loaded, Prints, RunError, Workload, default_ignored_errors};
use dyno_script::{Description, ScriptOption};

use super::drive::drive;
use super::host;
use super::meant::{only_runs, options_help, workload_help};
use super::plans::GivenPlan;
use super::saturate::{self, Steps};
use super::target::target;
use crate::definitions::RUN;
use crate::options::{Grammar, Parsed, Script, find_own, hint_of_others, near_miss, parse};
use crate::record_options::{keeps_shapes, record_plan};
use crate::settings::{self, usage};
use crate::{console, fleet_options, notices};

/// Default sessions of a parallel `dyno prepare`.
const PREPARE_SESSIONS: u32 = 4;

/// The meaning of a command's words.
pub(super) enum Words {
    /// A request for this help.
    Help(String),
    /// A command to execute.
    Command(Box<PlannedCommand>),
}

/// A planned command, with what only its presentation needs.
pub(super) struct PlannedCommand {
    /// The command.
    pub command: Command,
    /// Dyno's own options.
    pub parsed: Parsed,
    /// A ladder's steps are parts of one run.
    pub in_one_run: bool,
}

impl PlannedCommand {
    /// Plans the command of a command line.
    ///
    /// # Errors
    /// As [`plan`], or a request for help.
    pub(super) fn of(args: Vec<String>, command: &str) -> Result<Self> {
        match plan(args, command)? {
            Words::Command(planned) => Ok(*planned),
            Words::Help(_) => Err(usage(format!("dyno {command}: --help runs nothing"))),
        }
    }
}

/// Plans a command from the words of its command line.
///
/// # Errors
/// Invalid usage, or a script that cannot be loaded.
pub(super) fn plan(args: Vec<String>, command: &str) -> Result<Words> {
    let mut first = parse(&args[2..], RUN, Script::Unknown, Grammar::Dyno)?;
    let given = GivenPlan::read(&first, command)?;
    only_runs(&first, command)?;
    if let Some(given) = &given {
        given.beneath(&mut first);
    }
    let Some(workload) = first.words.first().cloned() else {
        return without_workload(command, &first).map(Words::Help);
    };
    let work = work(&workload, &first)
        .map_err(|error| unnamed(command, &workload, &args, &first.words).unwrap_or(error))?;
    let steps = saturate::steps(command, &mut first)?;
    let (target, temporary) = match work.test() {
        Some(_) => (None, None),
        None => {
            let (target, temporary) = target(&first, steps.command)?;
            (Some(target), temporary)
        }
    };
    let job = job(&args, &steps, &first, (work, target))?;
    let loaded =
        Loaded::new(job).with_context(|| format!("the script {workload} cannot be loaded"))?;
    let declared = loaded.description.options.clone();
    let script = declared
        .as_deref()
        .map_or(Script::TakesAny, Script::Declares);
    let mut parsed = parse(&args[2..], RUN, script, Grammar::Dyno)?;
    let warmup = parsed.has("warmup");
    let changed = given
        .as_ref()
        .is_some_and(|given| given.beneath(&mut parsed));
    steps.beneath(&mut parsed);
    let typed = settings::names_typed(&args);
    // The target has the password now; keep a single copy.
    drop(args);
    first.forget_password();
    parsed.forget_password();
    if asks_help(&parsed) {
        let all = parsed.has("help-all");
        return Ok(Words::Help(workload_help(
            steps.typed,
            &workload,
            &loaded,
            all,
        )));
    }
    let shaping = Shaping {
        command: steps.typed.to_owned(),
        workload,
        temporary: temporary.is_some(),
        ladder: steps.ladder.clone(),
        agents: match steps.command {
            "run" => fleet_options::of_plan(&parsed),
            _ => Default::default(),
        },
        warmup,
        unchanged: !changed,
        given: given.as_ref().map(|given| given.plan.clone()),
    };
    let planned = complete(loaded, parsed, shaping, (steps, given, temporary, &typed))?;
    Ok(Words::Command(Box::new(planned)))
}

/// Makes the plan of a command whose words have been read, with the options that were typed.
fn complete(
    mut loaded: Loaded,
    parsed: Parsed,
    shaping: Shaping,
    (steps, given, temporary, typed): (Steps<'_>, Option<GivenPlan>, Option<Temporary>, &[String]),
) -> Result<PlannedCommand> {
    one_word(&parsed)?;
    let declared = loaded.description.options.clone();
    if let Some(given) = given {
        given.fits(declared.as_deref(), &parsed)?;
    }
    let spelled = |error| spelled(error, typed);
    let own = own_options(declared.as_deref(), &parsed).map_err(spelled)?;
    loaded.job.shapes = keeps_shapes(&parsed);
    if steps.command != "run"
        && !parsed.has("sessions")
        && is_parallel(steps.command, &loaded.job, &loaded.description)
    {
        loaded = loaded.with_sessions(PREPARE_SESSIONS);
    }
    let options = loaded.job.all_options(&own);
    // A cleanup also drops what other options created, for example with `--schemas 0`.
    if steps.command != "cleanup" {
        let checked = loaded.check_options(&options);
        checked.map_err(|error| spelled(error.into()))?;
    }
    let record = record_plan(&parsed)?;
    let plan = plans::make(&shaping, &mut loaded, &own, record, &notices::quiet());
    let command = Command {
        plan: plan.map_err(spelled)?,
        name: steps.command.to_owned(),
        loaded,
        own,
        shaping,
        temporary,
    };
    Ok(PlannedCommand {
        command,
        parsed,
        in_one_run: steps.in_one_run(),
    })
}

/// A refusal of options, with their names as the user typed them. Other errors are unchanged.
fn spelled(error: Error, typed: &[String]) -> Error {
    match error.downcast_ref::<RunError>() {
        Some(refusal) if refusal.is_usage() => {
            usage(settings::spelled(&refusal.to_string(), typed))
        }
        _ => error,
    }
}

fn asks_help(parsed: &Parsed) -> bool {
    parsed.has("help") || parsed.has("help-all")
}

/// A command's help without a workload.
fn without_workload(command: &str, parsed: &Parsed) -> Result<String> {
    if !asks_help(parsed) {
        return Err(usage(format!(
            "dyno {command} needs a workload; `dyno list` shows some"
        )));
    }
    Ok(format!(
        "Usage: dyno {command} WORKLOAD [--target URL] [options] [the workload's options]\n\
         \x20      dyno {command} --plan FILE [options that override the plan]\n\
         {}",
        options_help(command, parsed.has("help-all"))
    ))
}

fn own_options(
    declared: Option<&[ScriptOption]>,
    parsed: &Parsed,
) -> Result<Vec<(String, OptionValue)>> {
    match declared {
        Some(declared) => settings::script_options(declared, &parsed.script),
        None => {
            warn_of_near_misses(parsed);
            Ok(undeclared(parsed))
        }
    }
}

/// Warns of likely typos of Dyno's options, if the script declares no options.
fn warn_of_near_misses(parsed: &Parsed) {
    for (name, _) in &parsed.script {
        if let Some(meant) = near_miss(name, RUN) {
            console::note(&format!(
                "warning: --{name} goes to the script; did you mean --{meant}?"
            ));
        }
    }
}

/// The error if `word`, which was taken for the workload, is probably the value of an unknown
/// option before it. `words` are all words of the command line.
pub(super) fn unnamed(
    command: &str,
    word: &str,
    args: &[String],
    words: &[String],
) -> Option<Error> {
    let option = args.windows(2).find_map(|pair| match pair {
        [option, value] if value == word && is_unknown(option) => Some(option.as_str()),
        _ => None,
    })?;
    let name = option.trim_start_matches('-');
    let meant = || near_miss(name, RUN).map(|meant| format!("did you mean --{meant}?"));
    let hint = hint_of_others(&name.replace('_', "-")).map(str::to_owned);
    if let Some(hint) = hint.or_else(meant) {
        return Some(usage(format!("unknown option {option}; {hint}")));
    }
    // Not standard input, which would be read.
    let mut known = words.iter().filter(|word| *word != "-");
    let known = known.find(|word| Workload::find(word, Edition::Dyno).is_ok());
    let workload = known.map_or("WORKLOAD", String::as_str);
    Some(usage(format!(
        "no workload is named: {option} looks like an option of a workload, and '{word}' like its \
         value; name the workload first: dyno {command} {workload} {option} {word}"
    )))
}

/// Whether an argument is an option without a value that no command on workloads has.
fn is_unknown(arg: &str) -> bool {
    let letter = || arg.strip_prefix('-').filter(|letter| letter.len() == 1);
    let name = arg.strip_prefix("--").or_else(letter);
    name.is_some_and(|name| {
        !name.is_empty() && !name.contains('=') && find_own(RUN, name).is_none()
    })
}

/// Rejects words after the workload's name.
fn one_word(parsed: &Parsed) -> Result<()> {
    let [workload, word, ..] = parsed.words.as_slice() else {
        return Ok(());
    };
    let bare_json = |(name, value): &(&str, Option<String>)| *name == "json" && value.is_none();
    let hint = match parsed.own.iter().any(bare_json) {
        true => format!("; to write the result to a file: --json={word}"),
        false if parsed.has("plan") => {
            "; to run a plan: dyno run --plan FILE, without a workload".to_owned()
        }
        false => String::new(),
    };
    Err(usage(format!(
        "unexpected argument '{word}' after {workload}{hint}"
    )))
}

/// Finds the workload, and rejects options that do not apply to it.
fn work(workload: &str, parsed: &Parsed) -> Result<Workload> {
    let work = Workload::find(workload, Edition::Dyno).map_err(|error| {
        usage(match parsed.has("help") {
            true => format!("{error}; -h prints help, and --target names the server"),
            false => error.to_string(),
        })
    })?;
    if let Some(test) = work.test() {
        host::refuse_meaningless(test, parsed)?;
    }
    Ok(work)
}

/// The job of a command, without the workload's options.
fn job(
    args: &[String],
    steps: &Steps<'_>,
    first: &Parsed,
    (work, target): (Workload, Option<Target>),
) -> Result<Job> {
    let command = steps.command;
    let percentiles = settings::percentiles(first.value("percentiles").unwrap_or("50,95,99,99.9"))?;
    let ignored = match first.value("ignore-errors") {
        None => default_ignored_errors(target.as_ref().map(|target| target.family)),
        Some(list) => settings::ignored_errors(list)?,
    };
    let choice = |name: &str, a: &str, b: &str| match first.value(name) {
        None => Ok(true),
        Some(text) if text == a => Ok(true),
        Some(text) if text == b => Ok(false),
        Some(text) => Err(usage(format!("--{name}: '{text}' is neither {a} nor {b}"))),
    };
    Ok(Job {
        work,
        argv: redact::argv(args),
        command: Some(match command {
            // A calibration executes what a run would.
            "calibrate" => "run".to_owned(),
            command => command.to_owned(),
        }),
        options: Vec::new(),
        target,
        drive: match command {
            "run" => drive(first)?,
            // The whole load, even if the plan is for a part of it.
            _ => Drive {
                shard: None,
                begin_unix_s: None,
                schedule: None,
                ..drive(first)?
            },
        },
        workers: settings::workers(first)?,
        rand: settings::rand_plan(first)?,
        percentile: percentiles.last().copied().unwrap_or(95.0),
        ignored_errors: ignored,
        reconnect_lost: choice("lost-connections", "reconnect", "stop")?,
        call_timeout: settings::duration(first, "call-timeout", CALL_TIMEOUT)?,
        emulate_prepared: !choice("ps-mode", "auto", "disable")?,
        luajit_cmd: first.value("luajit-cmd").map(str::to_owned),
        // A check's output is its result.
        canned: false,
        shapes: keeps_shapes(first),
        prints: match command {
            "check" => Prints::Output,
            _ => Prints::Errors,
        },
        sysbench: false,
        log: |_, _| {},
    })
}

/// Whether a command of the script runs in several sessions.
fn is_parallel(command: &str, job: &Job, description: &Description) -> bool {
    let embedded = |target: &Target| target.family.is_embedded();
    let mut commands = description.commands.iter();
    !job.target.as_ref().is_some_and(embedded)
        && commands.any(|(name, parallel)| name == command && *parallel)
}

/// Options of a script that declares none: strings, as given; the last value of a name wins.
fn undeclared(parsed: &Parsed) -> Vec<(String, OptionValue)> {
    let mut options: Vec<(String, OptionValue)> = Vec::new();
    for (name, value) in &parsed.script {
        let name = name.replace('-', "_");
        options.retain(|(own, _)| *own != name);
        options.push((name, OptionValue::Text(value.clone().unwrap_or_default())));
    }
    options
}
