//! Completions from a results file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dyno_core::clock::civil;
use dyno_core::factors::EVERYBODYS;
use dyno_results::{Filter, Results, RunLine};

use super::Answer;

/// Number of latest runs that are offered.
const RUNS_MAX: usize = 100;

/// Runs of the file, or of a file that precedes a colon in the word.
pub(super) fn runs(file: Option<PathBuf>, current: &str) -> Answer {
    if let Some((other, run)) = current.rsplit_once(':')
        && Path::new(other).is_file()
    {
        return of_lines(&lines(Some(other.into())), run).behind(&format!("{other}:"));
    }
    of_lines(&lines(file), current)
}

fn of_lines(lines: &[RunLine], current: &str) -> Answer {
    let mut candidates = Vec::new();
    for line in lines.iter().rev() {
        let started = line.started_unix_s;
        let when = started.map_or_else(String::new, |at| civil(at, "%Y-%m-%d %H:%M "));
        let server = format!("{} {}", line.product, line.note);
        let workload = line.workload.as_deref().unwrap_or_default();
        let meaning = format!("{when}{workload} {}", server.trim());
        candidates.push((line.id.to_string(), meaning.clone()));
        // Names are long: offer them only after the first letter.
        if current.len() > 1 {
            candidates.push((line.name.clone(), meaning));
        }
    }
    if !candidates.is_empty() {
        candidates.insert(0, ("last".to_owned(), "the latest run".to_owned()));
    }
    Answer {
        candidates,
        ..Answer::default()
    }
}

/// The names of factors.
pub(super) fn factors(file: Option<PathBuf>) -> Answer {
    let lines = lines(file);
    let varied = lines.iter().flat_map(|line| line.factors.keys());
    let names: BTreeSet<&str> = varied.map(String::as_str).chain(EVERYBODYS).collect();
    Answer::of(names)
}

/// Factors, or the levels of one after an equals sign, appended to the list's earlier entries.
pub(super) fn levels(file: Option<PathBuf>, current: &str) -> Answer {
    let begin = current.rfind(',').map_or(0, |comma| comma + 1);
    let (before, entry) = current.split_at(begin);
    let Some((name, _)) = entry.split_once('=') else {
        let names = factors(file);
        let names = names.candidates.iter().map(|(name, _)| format!("{name}="));
        return Answer {
            open: true,
            ..Answer::of(names)
        }
        .behind(before);
    };
    let lines = lines(file);
    let levels: BTreeSet<String> = lines.iter().filter_map(|line| line.level(name)).collect();
    Answer::of(levels).behind(&format!("{before}{name}="))
}

fn lines(file: Option<PathBuf>) -> Vec<RunLine> {
    let filter = Filter {
        limit: Some(RUNS_MAX),
        ..Filter::default()
    };
    // Completion reports no errors.
    let read = file.and_then(|file| Results::open_read(&file).ok());
    let lines = read.and_then(|results| results.runs(&filter).ok());
    lines.unwrap_or_default()
}
