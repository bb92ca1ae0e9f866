//! The runs that a command is about: named one by one, or selected by their factors.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use anyhow::Result;
use dyno_core::factors::{EVERYBODYS, order};
use dyno_core::record::RunRecord;
use dyno_results::{Filter, Results};

use super::runs::selected;
use crate::options::Parsed;
use crate::run_store;
use crate::settings::usage;

/// Runs, grouped into repetitions.
pub(super) enum Kinds {
    /// As named: words joined by commas are one side.
    Named(Vec<Vec<String>>),
    /// Selected by factors: each combination of levels is one side.
    Selected(Vec<String>),
}

/// The runs on the command line; by default the last run.
///
/// # Errors
/// Both runs and `--where` are given, or no run has the levels.
pub(super) fn kinds(parsed: &Parsed) -> Result<Kinds> {
    let selects = parsed.has("where") || (parsed.has("rows") && parsed.words.is_empty());
    if !selects {
        return Ok(Kinds::Named(named(parsed)?));
    }
    if let Some(word) = parsed.words.first() {
        return Err(usage(format!(
            "'{word}' and --where both select runs; give one of them"
        )));
    }
    let results = Results::open_read(&run_store::required(parsed)?)?;
    let filter = Filter {
        factors: selected(parsed, &results)?,
        ..Filter::default()
    };
    let ids: Vec<String> = results
        .runs(&filter)?
        .iter()
        .map(|line| line.id.to_string())
        .collect();
    match ids.is_empty() {
        true => Err(usage(match parsed.values("where").next() {
            Some(_) => "--where: no run matches; `dyno list runs` shows the factors of each run",
            None => "there is no run yet",
        })),
        false => Ok(Kinds::Selected(ids)),
    }
}

fn named(parsed: &Parsed) -> Result<Vec<Vec<String>>> {
    if parsed.words.is_empty() {
        return Ok(vec![vec!["last".to_owned()]]);
    }
    let sides = parsed.words.iter();
    sides.map(|word| run_store::joined(word)).collect()
}

impl Kinds {
    /// The runs in the form for [`run_store::load`].
    pub(super) fn words(&self) -> Vec<&str> {
        match self {
            Self::Named(sides) => sides.iter().flatten().map(String::as_str).collect(),
            Self::Selected(ids) => ids.iter().map(String::as_str).collect(),
        }
    }

    /// The sides, as indices of their runs, which were loaded in the order of the words.
    pub(super) fn of(&self, runs: &[RunRecord]) -> Vec<Vec<usize>> {
        match self {
            Self::Named(sides) => {
                let mut next = 0;
                let side = |side: &Vec<String>| {
                    let from = next;
                    next += side.len();
                    (from..next).collect()
                };
                sides.iter().map(side).collect()
            }
            Self::Selected(_) => alike(runs),
        }
    }
}

/// Groups runs by levels, in the order of the levels.
fn alike(runs: &[RunRecord]) -> Vec<Vec<usize>> {
    let mut names: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.head.factors.keys().map(String::as_str))
        .collect();
    names.extend(EVERYBODYS);
    let levels = |run: &RunRecord| -> Vec<String> {
        let level = |name: &&str| dyno_verdict::level(run, name).unwrap_or_default();
        names.iter().map(level).collect()
    };
    let compared = |one: &[String], other: &[String]| {
        let pairs = one.iter().zip(other);
        let differ = pairs
            .map(|(one, other)| order(one, other))
            .find(|order| order.is_ne());
        differ.unwrap_or(Ordering::Equal)
    };
    let mut kinds: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let own = levels(run);
        match kinds.iter_mut().find(|(known, _)| *known == own) {
            Some((_, runs)) => runs.push(number),
            None => kinds.push((own, vec![number])),
        }
    }
    kinds.sort_by(|(one, _), (other, _)| compared(one, other));
    kinds.into_iter().map(|(_, runs)| runs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(factors: &[(&str, &str)]) -> RunRecord {
        let log = dyno_import::Log {
            name: "stamped.out",
            text: include_str!("../../../dyno-import/fixtures/stamped.out"),
        };
        let options = dyno_import::Options::default();
        let mut run = dyno_import::import(dyno_import::Tool::Sysbench, &[log], &[], &options)
            .unwrap()
            .runs
            .remove(0);
        let pairs = factors.iter();
        run.head.factors = pairs.map(|(n, l)| (n.to_string(), l.to_string())).collect();
        run
    }

    #[test]
    fn runs_of_the_same_levels_are_repetitions_in_the_order_of_levels() {
        let runs = [
            run(&[("memory", "12G"), ("fs", "xfs")]),
            run(&[("memory", "5G"), ("fs", "xfs")]),
            run(&[("memory", "12G"), ("fs", "xfs")]),
            run(&[("memory", "5G"), ("fs", "ext4")]),
        ];
        assert_eq!(alike(&runs), [vec![3], vec![1], vec![0, 2]]);
    }

    #[test]
    fn words_with_commas_are_one_side() {
        let words = |side: &[&str]| side.iter().map(|word| (*word).to_owned()).collect();
        let kinds = Kinds::Named(vec![words(&["1", "3"]), words(&["2"])]);
        assert_eq!(kinds.words(), ["1", "3", "2"]);
        assert_eq!(kinds.of(&[]), [vec![0, 1], vec![2]]);
    }
}
