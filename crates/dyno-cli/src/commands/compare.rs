//! `dyno compare`: compare runs with a base.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use dyno_core::finding::{Verdict, verdict};
use dyno_core::record::RunRecord;
use dyno_core::threshold::Threshold;
use dyno_report::junit::{Suite, of_comparison};
use dyno_report::terminal::comparison;
use dyno_report::{equivalence_words, markdown};
use dyno_results::Scope;
use dyno_verdict::{CompareOptions, Comparison, EquivalenceTest, compare, leave_out_moved, waited};
use serde::Serialize;
use serde_json::{Value, json};

use super::kinds::kinds;
use crate::definitions::COMPARE;
use crate::junit::{self, JUnit};
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::record_options::thresholds;
use crate::settings::{margin, usage};
use crate::{STATUS_DONE, STATUS_LIMIT, STATUS_REFUSED, console, output, window};

/// Number of existing differences listed when a factor matches none.
const DIFFERENCES_MAX: usize = 8;

/// Compares the runs of the command line, and prints the result.
///
/// # Errors
/// A run does not exist, or the runs must not share a table.
pub(super) fn main(args: &[String]) -> Result<u8> {
    // `--base` is an option of `dyno table`.
    let names_base = |arg: &String| arg == "--base" || arg.starts_with("--base=");
    if args.iter().any(names_base) {
        return Err(usage(
            "unknown option --base; the first run is the base: dyno compare BASE NEW",
        ));
    }
    let parsed = parse(args, COMPARE, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno compare BASE NEW…\n\
             \x20      dyno compare --where NAME=LEVEL,…\n\n\
             BASE and NEW are `last`, a run's number or the beginning of its name; FILE:RUN is a \
             run in another results file. Join repetitions with commas: `dyno compare 1,2,3 \
             4,5,6`.\n\
             {}",
            help(COMPARE, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    junit::of_failure(compared(&parsed), parsed.value("junit"), "comparison")
}

fn compared(parsed: &Parsed) -> Result<u8> {
    let is_markdown = output::is_markdown(parsed)?;
    let junit = JUnit::of(parsed)?;
    let equivalent = margin(parsed)?;
    let mut all = sides(parsed)?;
    for moved in all.iter_mut().flat_map(leave_out_moved) {
        console::note(&format!("left out: {moved}"));
    }
    all.iter()
        .filter_map(|runs| waited(runs))
        .for_each(|why| console::note(&why));
    let [base, sides @ ..] = all.as_slice() else {
        return Err(usage("dyno compare needs a BASE and at least one NEW run"));
    };
    if sides.is_empty() {
        return Err(usage(match parsed.has("where") {
            true => {
                "--where: the selected runs differ in no factor, workload, server or number of \
                 sessions, so there is nothing to compare"
            }
            false => "dyno compare needs a NEW run to compare with the base",
        }));
    }
    let options = CompareOptions {
        intended: parsed.values("factor").map(str::to_owned).collect(),
        other_workload: parsed.has("force"),
        equivalent,
        ..CompareOptions::default()
    };
    let conditions = ratios(parsed)?;
    let base: Vec<&RunRecord> = base.iter().collect();
    let mut compared = Vec::new();
    for side in sides {
        let new: Vec<&RunRecord> = side.iter().collect();
        compared.push(compare(&base, &new, &options)?);
    }
    refuse_unknown(&base, sides, &options.intended)?;
    write(parsed, &compared, &conditions, is_markdown)?;
    if let Some(junit) = junit {
        let suites = compared.iter().map(|one| suite(one, &conditions));
        suites.for_each(|suite| junit.add(suite));
        junit.write()?;
    }
    let refused = |compared: &Comparison| verdict(&compared.findings) == Verdict::Refused;
    let failed = |compared: &Comparison| {
        let mut held = held(compared, &conditions).into_iter();
        held.any(|one| one.outcome == Limit::Failed)
    };
    Ok(if parsed.has("gate") && compared.iter().any(refused) {
        STATUS_REFUSED
    } else if compared.iter().any(failed) {
        STATUS_LIMIT
    } else {
        STATUS_DONE
    })
}

fn write(
    parsed: &Parsed,
    compared: &[Comparison],
    conditions: &[Threshold],
    is_markdown: bool,
) -> Result<()> {
    let as_json = || {
        let with_limits = |compared: &Comparison| as_json(compared, &held(compared, conditions));
        Value::Array(compared.iter().map(with_limits).collect())
    };
    output::json_or_text(parsed, as_json, |look| {
        if is_markdown {
            console::out(&as_markdown(parsed, compared, conditions));
            return;
        }
        for compared in compared {
            console::page(look, |look| comparison(compared, parsed.has("all"), look));
            for held in held(compared, conditions) {
                console::out(&held.row());
            }
        }
    })
}

/// The checks and limits of a comparison, as a suite for `--junit`.
fn suite(compared: &Comparison, conditions: &[Threshold]) -> Suite {
    let mut suite = of_comparison(compared);
    for held in held(compared, conditions) {
        let failed = match held.outcome {
            Limit::Failed => Some(true),
            Limit::Kept => Some(false),
            Limit::Undecided => None,
        };
        suite.condition(&held.condition, failed, &held.line());
    }
    suite
}

/// The comparisons as Markdown, each with its limits.
fn as_markdown(parsed: &Parsed, compared: &[Comparison], conditions: &[Threshold]) -> String {
    let one = |compared: &Comparison| {
        let mut text = markdown::comparison(compared, parsed.has("all"));
        let held = held(compared, conditions);
        let held = held
            .iter()
            .map(|one| format!("{} {}", one.outcome.mark(), one.line()));
        let limits: Vec<String> = held.collect();
        if !limits.is_empty() {
            text += &format!("\n{}", markdown::list(&limits));
        }
        text
    };
    compared.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The conditions of `--fail-if`, as ratios.
pub(super) fn ratios(parsed: &Parsed) -> Result<Vec<Threshold>> {
    let conditions = thresholds(parsed)?;
    match conditions.iter().find(|condition| !condition.is_ratio()) {
        Some(other) => Err(usage(format!(
            "--fail-if: {other} is not a ratio; write e.g. 'rate < 0.95x', or use it with `dyno \
             run`"
        ))),
        None => Ok(conditions),
    }
}

/// The outcome of a limit on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Limit {
    /// The condition is true in the whole interval.
    Failed,
    /// It is false in the whole interval.
    Kept,
    /// It is true in a part of the interval, or the interval is missing.
    Undecided,
}

impl Limit {
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Failed => "✘ failed",
            Self::Kept => "✔ kept",
            Self::Undecided => "? undecided",
        }
    }

    /// The outcome of a condition for a ratio between these bounds.
    pub(super) fn of(condition: &Threshold, low: f64, high: f64) -> Self {
        match condition.holds_between(low, high) {
            Some(true) => Self::Failed,
            Some(false) => Self::Kept,
            None => Self::Undecided,
        }
    }
}

