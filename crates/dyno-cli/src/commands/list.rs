//! `dyno list`: list the built-in workloads and the runs of a results file.

use std::fmt::Write as _;

use anyhow::Result;

use crate::definitions::LIST;
use crate::options::{Grammar, Script, help, parse};
use crate::{STATUS_DONE, console, settings};
use dyno_run::builtins;

/// Lists the workloads, or prints one.
///
/// # Errors
/// An unknown workload.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, LIST, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno list [workloads|runs] [--show NAME]\n{}",
            help(LIST, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(name) = parsed.value("show") {
        // Only the built-in ones: users have the source of their scripts.
        if dyno_host::find(name).is_some() {
            return Err(settings::usage(format!(
                "{name} is a test of this host, not a script; `dyno run {name} --help` describes \
                 it"
            )));
        }
        let bare = name.strip_suffix(".lua").unwrap_or(name);
        let Some((_, script)) = builtins::SCRIPTS.iter().find(|(known, _)| *known == bare) else {
            let names: Vec<&str> = builtins::SCRIPTS.iter().map(|(name, _)| *name).collect();
            return Err(settings::usage(format!(
                "no workload '{name}'; there are {}",
                names.join(", ")
            )));
        };
        console::out(script);
        return Ok(STATUS_DONE);
    }
    match parsed.words.as_slice() {
        [] => {}
        [word] if word == "workloads" => {}
        [word] if word == "runs" => return super::runs::main(&parsed),
        [word, ..] => {
            return Err(settings::usage(format!(
                "cannot list '{word}'; use workloads or runs"
            )));
        }
    }
    let mut text = String::new();
    for (name, about) in builtins::ABOUT
        .iter()
        .filter(|(_, about)| !about.is_empty())
    {
        let _ = writeln!(text, "{name:24} {about}");
    }
    for test in dyno_host::TESTS {
        let _ = writeln!(text, "{:24} this host: {}", test.name, test.about);
    }
    console::out(&text);
    Ok(STATUS_DONE)
}
