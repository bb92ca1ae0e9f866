//! `dyno run`, `prepare`, `check`, `cleanup` and a script's other commands.

use std::sync::{Arc, PoisonError};

use anyhow::{Context as _, Result};
use dyno_core::Target;
use dyno_core::db::ServerInfo;
use dyno_core::plan::{Drive, OptionValue, Plan, RecordPlan};
use dyno_core::redact;
use dyno_host::Edition;
use dyno_load::StopLevel;
use dyno_script::{Description, Phase, ScriptOption};

use super::drive::drive;
use super::hints::{self, with_hint};
use super::host;
use super::meant::{only_runs, options_help, workload_help};
use super::measure::{Screen, measure};
use super::phases::{self, Base};
use super::plans::{self, Given, Shaping};
use super::saturate::{self, Steps};
use super::target::{Temporary, target};
use super::within::{self, RunContext, Within};
use crate::definitions::RUN;
use crate::fleet::Fleet;
use crate::options::{Grammar, Parsed, Script, near_miss, parse};
use crate::record_options::keeps_shapes;
use crate::settings::{self, usage};
use crate::{STATUS_DONE, console, junit, loading};
use dyno_run::{
    CALL_TIMEOUT, Job, Loaded, Prints, Ready, RunRequest, Workload, default_ignored_errors,
};

/// Default sessions of a parallel `dyno prepare`.
const PREPARE_SESSIONS: u32 = 4;

/// Runs a workload's command.
///
/// # Errors
/// Invalid usage, a script or target that is not available, or a failed run.
pub fn main(args: Vec<String>, command: &str) -> Result<u8> {
    run(args, command, None)
}

/// Runs it as a part of a larger command, which takes the results and prints them.
///
/// # Errors
/// See [`main`].
pub fn run(args: Vec<String>, command: &str, within: Option<&Within>) -> Result<u8> {
    let mut first = parse(&args[2..], RUN, Script::Unknown, Grammar::Dyno)?;
    let given = Given::read(&first, command)?;
    only_runs(&first, command)?;
    if let Some(given) = &given {
        given.beneath(&mut first);
    }
    let Some(workload) = &first.words.first().cloned() else {
        return without_workload(command, &first);
    };
    let work = work(workload, &first)?;
    let steps = saturate::steps(command, &mut first)?;
    let (typed, command) = (steps.typed, steps.command);
    let request = Request::new(&args, &steps, &first, &work)?;
    let mut loaded = Loaded::new(request.job(&first, work)?)
        .with_context(|| format!("the script {workload} cannot be loaded"))?;
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
    // The target has the password now; keep a single copy.
    drop(args);
    first.forget_password();
    parsed.forget_password();
    if asks_help(&parsed) {
        let all = parsed.has("help-all");
        console::help(&workload_help(typed, workload, &loaded, all));
        return Ok(STATUS_DONE);
    }
    one_word(&parsed)?;
    if let Some(given) = &given {
        given.fits(declared.as_deref(), &parsed)?;
    }
    let own = own_options(declared.as_deref(), &parsed)?;
    loaded.job.shapes = keeps_shapes(&parsed);
    if command != "run" && !parsed.has("sessions") && request.parallel(&loaded.description) {
        loaded = loaded.with_sessions(PREPARE_SESSIONS);
    }
    let ladder = request.ladder.clone().unwrap_or_default();
    let shaping = Shaping {
        command: typed,
        workload,
        temporary: request.temporary.is_some(),
        ladder: &ladder,
        warmup,
        given: given.as_ref().map(|given| (given, !changed)),
    };
    let record = within::record(within, &parsed)?;
    let plan = plans::make(&shaping, &mut loaded, &own, record)?;
    if within::is_all(within, &parsed, &plan)? {
        return Ok(STATUS_DONE);
    }
    if command == "calibrate" {
        let options = options_of(&loaded.job.drive, &own);
        return super::calibrate::main(&loaded.job, &options, &parsed);
    }
    let context = RunContext::of(within, &parsed)?;
    request.execute(loaded, &parsed, (own, plan), &shaping, context)
}

fn asks_help(parsed: &Parsed) -> bool {
    parsed.has("help") || parsed.has("help-all")
}

/// Prints a command's help without a workload.
fn without_workload(command: &str, parsed: &Parsed) -> Result<u8> {
    if !asks_help(parsed) {
        return Err(usage(format!(
            "dyno {command} needs a workload; `dyno list` shows some"
        )));
    }
    console::help(&format!(
        "Usage: dyno {command} WORKLOAD [--target URL] [options] [the workload's options]\n\
         \x20      dyno {command} --plan FILE [options that override the plan]\n\
         {}",
        options_help(command, parsed.has("help-all"))
    ));
    Ok(STATUS_DONE)
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
            true => format!("{error}; -h asks for help, and --target names the server"),
            false => error.to_string(),
        })
    })?;
    if let Some(test) = work.test() {
        host::refuse_meaningless(test, parsed)?;
    }
    Ok(work)
}

