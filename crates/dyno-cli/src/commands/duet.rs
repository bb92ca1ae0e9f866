//! `dyno duet`: compare two sides precisely, in short alternating slices.

use std::time::Duration;

use anyhow::Result;
use dyno_conduct::duet::{DuetRequest, execute};
use dyno_conduct::{Command, Hosts, Stage as _};
use dyno_core::duet::{DuetMode, DuetSummary};
use dyno_core::redact;
use dyno_core::summary::RunSummary;
use dyno_run::Notice;
use dyno_server::Settings;

use super::planned::PlannedCommand;
use crate::definitions::{NOT_OF_DUETS, OF_DUETS, RUN, duet};
use crate::options::{Grammar, Opt, Parsed, Script, find_own, help, parse};
use crate::output::Output;
use crate::screen::Screen;
use crate::settings::{self, usage};
use crate::{STATUS_DONE, console, signals, status_of};

/// The default of `--precision`.
const PRECISION: f64 = 0.01;
/// The default of `--at-most`.
const AT_MOST: Duration = Duration::from_secs(600);
/// The default of `--warmup`: each side works for half of it.
const WARMUP: &str = "4s";
/// The prefix of a side that is settings of the server.
const SET: &str = "set:";
/// The longest time to compare side A with itself.
const AA_AT_MOST: Duration = Duration::from_secs(60);

/// Runs a duet, and prints its result.
///
/// # Errors
/// Invalid usage, or a side failed.
pub(super) fn main(args: Vec<String>) -> Result<u8> {
    let own = args.get(2..).unwrap_or_default();
    let known: Vec<Opt> = OF_DUETS.iter().chain(RUN).copied().collect();
    let mut parsed = parse(own, &known, Script::Unknown, Grammar::Dyno)?;
    if parsed.has("help") || parsed.has("help-all") {
        console::help(&help_text());
        return Ok(STATUS_DONE);
    }
    let Some(((a, b), rest)) = own.split_first().and_then(|(a, rest)| {
        let (b, rest) = rest.split_first()?;
        Some(((a.clone(), b.clone()), rest))
    }) else {
        return Err(usage(
            "dyno duet needs two sides, such as two targets: dyno duet URL URL WORKLOAD; `dyno \
             help duet` shows more",
        ));
    };
    refuse(&parsed)?;
    let request = DuetRequest {
        settings: [settings_of(&a)?, settings_of(&b)?],
        ..request(&parsed, [label(&a)?, label(&b)?])?
    };
    let at_most = settings::duration(&parsed, "at-most", AT_MOST)?;
    if at_most.is_zero() {
        return Err(usage("--at-most must be above 0, e.g. 5m"));
    }
    let common = common(rest, &parsed);
    let program = &args[0];
    let plan = |side: &str, at_most| planned(program, side, &common, at_most);
    let output = Output::of(&parsed)?;
    let look = console::look(&parsed);
    let sides = [plan(&a, at_most)?, plan(&b, at_most)?];
    let with_itself = match parsed.has("aa") {
        true => {
            let at_most = at_most.min(AA_AT_MOST);
            Some([plan(&a, at_most)?, plan(&a, at_most)?])
        }
        false => None,
    };
    parsed.forget_password();
    let stop = signals::install()?;
    let mut shows = |_: &RunSummary| {};
    let mut screen = Screen::new(parsed, &Hosts::default(), &mut shows);
    let mut a_with_itself = None;
    if let Some(both) = with_itself {
        let label = request.labels[0].clone();
        let request = DuetRequest {
            labels: [label.clone(), label],
            settings: [request.settings[0].clone(), request.settings[0].clone()],
            margin: None,
            ..request.clone()
        };
        screen.notice(&Notice::Step("Comparing side A with itself.".to_owned()));
        let found = execute(both, &request, &stop, &mut screen)?;
        a_with_itself = found.summary.figures.into_iter().next();
    }
    let found = execute(sides, &request, &stop, &mut screen)?;
    let summary = DuetSummary {
        a_with_itself,
        ..found.summary
    };
    output.write_duet(&summary, &look)?;
    Ok(status_of(found.outcome))
}

