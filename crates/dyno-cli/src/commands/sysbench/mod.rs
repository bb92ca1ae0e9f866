//! `dyno sysbench …`: sysbench's command line, and its report.

mod args;
mod endpoints;
mod exported;
mod host;
mod legacy;
mod output;
mod record;
mod refusals;
mod run;
mod screen;
mod window;

use std::fmt;
use std::path::Path;

use anyhow::{Result, anyhow};
use dyno_core::plan::OptionValue;
use dyno_host::Edition;
use dyno_script::{Description, Hint, OptionKind, ScriptOption, SourceError};

use self::args::{Settings, version};
use crate::definitions::SYSBENCH;
use crate::options::{Grammar, Parsed, Script, as_typed, help, parse};
use crate::{STATUS_DONE, STATUS_FAILED, console, settings, signals};
use dyno_run::Loaded;
use dyno_run::Workload;

/// sysbench's exit status after a forced shutdown.
const STATUS_FORCED: u8 = 2;

/// Runs sysbench's command line; `args[0]` is the program's name.
///
/// # Errors
/// Never: it prints errors as sysbench does and sets the exit status.
pub(crate) fn main(args: Vec<String>) -> Result<u8> {
    match command_line(args) {
        Ok(status) => Ok(status),
        Err(error) if error.is::<CommandLineError>() => {
            console::out("");
            console::note(&format!("{error:#}"));
            Ok(STATUS_FAILED)
        }
        Err(error) if error.is::<BareError>() => {
            console::out(&format!("{error:#}\n"));
            Ok(STATUS_FAILED)
        }
        Err(error) => {
            output::fatal(&format!("{error:#}"));
            Ok(STATUS_FAILED)
        }
    }
}

/// Errors that sysbench prints on standard output, without the prefix `FATAL: `.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BareError(String);

impl BareError {
    fn raise(message: impl ToString) -> anyhow::Error {
        Self(message.to_string()).into()
    }
}

/// An invalid command line. sysbench prints such errors on standard error, without the prefix
/// `FATAL: `.
#[derive(Debug)]
struct CommandLineError(String);

impl CommandLineError {
    fn raise(message: impl ToString) -> anyhow::Error {
        Self(message.to_string()).into()
    }
}

impl fmt::Display for CommandLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CommandLineError {}

