//! `dyno phases`: print sequences of phases as tables.

use anyhow::Result;
use dyno_core::clock::wall_time;
use dyno_report::phases::{Sequence, html, tables, terminal, tsv};
use dyno_results::{Results, Scope};

use crate::definitions::PHASES;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console, output, run_store};

/// Separates groups of sequences.
const BREAK: &str = "BREAK";

/// Prints the tables.
///
/// # Errors
/// A sequence does not exist, or a file cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, PHASES, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno phases [LABEL=]SEQUENCE… [BREAK SEQUENCE…] [--html FILE] [--tsv FILE]\n\n\
             Print per-phase tables of a workload with phases, e.g. insert_benchmark, whose runs \
             form a sequence.\n\
             SEQUENCE is `last`, the beginning of its name, or the number or name of one of its \
             runs;\n\
             FILE:SEQUENCE is a sequence in another results file. All are compared with the \
             first.\n\
             LABEL replaces the server's version. BREAK starts a new group.\n\
             {}",
            help(PHASES, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let last = ["last".to_owned()];
    let words = match parsed.words.as_slice() {
        [] => last.as_slice(),
        words => words,
    };
    let mut sequences: Vec<Sequence> = Vec::new();
    let mut apart = false;
    for word in words {
        if word == BREAK {
            if apart || sequences.is_empty() {
                return Err(usage("BREAK must be between sequences"));
            }
            apart = true;
            continue;
        }
        let mut next = sequence(&parsed, word)?;
        next.begins_group = std::mem::take(&mut apart);
        sequences.push(next);
    }
    if apart {
        return Err(usage("BREAK must be between sequences"));
    }
    distinguish(&mut sequences);
    let tables = tables(&sequences);
    if let Some(path) = parsed.value("html") {
        let title = title(&sequences);
        output::write(
            path,
            html(&sequences, &tables, &title, wall_time().as_secs_f64()),
        )?;
        console::note(&format!("{path}: {} tables", tables.len()));
    }
    match parsed.value("tsv") {
        Some("-") => {
            console::raw(tsv(&tables).as_bytes());
            return Ok(STATUS_DONE);
        }
        Some(path) => output::write(path, tsv(&tables))?,
        None => {}
    }
    let look = console::look(&parsed);
    console::page(&look, |look| terminal(&tables, look));
    Ok(STATUS_DONE)
}

fn sequence(parsed: &Parsed, word: &str) -> Result<Sequence> {
    let (label, word) = match word.split_once('=') {
        Some((label, rest)) if !label.is_empty() => (Some(label), rest),
        _ => (None, word),
    };
    let (path, named) = run_store::locate(parsed, word)?;
    let results = Results::open_read(&path)?;
    let mut runs = Vec::new();
    for id in results.sequence(&named)? {
        runs.push(results.load(id, &Scope::whole())?);
    }
    let mut sequence = Sequence::of(runs);
    if let Some(label) = label {
        sequence.label = label.to_owned();
    }
    Ok(sequence)
}

/// Numbers duplicate labels.
fn distinguish(sequences: &mut [Sequence]) {
    let labels: Vec<String> = sequences.iter().map(|s| s.label.clone()).collect();
    for (index, sequence) in sequences.iter_mut().enumerate() {
        let same = labels
            .iter()
            .filter(|label| **label == sequence.label)
            .count();
        if same > 1 {
            sequence.label += &format!(" ({})", index + 1);
        }
    }
}

fn title(sequences: &[Sequence]) -> String {
    let first = sequences.iter().find_map(|sequence| sequence.runs.first());
    let workload = first.map_or("phases", |run| run.head.workload.name.as_str());
    let labels: Vec<&str> = sequences.iter().map(|s| s.label.as_str()).collect();
    format!("{workload}: {}", labels.join(", "))
}
