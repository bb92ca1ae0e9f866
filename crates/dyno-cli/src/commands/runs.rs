//! `dyno list runs`: list the runs of a results file.

use std::collections::BTreeSet;

use anyhow::Result;
use dyno_core::clock::{civil, wall_time};
use dyno_core::factors::{self, EVERYBODYS, Factors, parse_factors};
use dyno_core::finding::{Verdict, is_thin};
use dyno_core::plan::LoadSchedule;
use dyno_core::record::Source;
use dyno_core::text::server_name;
use dyno_core::units;
use dyno_report::terminal::{EventWord, RunRow, runs};
use dyno_results::{Filter, Results, RunLine, RunStage};
use serde_json::{Value, json};

use crate::options::Parsed;
use crate::settings::{count, usage};
use crate::{STATUS_DONE, console, run_store};

/// Default number of latest runs.
const LIMIT: u64 = 50;

/// Lists runs.
///
/// # Errors
/// An invalid filter, or the file is not a results file.
pub(super) fn main(parsed: &Parsed) -> Result<u8> {
    let path = run_store::required(parsed)?;
    let results = Results::open_read(&path)?;
    let lines = results.runs(&filter(parsed, &results)?)?;
    if parsed.has("json") {
        let lines: Vec<_> = lines.iter().map(as_json).collect();
        console::json(&(serde_json::to_string_pretty(&lines)? + "\n"));
        return Ok(STATUS_DONE);
    }
    if lines.is_empty() {
        console::note(&format!("No run in {} matches.", path.display()));
        return Ok(STATUS_DONE);
    }
    let rows: Vec<RunRow> = lines.iter().map(row).collect();
    let look = console::look(parsed);
    console::page(&look, |look| runs(&rows, look));
    Ok(STATUS_DONE)
}

fn filter(parsed: &Parsed, results: &Results) -> Result<Filter> {
    let text = |name: &str| parsed.value(name).map(str::to_owned);
    let verdict = match parsed.value("verdict") {
        None => None,
        Some("valid") => Some(Verdict::Valid),
        Some("doubtful") => Some(Verdict::Doubtful),
        Some("refused") => Some(Verdict::Refused),
        Some(other) => {
            return Err(usage(format!(
                "--verdict: '{other}' is not one of valid, doubtful, refused"
            )));
        }
    };
    let stage = parsed.value("state").map(stage).transpose()?;
    let since_unix_s = match parsed.value("since") {
        None => None,
        Some(text) => {
            let ago =
                units::parse_duration(text).map_err(|error| usage(format!("--since: {error}")))?;
            Some((wall_time().saturating_sub(ago)).as_secs_f64())
        }
    };
    let limit = count(parsed, "limit", LIMIT)?;
    Ok(Filter {
        workload: text("workload"),
        target: text("target"),
        note: text("note"),
        verdict,
        stage,
        since_unix_s,
        factors: selected(parsed, results)?,
        limit: (limit > 0).then_some(limit as usize),
    })
}

/// The error for a factor that none of these runs has.
pub(super) fn unknown(lines: &[RunLine], factor: &str) -> anyhow::Error {
    match lines.is_empty() {
        true => usage("no run matches"),
        false => {
            let own = lines.iter().flat_map(|line| line.factors.keys());
            no_factor(factor, own.map(String::as_str))
        }
    }
}

/// The error for a factor that no run has, with the existing ones.
pub(super) fn no_factor<'a>(factor: &str, own: impl Iterator<Item = &'a str>) -> anyhow::Error {
    if EVERYBODYS.contains(&factor) {
        return usage(format!(
            "no run's {factor} is known; to name the workload or the server of a log, import it \
             again with --workload NAME or --server NAME, and --replace"
        ));
    }
    let names: BTreeSet<&str> = own.chain(EVERYBODYS).collect();
    let names: Vec<&str> = names.into_iter().collect();
    usage(format!(
        "no run has a factor '{factor}'; there are {}",
        names.join(", ")
    ))
}

/// The levels of `--where`, in full: a version may lack its build suffix, as `dyno list runs`
/// prints it.
///
/// # Errors
/// No run has a factor or level, or a file cannot be read.
pub(super) fn selected(parsed: &Parsed, results: &Results) -> Result<Factors> {
    let texts = parsed.values("where").flat_map(|text| text.split(','));
    let mut factors = parse_factors(texts).map_err(|why| usage(format!("--where: {why}")))?;
    if factors.is_empty() {
        return Ok(factors);
    }
    let lines = results.runs(&Filter::default())?;
    for (name, wanted) in factors.iter_mut().filter(|_| !lines.is_empty()) {
        let given = lines.iter().any(|line| line.factors.contains_key(name));
        if !given && !EVERYBODYS.contains(&name.as_str()) {
            return Err(unknown(&lines, name));
        }
        let mut levels: Vec<String> = lines.iter().filter_map(|line| line.level(name)).collect();
        levels.sort_by(|one, other| factors::order(one, other));
        levels.dedup();
        let place = level(&levels, wanted);
        *wanted = place.map(|place| levels[place].clone()).ok_or_else(|| {
            usage(format!(
                "--where: {name} has no level '{wanted}'; it has {}",
                levels.join(", ")
            ))
        })?;
    }
    Ok(factors)
}