/// A limit and its outcome for a comparison.
#[derive(Serialize)]
struct Held {
    condition: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    outcome: Limit,
    #[serde(skip_serializing_if = "Option::is_none")]
    equivalence: Option<EquivalenceTest>,
}

impl Held {
    fn row(&self) -> String {
        format!("  {:13} {}\n", self.outcome.mark(), self.line())
    }

    /// The condition, the ratio, and the answer of `--equivalent`.
    fn line(&self) -> String {
        let found = match (self.ratio, self.low, self.high) {
            (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3}x ({low:.3} – {high:.3})"),
            (Some(ratio), Some(low), None) => format!("{ratio:.3}x ({low:.3} – ∞)"),
            (Some(ratio), ..) => format!("{ratio:.3}x, interval unknown"),
            _ => "there is no such ratio".to_owned(),
        };
        let test = self.equivalence.as_ref().map(equivalence_words);
        let test = test.map_or_else(String::new, |words| format!("; {words}"));
        format!("{}: {found}{test}", self.condition)
    }
}

/// Judges each condition by the interval of its ratio, never by the ratio alone.
fn held(compared: &Comparison, conditions: &[Threshold]) -> Vec<Held> {
    let held = |condition: &Threshold| {
        let name = condition.metric();
        let metric = compared.metrics.iter().find(|one| one.is_called(&name));
        let bounds = metric.and_then(|one| Some((one.low?, one.high.unwrap_or(f64::INFINITY))));
        Held {
            condition: condition.to_string(),
            ratio: metric.and_then(|one| one.ratio),
            low: metric.and_then(|one| one.low),
            high: metric.and_then(|one| one.high),
            outcome: bounds.map_or(Limit::Undecided, |(low, high)| {
                Limit::of(condition, low, high)
            }),
            equivalence: metric.and_then(|one| one.equivalence),
        }
    };
    conditions.iter().map(held).collect()
}