struct Request<'a> {
    /// The command line without its secrets.
    argv: Vec<String>,
    command: &'a str,
    workload: String,
    /// `None` for a test of the host.
    target: Option<Target>,
    /// The temporary database, dropped at the end of the run.
    temporary: Option<Temporary>,
    percentiles: Vec<f64>,
    /// Numbers of sessions, one run each, in order.
    ladder: Option<Vec<u32>>,
    /// A ladder's steps are parts of one run.
    in_one_run: bool,
}

impl<'a> Request<'a> {
    fn new(args: &[String], steps: &Steps<'a>, first: &Parsed, work: &Workload) -> Result<Self> {
        let command = steps.command;
        let percentiles =
            settings::percentiles(first.value("percentiles").unwrap_or("50,95,99,99.9"))?;
        let (target, temporary) = match work.test() {
            Some(_) => (None, None),
            None => {
                let (target, temporary) = target(first, command)?;
                (Some(target), temporary)
            }
        };
        Ok(Self {
            argv: redact::argv(args),
            command,
            workload: first.words.first().cloned().unwrap_or_default(),
            target,
            temporary,
            percentiles,
            ladder: steps.ladder.clone(),
            in_one_run: steps.in_one_run(),
        })
    }

    fn job(&self, first: &Parsed, work: Workload) -> Result<Job> {
        let family = self.target.as_ref().map(|target| target.family);
        let ignored = match first.value("ignore-errors") {
            None => default_ignored_errors(family),
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
            argv: self.argv.clone(),
            command: Some(match self.command {
                // It executes what a run would.
                "calibrate" => "run".to_owned(),
                command => command.to_owned(),
            }),
            options: Vec::new(),
            target: self.target.clone(),
            drive: match self.command {
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
            percentile: self.percentiles.last().copied().unwrap_or(95.0),
            ignored_errors: ignored,
            reconnect_lost: choice("lost-connections", "reconnect", "stop")?,
            call_timeout: settings::duration(first, "call-timeout", CALL_TIMEOUT)?,
            emulate_prepared: !choice("ps-mode", "auto", "disable")?,
            luajit_cmd: first.value("luajit-cmd").map(str::to_owned),
            // A check's output is its result.
            canned: false,
            shapes: keeps_shapes(first),
            prints: match self.command {
                "check" => Prints::Output,
                _ => Prints::Errors,
            },
            sysbench: false,
            log: |_, _| {},
        })
    }

    fn parallel(&self, description: &Description) -> bool {
        let embedded = |target: &Target| target.family.is_embedded();
        !self.target.as_ref().is_some_and(embedded)
            && description
                .commands
                .iter()
                .any(|(name, parallel)| name == self.command && *parallel)
    }

    fn prepare_temporary(
        &self,
        ready: &mut Ready,
        record_plan: &RecordPlan,
        quiet: bool,
    ) -> Result<()> {
        // Before the tables are created: an unusable file should fail early.
        if let Some(file) = &record_plan.file {
            dyno_run::try_file(file)?;
        }
        if !quiet {
            console::note("No --target: making a temporary SQLite database.");
        }
        if ready
            .description
            .commands
            .iter()
            .any(|(name, _)| name == "prepare")
            || ready
                .description
                .functions
                .iter()
                .any(|name| name == "prepare")
        {
            loading::with_progress(ready, "prepare", quiet).map_err(|error| {
                let hint = match hints::is_of_files(&error, ready) {
                    true => " (TMPDIR sets its folder)",
                    false => "",
                };
                error.context(format!("cannot prepare the temporary database{hint}"))
            })?;
        }
        Ok(())
    }

    /// Runs a command that is not a run and returns its status; returns `None` if a run can begin.
    fn without_load(&self, ready: &mut Ready, quiet: bool) -> Result<Option<u8>> {
        if let Some(plan) = ready.plan() {
            if self.command != "run" {
                return host::command(plan, self.command, &ready.stop, quiet).map(Some);
            }
            ready
                .check_event()
                .map_err(|error| host::with_hint(error, &self.workload))?;
        }
        if self.command == "run" {
            return Ok(None);
        }
        if let Some(clash) = dyno_run::clash(ready, self.command)? {
            return Err(hints::of_clash(clash, self.command, ready, &self.workload));
        }
        loading::with_progress(ready, self.command, quiet)
            .map_err(|error| with_hint(error, ready, &self.workload))?;
        Ok(Some(STATUS_DONE))
    }