fn help_text() -> String {
    format!(
        "Usage: dyno duet A B [WORKLOAD] [options] [the workload's options]\n\n\
         A and B say what differs between the sides:\n\
         \x20 mysql://user@host/db    a target\n\
         \x20 oltp_read_only          a workload, or the path of a script\n\
         \x20 plan.json               a plan written by dyno run --plan\n\
         \x20 '--ps-mode=disable'     options of dyno run or of the workload\n\
         \x20 'set:sync_binlog=0'     settings of the server, changed at each switch\n\
         All other arguments apply to both sides.\n{}",
        help(duet(), Grammar::Dyno)
    )
}

/// Rejects options of `dyno run` that do not apply to duets.
fn refuse(parsed: &Parsed) -> Result<()> {
    match NOT_OF_DUETS.iter().find(|(name, _)| parsed.has(name)) {
        Some((name, why)) => Err(usage(format!(
            "--{name} does not apply to dyno duet: {why}"
        ))),
        None => Ok(()),
    }
}

fn request(parsed: &Parsed, labels: [String; 2]) -> Result<DuetRequest> {
    let mode = match parsed.value("mode") {
        None | Some("alternating") => DuetMode::Alternating,
        Some("simultaneous") => DuetMode::Simultaneous,
        Some(other) => {
            return Err(usage(format!(
                "--mode: '{other}' is neither alternating nor simultaneous"
            )));
        }
    };
    let slice = match parsed.has("slice") {
        true => Some(settings::duration(parsed, "slice", Duration::ZERO)?),
        false => None,
    };
    if slice.is_some_and(|slice| slice < Duration::from_millis(1)) {
        return Err(usage("--slice must be 1ms or longer"));
    }
    let margin = settings::share(parsed, "equivalent")?;
    // The interval must fit within the margin.
    let usual = margin.map_or(PRECISION, |margin| PRECISION.min(margin / 2.0));
    let precision = settings::share(parsed, "precision")?.unwrap_or(usual);
    if margin.is_some_and(|margin| precision >= margin) {
        return Err(usage(
            "--precision must be less than --equivalent: a less precise ratio decides nothing",
        ));
    }
    Ok(DuetRequest {
        labels,
        mode,
        slice,
        precision,
        margin,
        settings: Default::default(),
    })
}

/// The arguments of both sides: without the options that only duets have.
fn common(rest: &[String], parsed: &Parsed) -> Vec<String> {
    let mut kept = Vec::with_capacity(rest.len());
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        let name = arg.strip_prefix("--").unwrap_or_default();
        let (name, has_value) = match name.split_once('=') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        match find_own(OF_DUETS, name).filter(|_| !name.is_empty()) {
            Some(opt) if opt.value.is_some() && !has_value => drop(rest.next()),
            Some(_) => {}
            None => kept.push(arg.clone()),
        }
    }
    if !parsed.has("warmup") {
        kept.push(format!("--warmup={WARMUP}"));
    }
    kept
}

/// The command of a side.
fn planned(program: &str, side: &str, common: &[String], at_most: Duration) -> Result<Command> {
    let own = words(side)?;
    let is_workload = own.first().is_some_and(|word| !word.starts_with('-'));
    let (before, after) = match is_workload {
        true => (own.as_slice(), &[][..]),
        false => (&[][..], own.as_slice()),
    };
    let mut line = vec![program.to_owned(), "run".to_owned()];
    line.extend(before.iter().chain(common).chain(after).cloned());
    line.push(format!("--time={}s", at_most.as_secs_f64()));
    Ok(PlannedCommand::of(line, "run")?.command)
}

