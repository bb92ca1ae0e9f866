//! `dyno history`: find lasting changes in the figures of a plan.

mod differences;
mod figures;
mod groups;
mod limits;

use std::collections::BTreeSet;

use anyhow::Result;
use dyno_core::finding::Verdict;
use dyno_core::text::plural;
use dyno_core::threshold::Threshold;
use dyno_report::terminal::history as shown;
use dyno_report::{History, markdown};
use dyno_results::{Filter, Results, RunLine};
use serde_json::{Value, json};

use self::groups::{DATE, Run};
use self::limits::Held;
use super::compare::ratios;
use super::runs::{selected, unknown};
use crate::definitions::HISTORY;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::{count, usage};
use crate::{STATUS_DONE, console, output, run_store};

/// Prints the history of each plan.
///
/// # Errors
/// No run has a factor or level, an invalid condition, or a file cannot be read.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, HISTORY, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno history [RUN…] [--where NAME=LEVEL,…] [--by NAME]\n\n\
             Find lasting changes of rate, latency and CPU time per event over the runs of a plan. \
             Runs of one plan have the same workload, options, load, kind of server and factors; \
             version and commit may differ. A change lasts at least {} runs.\n\
             {}",
            figures::RUNS_A_LEVEL,
            help(HISTORY, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let is_markdown = output::is_markdown(&parsed)?;
    let conditions = ratios(&parsed)?;
    let histories = histories(&parsed, &conditions)?;
    limits::refuse_unknown(&histories, &conditions)?;
    let unjudged = limits::unjudged(&histories, &conditions);
    let held: Vec<Vec<Held>> = histories
        .iter()
        .map(|history| limits::held(history, &conditions))
        .collect();
    let all = || histories.iter().zip(&held);
    output::json_or_text(
        &parsed,
        || all().map(as_json).collect(),
        |look| match is_markdown {
            true => console::out(&all().map(as_markdown).collect::<Vec<_>>().join("\n")),
            false => {
                for (history, held) in all() {
                    console::page(look, |look| shown(history, look));
                    held.iter().for_each(|one| console::out(&one.row()));
                }
            }
        },
    )?;
    unjudged.iter().for_each(|why| console::note(why));
    Ok(limits::status(&held, &unjudged))
}

/// The plans with enough runs, each with its figures.
fn histories(parsed: &Parsed, conditions: &[Threshold]) -> Result<Vec<History>> {
    let by = parsed.value("by").unwrap_or(DATE);
    let limit = count(parsed, "limit", 0)? as usize;
    if (1..figures::RUNS_MIN).contains(&limit) {
        let least = figures::RUNS_MIN;
        return Err(usage(format!(
            "--limit: a change needs at least {least} runs"
        )));
    }
    let results = Results::open_read(&run_store::required(parsed)?)?;
    let lines = chosen(parsed, &results)?;
    if lines.is_empty() || !lines.iter().any(|line| groups::is_placed(line, by)) {
        return Err(unknown(&lines, by));
    }
    let plans = results.plans_and_costs()?;
    let finished = lines.iter().filter_map(|line| {
        Some(Run {
            line,
            of: plans.get(&line.id)?,
        })
    });
    let finished: Vec<Run<'_>> = finished.collect();
    note_left_out(lines.len() - finished.len(), "run", "did not complete");
    let (refused, kept): (Vec<Run<'_>>, Vec<Run<'_>>) = finished
        .into_iter()
        .partition(|run| run.line.verdict == Some(Verdict::Refused));
    note_left_out(refused.len(), "run", "refused");
    let (placed, others): (Vec<Run<'_>>, Vec<Run<'_>>) = kept
        .into_iter()
        .partition(|run| groups::is_placed(run.line, by));
    note_left_out(others.len(), "run", &format!("without {by}"));
    let (long, short): (Vec<_>, Vec<_>) = groups::groups(&placed, by)
        .into_iter()
        .partition(|runs| runs.len() >= figures::RUNS_MIN);
    let unjudged = match conditions.is_empty() {
        true => "",
        false => ", too few for --fail-if",
    };
    let why = format!("fewer than {} runs{unjudged}", figures::RUNS_MIN);
    note_left_out(short.len(), "plan", &why);
    let history = |runs: Vec<Run<'_>>| -> Result<History> {
        let skipped = match limit {
            0 => 0,
            limit => runs.len().saturating_sub(limit),
        };
        let runs = &runs[skipped..];
        let mut figures = figures::figures(runs, conditions);
        differences::add(&results, runs, &mut figures)?;
        let is_doubtful = |run: &&Run<'_>| run.line.verdict == Some(Verdict::Doubtful);
        Ok(History {
            plan: groups::named(runs, by),
            by: by.to_owned(),
            runs: groups::described(runs, by),
            doubtful: runs.iter().filter(is_doubtful).count(),
            refused: groups::of_plan(runs, &refused, by),
            figures,
        })
    };
    long.into_iter().map(history).collect()
}

fn note_left_out(count: usize, what: &str, why: &str) {
    if count > 0 {
        console::note(&format!("left out: {count} {what}{}: {why}", plural(count)));
    }
}

/// The runs on the command line, or all runs, as far as `--where` selects them.
fn chosen(parsed: &Parsed, results: &Results) -> Result<Vec<RunLine>> {
    let filter = Filter {
        factors: selected(parsed, results)?,
        ..Filter::default()
    };
    let words = parsed.words.iter().flat_map(|word| word.split(','));
    let words = words.map(str::trim).filter(|word| !word.is_empty());
    let named: BTreeSet<i64> = words
        .map(|word| results.find(word))
        .collect::<Result<_, _>>()?;
    let mut lines = results.runs(&filter)?;
    lines.retain(|line| named.is_empty() || named.contains(&line.id));
    Ok(lines)
}

fn as_json((history, held): (&History, &Vec<Held>)) -> Value {
    let mut value = json!(history);
    value["thresholds"] = json!(held);
    value
}

fn as_markdown((history, held): (&History, &Vec<Held>)) -> String {
    let mut text = markdown::history(history);
    let limits: Vec<String> = held.iter().map(Held::marked).collect();
    if !limits.is_empty() {
        text += &format!("\n{}", markdown::list(&limits));
    }
    text
}
