//! Reads an experiment's definition from its file, the options or the results file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dyno_conduct::lab::{Lab, checks};
use dyno_core::redact;
use dyno_lab::Experiment;
use dyno_results::{ExperimentHead, Results};

use super::caller::Terminal;
use super::{status, vary};
use crate::options::Parsed;
use crate::settings::usage;

/// A longer file is not an experiment.
const FILE_MAX: u64 = 1_000_000;

/// Reads the experiment from a file, or from a workload and factors on the command line.
///
/// # Errors
/// The file is not an experiment, or cannot run here; lists every mistake.
pub(super) fn of(parsed: &Parsed, words: &[String]) -> Result<Lab> {
    let name = parsed.value("name");
    match parsed.has("vary") {
        true => {
            let text = vary::file(parsed, words)?;
            made(name, (String::new(), text, PathBuf::from(".")), None)
        }
        false => made(name, read(words)?, parsed.value("scale")),
    }
}

/// An experiment from the results file: by the options, or the latest.
///
/// # Errors
/// It does not exist, or cannot run here.
pub(super) fn of_stored(parsed: &Parsed, results: &Results) -> Result<Lab> {
    let head = status::stored(parsed, &[], results)?.head;
    let base = Path::new(&head.file).parent().map(Path::to_owned);
    let base = base.filter(|folder| !folder.as_os_str().is_empty());
    let base = base.unwrap_or_else(|| PathBuf::from("."));
    let read = (head.file, head.definition, base);
    made(Some(&head.name), read, head.scale.as_deref())
}

fn made(
    named: Option<&str>,
    (file, text, base): (String, String, PathBuf),
    scale: Option<&str>,
) -> Result<Lab> {
    let shown = if file.is_empty() { "--vary" } else { &file };
    let experiment = Experiment::parse(shown, &text, scale).map_err(|mut wrong| {
        for problem in &mut wrong.problems {
            // Options have no position in a file.
            problem.at = problem.at.filter(|_| !file.is_empty());
        }
        usage(wrong.to_string())
    })?;
    checks::hide_passwords(&experiment);
    let head = ExperimentHead {
        name: match named {
            Some(name) => name.to_owned(),
            None => name(&file, scale, &experiment),
        },
        file,
        scale: scale.map(str::to_owned),
        question: redact::text(&experiment.question),
        cite: redact::text(experiment.cite.as_deref().unwrap_or_default()),
        definition: redact::text(&text),
    };
    let mut lab = Lab::new(experiment, head, base);
    let wrong = lab.look_up(&Terminal::default())?;
    if !wrong.is_empty() {
        return Err(usage(mistakes(&lab.head, &wrong)));
    }
    lab.plan(None);
    Ok(lab)
}

/// A line for each mistake, with its position in the file.
fn mistakes(head: &ExperimentHead, wrong: &[String]) -> String {
    let line = |what: &String| match (head.file.as_str(), place_of(&head.definition, what)) {
        ("", _) => format!("--vary: {what}"),
        (file, Some((line, column))) => format!("{file}:{line}:{column}: {what}"),
        (file, None) => format!("{file}: {what}"),
    };
    wrong.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The position in the file of the word that a message quotes or begins with.
fn place_of(definition: &str, what: &str) -> Option<(usize, usize)> {
    let quoted = what.split('\'').skip(1).step_by(2);
    let dashed = what
        .split([' ', ':', ',', ';', '?'])
        .filter_map(|word| word.strip_prefix("--"));
    for word in quoted.chain(dashed).chain(what.split(' ').take(1)) {
        let word = word.split('=').next().unwrap_or(word);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if word.len() < 3 {
            continue;
        }
        for (number, text) in definition.lines().enumerate() {
            let mut places = text.match_indices(word);
            let whole = places.find(|(at, _)| {
                let before = text[..*at].chars().next_back();
                let after = text[at + word.len()..].chars().next();
                !before.is_some_and(plain) && !after.is_some_and(plain)
            });
            if let Some((at, _)) = whole {
                return Some((number + 1, text[..at].chars().count() + 1));
            }
        }
    }
    None
}

fn read(words: &[String]) -> Result<(String, String, PathBuf)> {
    let [file] = words else {
        return Err(usage(
            "dyno lab needs one experiment file, e.g. experiments/binlog-cost.toml; without a \
             file: dyno lab --vary sync_binlog=0,1 oltp_write_only",
        ));
    };
    let path = Path::new(file);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > FILE_MAX) {
        return Err(usage(format!(
            "{file}: an experiment must be a text file of at most 1 MB"
        )));
    }
    let text =
        std::fs::read_to_string(path).map_err(|why| usage(format!("cannot read {file}: {why}")))?;
    let base = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let base = base.map_or_else(|| PathBuf::from("."), Path::to_owned);
    Ok((file.clone(), text, base))
}

/// An experiment's name: its file's, and the scale.
fn name(file: &str, scale: Option<&str>, experiment: &Experiment) -> String {
    let stem = match Path::new(file).file_stem() {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => {
            let factors: Vec<&str> = experiment
                .factors
                .iter()
                .map(|factor| factor.name.get_ref().as_str())
                .collect();
            let workload = experiment.load.workload.as_deref().unwrap_or_default();
            format!("{}-{workload}", factors.join("-"))
        }
    };
    match scale {
        None => stem,
        Some(scale) => format!("{stem}-{scale}"),
    }
}