/// What distinguishes a side, as arguments of `dyno run`.
fn words(side: &str) -> Result<Vec<String>> {
    if side.starts_with(SET) {
        return Ok(Vec::new());
    }
    if side.starts_with('-') {
        return shlex::split(side).ok_or_else(|| usage("a quote in a side is not closed"));
    }
    // Also misspelled ones: an error about a target does not show its password.
    let schemes = [
        "mysql:",
        "mariadb:",
        "postgres:",
        "postgresql:",
        "sqlite:",
        "server:",
    ];
    let has_scheme = schemes.iter().any(|scheme| side.starts_with(scheme));
    if has_scheme || side.contains("://") || side.contains('@') {
        return Ok(vec![format!("--target={side}")]);
    }
    let is_plan = std::path::Path::new(side)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    Ok(match is_plan {
        true => vec![format!("--plan={side}")],
        false => vec![side.to_owned()],
    })
}

/// The settings of the server that distinguish a side: `set:NAME=VALUE,…`.
fn settings_of(side: &str) -> Result<Settings> {
    let mut settings = Settings::default();
    if let Some(list) = side.strip_prefix(SET) {
        for text in list.split(',') {
            settings
                .put(text)
                .map_err(|error| usage(error.to_string()))?;
        }
    }
    Ok(settings)
}

/// A side for display, without passwords.
fn label(side: &str) -> Result<String> {
    if let Some(list) = side.strip_prefix(SET) {
        return Ok(redact::text(list));
    }
    let shown = redact::argv(&words(side)?).join(" ");
    let prefixes = ["--target=", "--plan="];
    let plain = prefixes
        .iter()
        .find_map(|prefix| shown.strip_prefix(prefix));
    Ok(plain.unwrap_or(&shown).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn sides_are_targets_workloads_plans_or_options() {
        let of = |side: &str| words(side).unwrap();
        assert_eq!(of("mysql://h/db"), ["--target=mysql://h/db"]);
        assert_eq!(of("sqlite:a.db"), ["--target=sqlite:a.db"]);
        assert_eq!(of("oltp_read_only"), ["oltp_read_only"]);
        assert_eq!(of("./own.lua"), ["./own.lua"]);
        assert_eq!(of("a.json"), ["--plan=a.json"]);
        assert!(of("set:a=1").is_empty());
        let both = "--target mysql://h/db -c 2";
        assert_eq!(of(both), ["--target", "mysql://h/db", "-c", "2"]);
        assert_eq!(of("mysql:u@h/db"), ["--target=mysql:u@h/db"]);
        let set = settings_of("set:sync-binlog=0,a=x").unwrap();
        let set: Vec<_> = set.iter().collect();
        assert_eq!(set, [("a", "x"), ("sync_binlog", "0")]);
        assert!(settings_of("set:nothing").is_err());
        assert_eq!(
            of("-c 8 --note 'two words'"),
            ["-c", "8", "--note", "two words"]
        );
        assert!(words("--note 'open").is_err());
    }

    #[test]
    fn labels_have_no_password() {
        assert_eq!(label("oltp_read_only").unwrap(), "oltp_read_only");
        assert_eq!(label("-c 8").unwrap(), "-c 8");
        for side in [
            "mysql://u:secret@h/db",
            "--target mysql://u:secret@h/db -c 2",
        ] {
            let shown = label(side).unwrap();
            assert!(
                !shown.contains("secret") && shown.contains("@h/db"),
                "{shown}"
            );
        }
    }

    #[test]
    fn options_of_the_duet_are_not_the_sides() {
        let args = owned(&[
            "oltp_read_only",
            "--precision",
            "2%",
            "-c",
            "8",
            "--aa",
            "--at-most=1m",
            "--tables=2",
        ]);
        let parsed = Parsed::default();
        let kept = common(&args, &parsed);
        assert_eq!(
            kept,
            ["oltp_read_only", "-c", "8", "--tables=2", "--warmup=4s"]
        );
    }
}
