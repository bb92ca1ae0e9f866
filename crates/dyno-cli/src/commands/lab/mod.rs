//! `dyno lab`: experiments, one file each.

mod answer;
mod bundle;
mod caller;
mod definition;
mod equivalence;
mod notes;
mod plan;
mod plans;
mod plots;
mod progress;
mod report;
mod run;
mod status;
mod tables;
mod vary;

use anyhow::Result;
use dyno_core::suggest::nearest;
use dyno_core::text::shell_word;

use crate::definitions::LAB;
use crate::options::{Grammar, Opt, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console};

/// The actions, their words and descriptions.
pub(super) const ACTIONS: [(&str, &str, &str); 6] = [
    (
        "plan",
        "FILE",
        "Show the trials, their order and their cost, without starting anything",
    ),
    ("run", "FILE", "Run the trials of an experiment"),
    (
        "resume",
        "FILE",
        "Continue an experiment after it stopped or crashed; finished trials are not repeated",
    ),
    (
        "status",
        "[FILE]",
        "Show how many trials are done, failed and left; without a file, of the latest experiment",
    ),
    (
        "report",
        "[FILE]",
        "Print the answer, claims and tables, and write them as one page; without a file, of the \
         latest experiment",
    ),
    (
        "bundle",
        "[FILE]",
        "Pack an experiment's definition, scripts, results and report into one archive to publish; \
         without a file, those of the latest experiment",
    ),
];

/// The options of all actions.
const OF_ALL: [&str; 16] = [
    "scale", "name", "vary", "server", "set", "target", "repeats", "sessions", "rate", "time",
    "warmup", "results", "quiet", "no-color", "help", "json",
];

/// The other options of each action.
const OPTIONS: [(&str, &[&str]); 6] = [
    ("plan", &["plan"]),
    (
        "run",
        &[
            "accept-changes",
            "keep-servers",
            "max-failures",
            "plan",
            "reload",
        ],
    ),
    (
        "resume",
        &["accept-changes", "keep-servers", "max-failures", "reload"],
    ),
    ("status", &[]),
    ("report", &["output", "force", "csv", "gate", "equivalent"]),
    ("bundle", &["output", "force"]),
];