    fn execute(
        mut self,
        loaded: Loaded,
        parsed: &Parsed,
        (own, mut plan): (Vec<(String, OptionValue)>, Plan),
        shaping: &Shaping<'_>,
        RunContext {
            stop,
            output,
            tables,
        }: RunContext,
    ) -> Result<u8> {
        self.refuse(&plan)?;
        let folder = self.temporary.take().map(Temporary::make).transpose()?;
        let options = options_of(&loaded.job.drive, &own);
        let job = loaded.job.clone();
        let mut ready = loaded.ready(options, Arc::clone(&stop))?;
        let server = server(&ready)?;
        let quiet = parsed.has("quiet");
        if let Some(status) = self.without_load(&mut ready, quiet)? {
            return Ok(status);
        }
        let mut screen = Screen::of(parsed, &ready, shaping.temporary)?;
        if folder.is_some() {
            self.prepare_temporary(&mut ready, &plan.record, quiet)?;
        }
        let declared = ready.description.options.clone().unwrap_or_default();
        if !plan.phases.is_empty()
            && !matches!(shaping.given, Some((_, true)))
            && let Some(there) = phases_there(&mut ready, &self.workload)?
        {
            plans::set_phases(&mut plan, &job, &own, shaping, &there)?;
            self.refuse(&plan)?;
        }
        let request = RunRequest {
            plan,
            changed: settings::changed(&declared, &own),
            options: redact::options(&own),
            server,
            phase: None,
        };
        if let Some(kept) = tables {
            let found = dyno_run::tables_there(&mut ready, &request)?;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            return Ok(STATUS_DONE);
        }
        if !request.plan.phases.is_empty() || self.ladder.is_some() {
            alone(&request.plan.drive, screen.fleet.as_ref())?;
            drop(ready);
            let base = Base {
                request,
                job,
                own,
                stop,
            };
            let status = match &self.ladder {
                None => phases::run(&base, &screen, output),
                Some(ladder) => saturate::run(&base, ladder, &screen, output),
            };
            screen.exports.finish(&base.stop);
            return junit::finish(status, screen.junit.take());
        }
        let measured = measure(&mut ready, &request, &screen)?;
        saturate::show(&measured.summary, output, &screen.look, self.in_one_run)?;
        let status = measured.end(&ready, &request);
        screen.exports.finish(&stop);
        junit::finish(status, screen.junit.take())
    }
}

impl Request<'_> {
    /// Rejects a plan that cannot run on any target.
    fn refuse(&self, plan: &Plan) -> Result<()> {
        saturate::refuse(plan, &self.workload, self.ladder.is_some())
    }
}

/// Connects once, to learn which server it is.
///
/// # Errors
/// The server cannot be used.
pub fn server(ready: &Ready) -> Result<ServerInfo> {
    match (&ready.connector, &ready.job.target) {
        (Some(connector), Some(target)) => {
            let stopped = || ready.stop.level() != StopLevel::None;
            dyno_drivers::probe(connector.as_ref(), target.connect_timeout_ms, &stopped)
                .with_context(|| format!("cannot use the target {target}"))
        }
        _ => Ok(ServerInfo::default()),
    }
}

/// Rejects several load generators for a sequence of runs.
fn alone(drive: &Drive, fleet: Option<&Fleet>) -> Result<()> {
    let given = [
        ("shard", drive.shard.is_some()),
        ("begin-at", drive.begin_unix_s.is_some()),
        ("agents", fleet.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(usage(format!(
            "--{name} is for a single run: a sequence uses one load generator"
        ))),
        None => Ok(()),
    }
}

/// The phases that fit the existing tables, if the script looks at them.
fn phases_there(ready: &mut Ready, workload: &str) -> Result<Option<Vec<Phase>>> {
    let there = ready.phases_there();
    there.map_err(|error| with_hint(error.into(), ready, workload))
}

/// The script's own options and the engine's, by sysbench's names, as in `sysbench.opt`.
pub fn options_of(drive: &Drive, own: &[(String, OptionValue)]) -> Vec<(String, OptionValue)> {
    let mut options = engine_options(drive);
    options.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
    options.extend(own.iter().cloned());
    options
}

fn engine_options(drive: &Drive) -> Vec<(String, OptionValue)> {
    let number = |name: &str, value: f64| (name.to_owned(), OptionValue::Number(value));
    vec![
        number("threads", f64::from(drive.sessions)),
        number("time", drive.time.map_or(0.0, |time| time.as_secs_f64())),
        number("events", drive.events.unwrap_or(0) as f64),
        number("warmup_time", drive.warmup.as_secs_f64()),
        number("rate", drive.open_loop.map_or(0.0, |open| open.per_second)),
        number("rand_seed", drive.seed as f64),
        number("report_interval", drive.interval.as_secs_f64()),
    ]
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