/// The index of the level with this text, or else of the only one that continues it with a suffix.
/// If no level has the text's case, case does not matter.
pub(super) fn level(levels: &[String], wanted: &str) -> Option<usize> {
    let lower: Vec<String> = levels.iter().map(|level| level.to_lowercase()).collect();
    let wanted_lower = wanted.to_lowercase();
    [(levels, wanted), (lower.as_slice(), wanted_lower.as_str())]
        .into_iter()
        .find_map(|(levels, wanted)| {
            let goes_on = |level: &String| {
                let rest = level.strip_prefix(wanted);
                rest.is_some_and(|rest| rest.starts_with(['-', ' ']))
            };
            only(levels, |level| level == wanted).or_else(|| only(levels, goes_on))
        })
}

/// The index of the only level for which this is true.
fn only(levels: &[String], is_meant: impl Fn(&String) -> bool) -> Option<usize> {
    let mut found = (0..levels.len()).filter(|place| is_meant(&levels[*place]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn stage(word: &str) -> Result<RunStage> {
    let known = RunStage::ALL.into_iter().find(|stage| stage.word() == word);
    known.ok_or_else(|| {
        let words = RunStage::ALL.map(RunStage::word).join(", ");
        usage(format!("--state: '{word}' is not one of {words}"))
    })
}

/// A run as one line.
pub(super) fn row(line: &RunLine) -> RunRow {
    let state = match line.stage {
        RunStage::Completed => "",
        other => other.word(),
    };
    RunRow {
        id: line.id,
        when: line.started_unix_s.map_or_else(
            || "not known".to_owned(),
            |started| civil(started, "%Y-%m-%d %H:%M"),
        ),
        workload: line.workload.clone().unwrap_or_else(|| "–".to_owned()),
        server: server_name(&line.product, &line.server_version),
        sessions: line.sessions,
        schedule: (line.schedule.as_ref()).map_or_else(String::new, LoadSchedule::short),
        event: event(line),
        events_per_s: line.events_per_s,
        p95_ms: line.p95_ms,
        verdict: line.verdict,
        thin: is_thin(line.checks_made, line.checks),
        waived: line.checks_waived,
        state: state.to_owned(),
        note: noted(line),
    }
}

/// The word for its events: a test of the host has no target.
fn event(line: &RunLine) -> EventWord {
    match line.source == Source::Dyno && line.target.is_empty() {
        true => EventWord::Event,
        false => EventWord::Transaction,
    }
}

/// The note, preceded by the levels of the factors.
fn noted(line: &RunLine) -> String {
    let factors = line.factors.iter();
    let mut words: Vec<String> = factors.map(|(n, level)| format!("{n}={level}")).collect();
    words.extend((!line.note.is_empty()).then(|| line.note.clone()));
    words.join(" ")
}

fn as_json(line: &RunLine) -> Value {
    json!({
        "id": line.id,
        "name": line.name,
        "state": line.stage.word(),
        "verdict": line.verdict,
        "checks": line.checks,
        "checks_made": line.checks_made,
        "checks_waived": line.checks_waived,
        "source": line.source,
        "started_unix_s": line.started_unix_s,
        "workload": line.workload,
        "command": line.command,
        "target": line.target,
        "product": line.product,
        "server_version": line.server_version,
        "sessions": line.sessions,
        "offered_per_s": line.offered_per_s,
        "schedule": line.schedule.as_ref().map(LoadSchedule::to_string),
        "events_per_s": line.events_per_s,
        "queries_per_s": line.queries_per_s,
        "p95_ms": line.p95_ms,
        "p99_ms": line.p99_ms,
        "errors": line.errors,
        "note": line.note,
        "factors": line.factors,
    })
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn levels_are_found_without_case_and_suffix() {
        let levels = ["MariaDB 10.11.19-MariaDB", "PostgreSQL 15.18", "XFS", "xfs"];
        let levels = levels.map(str::to_owned);
        for (wanted, place) in [
            ("MariaDB 10.11.19", Some(0)),
            ("mariadb", Some(0)),
            ("postgresql 15.18", Some(1)),
            // The case decides between levels that differ only in it.
            ("xfs", Some(3)),
            ("XFS", Some(2)),
            ("Xfs", None),
            ("maria", None),
        ] {
            assert_eq!(level(&levels, wanted), place, "{wanted}");
        }
        let versions = ["MariaDB 10.11", "MariaDB 11.4"].map(str::to_owned);
        assert_eq!(level(&versions, "mariadb"), None);
    }
}
