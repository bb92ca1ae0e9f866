//! The trials of an experiment, in order.

use dyno_core::finding::Verdict;

use super::look::{Ink, Look};
use crate::document::{Table, ink};

/// A trial in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialLine {
    /// Its index among all, from 1.
    pub number: usize,
    /// Its block, from 1, and the reason for it if it is not a repeat.
    pub block: String,
    /// Its level of each factor, in the order of [`Trials::factors`].
    pub levels: Vec<String>,
    /// The change required before it.
    pub change: String,
    /// Its state; empty in a plan.
    pub state: String,
    /// Its figures; empty in a plan.
    pub figures: String,
    /// The worst verdict of its runs; `None` if not judged.
    pub verdict: Option<Verdict>,
}

/// Trials under the names of their factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// The factors.
    pub factors: Vec<String>,
    /// The trials.
    pub lines: Vec<TrialLine>,
    /// Number of trials left out in the middle.
    pub hidden: usize,
}

/// The trials as a table.
pub fn trials(all: &Trials, look: &Look) -> String {
    let is_plan = all.lines.iter().all(|line| line.state.is_empty());
    let mut columns = Table::of(&all.lines)
        .figure("", 0, |line| (Ink::Faint, line.number.to_string()))
        .text("block", 0, |line| (Ink::Faint, line.block.clone()));
    for (place, name) in all.factors.iter().enumerate() {
        columns = columns.text(name, 0, |line| {
            line.levels.get(place).cloned().unwrap_or_default()
        });
    }
    columns = match is_plan {
        true => columns.text("before it", 0, |line| line.change.clone()),
        false => columns
            .text("state", 0, state)
            .text("figures", 0, |line| line.figures.clone())
            .word("verdict", 0, |line| {
                let word = line.verdict.map_or("", Verdict::word);
                (ink(line.verdict), word.to_owned())
            }),
    };
    let table = columns.source("");
    let mut out = table.finish(look);
    if all.hidden > 0 {
        out += &look.paint(Ink::Faint, &format!("… and {} more\n", all.hidden));
    }
    out
}

fn state(line: &TrialLine) -> (Ink, String) {
    let ink = match line.state.as_str() {
        "failed" => Ink::Error,
        "begun" | "interrupted" => Ink::Warning,
        _ => Ink::Plain,
    };
    (ink, line.state.clone())
}