/// Runs the action that the first word names; with `--vary`, `run` is the default.
///
/// # Errors
/// The file is not an experiment, or cannot be run.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parsed(args)?;
    let known = |word: &str| ACTIONS.iter().find(|(name, ..)| *name == word);
    let first = parsed.words.first().map(String::as_str);
    let (action, words) = match first.and_then(known) {
        Some((action, ..)) => (*action, &parsed.words[1..]),
        None if parsed.has("vary") && !parsed.has("help") => ("run", &parsed.words[..]),
        None => match first {
            None => {
                console::help(&text());
                return Ok(match parsed.has("help") {
                    true => STATUS_DONE,
                    false => crate::STATUS_USAGE,
                });
            }
            Some(word) => return Err(unknown(word)),
        },
    };
    if parsed.has("help") {
        let mine: Vec<Opt> = LAB
            .iter()
            .filter(|opt| belongs(action, opt.name))
            .copied()
            .collect();
        let (_, arguments, about) = known(action).copied().unwrap_or_default();
        console::help(&format!(
            "Usage: dyno lab {action} {arguments}\n\n{about}.\n{}",
            help(&mine, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let action = match parsed.has("plan") {
        true if action == "run" => "plan",
        _ => action,
    };
    refuse(action, &parsed)?;
    match action {
        "plan" => plan::main(&parsed, words),
        "run" => run::main(&parsed, words, false),
        "resume" => run::main(&parsed, words, true),
        "status" => status::main(&parsed, words),
        "bundle" => bundle::main(&parsed, words),
        _ => report::main(&parsed, words),
    }
}

/// The command line. If it names a workload, it takes options as `dyno run` does.
fn parsed(args: &[String]) -> Result<Parsed> {
    let first = parse(args, LAB, Script::Unknown, Grammar::Dyno)?;
    let named = first.has("vary").then(|| first.words.iter().rev());
    let work = named.and_then(|mut words| words.find_map(|word| vary::options_of(word)));
    let script = match &work {
        Some(declared) => Script::Declares(declared),
        None => Script::TakesAny,
    };
    Ok(parse(args, LAB, script, Grammar::Dyno)?)
}

/// Rejects options of other actions.
fn refuse(action: &str, parsed: &Parsed) -> Result<()> {
    let strange = LAB
        .iter()
        .find(|opt| parsed.has(opt.name) && !belongs(action, opt.name));
    if let Some(opt) = strange {
        return Err(usage(format!(
            "dyno lab {action} has no option --{}",
            opt.name
        )));
    }
    if parsed.has("vary") {
        return Ok(());
    }
    if let Some((name, _)) = parsed.script.first() {
        let near = crate::options::near_miss(name, LAB);
        let hint = near.map_or_else(
            || "the file sets the workload's options".to_owned(),
            |near| format!("did you mean --{near}?"),
        );
        return Err(usage(format!(
            "dyno lab {action} has no option --{name}; {hint}"
        )));
    }
    let without = [
        "server", "set", "target", "repeats", "sessions", "rate", "time", "warmup",
    ];
    match without.into_iter().find(|name| parsed.has(name)) {
        None => Ok(()),
        Some(name) => Err(usage(format!(
            "--{name} needs --vary; an experiment sets it in its file"
        ))),
    }
}

fn belongs(action: &str, option: &str) -> bool {
    let found = OPTIONS.iter().find(|(name, _)| *name == action);
    OF_ALL.contains(&option) || found.is_some_and(|(_, options)| options.contains(&option))
}

fn text() -> String {
    let mut text = "Usage: dyno lab ACTION FILE …\n\
                    \x20      dyno lab --vary NAME=A,B,… WORKLOAD [options] [the workload's \
                    options]\n\n\
                    Plan, run, report and publish experiments. One file defines what varies, the \
                    servers and the load.\n\n"
        .to_owned();
    for (action, words, about) in ACTIONS {
        let head = format!("{action} {words}");
        text += &format!("  {head:<16} {about}\n");
    }
    text + &help(LAB, Grammar::Dyno)
}

fn unknown(word: &str) -> anyhow::Error {
    let hint = match nearest(word, ACTIONS.iter().map(|(name, ..)| *name)) {
        Some(name) => format!("did you mean '{name}'?"),
        None if word.ends_with(".toml") => format!("did you mean dyno lab run {word}?"),
        None => "see dyno lab --help".to_owned(),
    };
    usage(format!("unknown action '{word}' of dyno lab; {hint}"))
}

/// An option's number, at least one.
fn count(parsed: &Parsed, name: &str, usual: usize) -> Result<usize> {
    match parsed.value(name).map(str::parse) {
        None => Ok(usual),
        Some(Ok(number)) if number > 0 => Ok(number),
        Some(_) => Err(usage(format!("--{name} must be a number of at least 1"))),
    }
}

/// The options that name an experiment and its results file, as given.
fn options(parsed: &Parsed) -> String {
    // With --vary, --scale is the workload's.
    let names = ["scale", "name", "results"].into_iter();
    let names = names.filter(|name| *name != "scale" || !parsed.has("vary"));
    let given = names.filter_map(|name| {
        let value = parsed.value(name)?;
        Some(format!(" --{name} {}", shell_word(value)))
    });
    given.collect()
}

/// The results file, which experiments require.
fn results_file(parsed: &Parsed) -> Result<std::path::PathBuf> {
    crate::run_store::file(parsed)
        .ok_or_else(|| usage("an experiment needs a results file: --results FILE"))
}

/// An experiment's name as that of a file or folder: the name may be a path.
fn file_name(name: &str) -> String {
    let plain = |c: char| match c.is_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    };
    let name: String = name.chars().map(plain).collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "experiment".to_owned(),
        name => name.to_owned(),
    }
}
