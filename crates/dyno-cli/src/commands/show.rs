//! `dyno show`: print a recorded run.

use std::path::PathBuf;

use anyhow::{Result, bail};
use dyno_analysis::summary::recorded;
use dyno_analysis::window::Window;
use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, Source};
use dyno_core::summary::RunSummary;
use dyno_report::terminal::{advice, duet_row, facts, findings, profiles};
use dyno_results::{Results, Scope};

use super::kinds::kinds;
use crate::definitions::SHOW;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::output::Output;
use crate::settings::usage;
use crate::{STATUS_DONE, console, run_store, window};

/// Prints runs.
///
/// # Errors
/// A run does not exist.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, SHOW, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno show [RUN…] [--where …] [--findings] [--facts] [--advice] [--cpu-profile] \
             [--plan] [--from TIME] [--to TIME]\n\n\
             RUN is `last`, a run's number, or the beginning of its name; FILE:RUN is a run in \
             another results file.\n\
             {}",
            help(SHOW, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let look = console::look(&parsed);
    let kinds = kinds(&parsed)?;
    let words = kinds.words();
    for alone in ["json", "plan"] {
        if words.len() > 1 && parsed.has(alone) {
            return Err(usage(format!("--{alone} is for one run at a time")));
        }
    }
    if parsed.has("plan") {
        return plan(&parsed, words[0]);
    }
    let window = window::asked(&parsed)?;
    for word in words {
        let (file, record) = load(&parsed, word, window)?;
        let counsel = parsed.has("advice").then(|| dyno_verdict::advice(&record));
        if let Some(counsel) = counsel.as_ref().filter(|_| parsed.has("json")) {
            console::json(&(serde_json::to_string_pretty(counsel)? + "\n"));
            continue;
        }
        let known = record.facts.clone();
        let sampled = match parsed.has("cpu-profile") {
            true => Results::open_read(&file)?.cpu_profiles(record.id)?,
            false => Vec::new(),
        };
        let summary = summary_with_intervals(record, &file.display().to_string());
        Output::of(&parsed)?.write(&summary, &look)?;
        let of_duet = known.iter().find(|fact| fact.name == names::DUET_ANSWER);
        let of_duet = of_duet.and_then(|fact| serde_json::from_str(&fact.value).ok());
        if let Some(found) = of_duet.filter(|_| !parsed.has("json")) {
            console::page(&look, |look| duet_row(&found, look));
        }
        if let Some(counsel) = &counsel {
            console::out("\n");
            console::page(&look, |look| advice(counsel.as_ref(), look));
        }
        if parsed.has("findings") {
            console::out("\n");
            console::page(&look, |look| findings("Findings", &summary.findings, look));
        }
        if parsed.has("facts") {
            console::out("\n");
            console::page(&look, |look| facts(&known, look));
        }
        if parsed.has("cpu-profile") {
            console::out("\n");
            let gaps = &summary.not_observed;
            console::page(&look, |look| profiles(&sampled, gaps, look));
        }
    }
    Ok(STATUS_DONE)
}

fn plan(parsed: &Parsed, word: &str) -> Result<u8> {
    let (_, record) = run_store::load(parsed, word, &Scope::terminal())?;
    let head = &record.head;
    let Some(plan) = &head.plan else {
        let why = match head.source {
            Source::Dyno => "was recorded by a version of Dyno that kept no plans",
            _ => "was imported from a log, which has no plan",
        };
        bail!("run {} has no plan: it {why}", head.name);
    };
    console::json(&(serde_json::to_string_pretty(plan)? + "\n"));
    Ok(STATUS_DONE)
}

/// Loads a run. The latencies of an unfinished run are only in its spans.
fn load(parsed: &Parsed, word: &str, window: Option<Window>) -> Result<(PathBuf, RunRecord)> {
    // Advice needs all observations. Read the file once: `last` may be another run later.
    if window.is_some() || parsed.has("advice") {
        return window::load(parsed, word, &Scope::whole(), window);
    }
    // As text, a day's run needs little of its intervals' content.
    let scope = if parsed.has("json") {
        Scope::summary()
    } else {
        Scope::terminal()
    };
    let (file, record) = run_store::load(parsed, word, &scope)?;
    if record.summary.is_some() {
        return Ok((file, record));
    }
    run_store::load(parsed, word, &Scope::whole())
}

/// Like [`recorded`], with the intervals.
pub(super) fn summary_with_intervals(mut record: RunRecord, file: &str) -> RunSummary {
    let mut summary = recorded(&record, file);
    summary.intervals = std::mem::take(&mut record.intervals);
    summary
}

#[cfg(test)]
mod tests {
    use dyno_import::{Log, Options, Tool};
    use dyno_report::terminal::{Look, summary as text};
    use dyno_results::Results;
    use tempfile::TempDir;

    use super::*;

    /// A log with one interval per second.
    const LOG: Log<'_> = Log {
        name: "stamped.out",
        text: include_str!("../../../dyno-import/fixtures/stamped.out"),
    };

    #[test]
    fn a_terminal_shows_the_same_with_less_loaded() {
        let folder = TempDir::new().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let imported =
            dyno_import::import(Tool::Sysbench, &[LOG], &[], &Options::default()).unwrap();
        let id = results.import(&imported.runs[0]).unwrap();
        let shown = |scope: &Scope| {
            let record = results.load(id, scope).unwrap();
            let summary = summary_with_intervals(record, "dyno.db");
            [40, 80, 200].map(|columns| {
                let look = Look {
                    columns,
                    ..Look::default()
                };
                text(&summary, &look)
            })
        };
        let less = shown(&Scope::terminal());
        assert_eq!(less, shown(&Scope::summary()));
        assert_eq!(less, shown(&Scope::whole()));
        assert!(less[1].contains("over time"), "{}", less[1]);
    }
}