/// Rejects factors that match no difference: a typo would silently have no effect.
fn refuse_unknown(base: &[&RunRecord], sides: &[Vec<RunRecord>], factors: &[String]) -> Result<()> {
    for factor in factors {
        let options = CompareOptions {
            intended: vec![factor.clone()],
            other_workload: true,
            ..CompareOptions::default()
        };
        let mut found = Vec::new();
        for side in sides {
            let new: Vec<&RunRecord> = side.iter().collect();
            found.extend(compare(base, &new, &options)?.differences);
        }
        if found.iter().any(|difference| difference.intended) {
            continue;
        }
        let names: BTreeSet<&str> = found.iter().map(|found| found.what.as_str()).collect();
        let some: Vec<&str> = names.into_iter().take(DIFFERENCES_MAX).collect();
        return Err(usage(match some.is_empty() {
            true => format!("--factor {factor}: the runs do not differ in anything recorded"),
            false => format!(
                "--factor {factor}: no difference has this name or beginning; the runs differ in \
                 {}",
                some.join(", ")
            ),
        }));
    }
    Ok(())
}

/// The runs of each side, the base first: as named, or as `--where` selects them, one side for each
/// combination of levels.
fn sides(parsed: &Parsed) -> Result<Vec<Vec<RunRecord>>> {
    if parsed.words.is_empty() && !parsed.has("where") {
        return Ok(Vec::new());
    }
    let kinds = kinds(parsed)?;
    let window = window::asked(parsed)?;
    let load = |word: &str| window::load(parsed, word, &Scope::whole(), window);
    let loaded = kinds.words().into_iter().map(load);
    let runs = distinguished(loaded.collect::<Result<_>>()?);
    let sides = kinds.of(&runs);
    let mut runs: Vec<Option<RunRecord>> = runs.into_iter().map(Some).collect();
    let mut take = |place: &usize| runs.get_mut(*place).and_then(Option::take);
    let side = |side: &Vec<usize>| side.iter().filter_map(&mut take).collect();
    Ok(sides.iter().map(side).collect())
}

/// Adds the file to the names of runs that also occur in another file.
pub(super) fn distinguished(runs: Vec<(PathBuf, RunRecord)>) -> Vec<RunRecord> {
    let name = |(file, run): &(PathBuf, RunRecord)| (file.clone(), run.head.name.clone());
    let names: Vec<(PathBuf, String)> = runs.iter().map(name).collect();
    let apart = |(file, mut run): (PathBuf, RunRecord)| {
        let own = &run.head.name;
        if names
            .iter()
            .any(|(other, name)| name == own && *other != file)
        {
            run.head.name = format!("{}:{own}", file.display());
        }
        run
    };
    runs.into_iter().map(apart).collect()
}

fn as_json(compared: &Comparison, limits: &[Held]) -> Value {
    let mut value = json!(compared);
    value["thresholds"] = json!(limits);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::values::head;

    #[test]
    fn runs_of_the_same_name_have_their_file_in_front() {
        let names = |runs: &[(&str, &str)]| -> Vec<String> {
            let run =
                |(file, name): &(&str, &str)| (PathBuf::from(file), RunRecord::new(head(name)));
            let runs = distinguished(runs.iter().map(run).collect());
            runs.into_iter().map(|run| run.head.name).collect()
        };
        assert_eq!(names(&[("a.db", "x"), ("b.db", "x")]), ["a.db:x", "b.db:x"]);
        assert_eq!(names(&[("a.db", "x"), ("b.db", "y")]), ["x", "y"]);
        assert_eq!(names(&[("a.db", "x"), ("a.db", "x")]), ["x", "x"]);
    }
}