fn command_line(args: Vec<String>) -> Result<u8> {
    let (expanded, warnings) = legacy::renamed(args::with_config_file(&args[1..])?);
    let first = parse(&expanded, SYSBENCH, Script::Unknown, Grammar::Sysbench)
        .map_err(CommandLineError::raise)?;
    legacy::refuse_values(&expanded)?;
    if settings::switch(&first, "version")? {
        console::out(&format!("{}\n", version(&first)?));
        return Ok(STATUS_DONE);
    }
    warnings.iter().for_each(|warning| console::out(warning));
    let (test, command) = words(&first)?;
    if settings::switch(&first, "help")? {
        console::out(&usage_text());
        return Ok(STATUS_DONE);
    }
    legacy::refuse(&args[1..])?;
    let settings = Settings::new(&args, &first, command.as_deref())?;
    output::set_verbosity(settings.verbosity);
    output::notice(&format!("{}\n\n", settings.banner()));
    let work = match Workload::find(test.as_deref().unwrap_or("-"), Edition::Sysbench) {
        Ok(work) => work,
        // sysbench's message, which scripts around it look for.
        Err(SourceError::NotFound { name, hint }) => {
            let why =
                format!("Cannot find benchmark '{name}': no such built-in test, file or module");
            return Err(match hint {
                Hint::List => anyhow!(why),
                hint => anyhow!("{why}\n{hint}"),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let loaded = Loaded::new(settings.job(work))?;
    let Some(command) = command else {
        if let Some(test) = loaded.job.work.test() {
            let name = test.name;
            return Err(CommandLineError::raise(format!(
                "The '{name}' test requires a command argument. See 'sysbench {name} help'"
            )));
        }
        // Only a script: sysbench as a Lua interpreter.
        return Ok(STATUS_DONE);
    };
    let declared = loaded.description.options.clone();
    let script = declared
        .as_deref()
        .map_or(Script::TakesAny, Script::Declares);
    let parsed =
        parse(&expanded, SYSBENCH, script, Grammar::Sysbench).map_err(CommandLineError::raise)?;
    if let (Some(_), Some(declared)) = (loaded.job.work.test(), &declared) {
        refusals::check(declared, &parsed.script)?;
    }
    let options = script_options(&settings, &expanded, &parsed, &loaded.description)?;
    // The target has the password now; keep a single copy.
    drop((args, expanded, first, parsed));
    run_command(settings, loaded, &command, options)
}

fn run_command(
    settings: Settings,
    loaded: Loaded,
    command: &str,
    options: Vec<(String, OptionValue)>,
) -> Result<u8> {
    let description = loaded.description.clone();
    // The name as typed.
    let work = &loaded.job.work;
    let path = Path::new(work.name().unwrap_or_else(|| work.path()));
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let own = description.commands.iter().any(|(name, _)| name == command);
    let parallel = description
        .commands
        .iter()
        .any(|(name, parallel)| name == command && *parallel);
    let function = description.functions.iter().any(|name| name == command);
    if let ("help", false, Some(options)) = (command, own || function, &description.options) {
        console::out(&format!("{name} options:\n"));
        console::out(&dyno_script::help(options));
        return Ok(STATUS_DONE);
    }
    if !own && command != "run" {
        if !["help", "prepare", "cleanup"].contains(&command) {
            console::note(&format!("Unknown command: {command}"));
            return Ok(STATUS_FAILED);
        }
        if !function {
            console::note(&format!(
                "'{name}' test does not implement the '{command}' command."
            ));
            return Ok(STATUS_FAILED);
        }
    }
    let mut ready = loaded.ready(options, signals::install()?)?;
    if command == "run" && !own {
        return run::run(&settings, &mut ready);
    }
    if let Some(plan) = ready.plan() {
        host::command(plan, command, &ready.stop)?;
        return Ok(STATUS_DONE);
    }
    if parallel && ready.job.drive.sessions > 1 {
        output::notice("Initializing worker threads...\n\n");
    }
    let caller = if own {
        "sysbench.cmdline.call_command"
    } else {
        command
    };
    ready
        .command(command, |_| {})
        .map_err(|error| anyhow!("`{caller}' function failed: {}", cause(&error)))?;
    Ok(STATUS_DONE)
}

/// The root cause, without the session number, which sysbench does not print.
fn cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => cause(source),
        None => error.to_string(),
    }
}

/// The test's name and the command.
fn words(parsed: &Parsed) -> Result<(Option<String>, Option<String>)> {
    let mut words = parsed.words.iter().cloned();
    let test = match parsed.value("test") {
        Some(test) => Some(test.to_owned()),
        None => words.next(),
    };
    let command = words.next();
    match words.next() {
        None => Ok((test, command)),
        Some(word) => Err(CommandLineError::raise(format!(
            "Unrecognized command line argument: {word}"
        ))),
    }
}

/// The contents of `sysbench.opt`: all of sysbench's options, then the script's own.
fn script_options(
    settings: &Settings,
    args: &[String],
    parsed: &Parsed,
    description: &Description,
) -> Result<Vec<(String, OptionValue)>> {
    let mut options = settings.exported();
    let own = match description.options.as_deref() {
        Some(declared) => declared_options(declared, args, &parsed.script)?,
        None => parsed
            .script
            .iter()
            .map(|(name, value)| {
                (
                    name.replace('-', "_"),
                    OptionValue::Text(value.clone().unwrap_or_default()),
                )
            })
            .collect(),
    };
    options.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
    options.extend(own);
    Ok(options)
}

/// The values of declared options; rejects invalid ones with sysbench's message.
fn declared_options(
    declared: &[ScriptOption],
    args: &[String],
    given: &[(String, Option<String>)],
) -> Result<Vec<(String, OptionValue)>> {
    for option in declared {
        let mut values = given.iter().rev().filter(|(name, _)| *name == option.name);
        let Some((name, value)) = values.next() else {
            continue;
        };
        if option.value(Some(value.as_deref())).is_err() {
            let value = value.as_deref().unwrap_or_default();
            return Err(CommandLineError::raise(match option.kind {
                OptionKind::Bool => {
                    let typed = as_typed(args, name).map(str::to_owned);
                    let typed = typed.unwrap_or_else(|| format!("--{name}={value}"));
                    format!("invalid option: {typed}")
                }
                _ => format!("Invalid value for the '{name}' option: '{value}'"),
            }));
        }
    }
    settings::script_options(declared, given)
}

fn usage_text() -> String {
    format!(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n{}\n\
         See 'sysbench <testname> help' for a list of options for each test.\n\n",
        help(SYSBENCH, Grammar::Sysbench)
    )
}
