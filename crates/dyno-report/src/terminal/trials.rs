//! The trials of an experiment, in order.

use dyno_core::finding::Verdict;

use super::look::{Ink, Look};
use super::table::{Align, Table};

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
    let named = |name: &str, align| (name.to_owned(), align);
    let mut head = vec![named("", Align::Right), named("block", Align::Left)];
    head.extend(all.factors.iter().map(|name| named(name, Align::Left)));
    match is_plan {
        true => head.push(named("before it", Align::Left)),
        false => head.extend([
            named("state", Align::Left),
            named("figures", Align::Left),
            named("verdict", Align::Whole),
        ]),
    }
    let mut table = Table::named(head);
    for line in &all.lines {
        let mut cells = vec![
            (Ink::Faint, line.number.to_string()),
            (Ink::Faint, line.block.clone()),
        ];
        cells.extend(line.levels.iter().map(|level| (Ink::Plain, level.clone())));
        match is_plan {
            true => cells.push((Ink::Plain, line.change.clone())),
            false => {
                let ink = match line.state.as_str() {
                    "failed" => Ink::Error,
                    "begun" | "interrupted" => Ink::Warning,
                    _ => Ink::Plain,
                };
                cells.push((ink, line.state.clone()));
                cells.push((Ink::Plain, line.figures.clone()));
                cells.push(match line.verdict {
                    None => (Ink::Faint, String::new()),
                    Some(Verdict::Valid) => (Ink::Good, Verdict::Valid.word().to_owned()),
                    Some(Verdict::Doubtful) => (Ink::Warning, Verdict::Doubtful.word().to_owned()),
                    Some(Verdict::Refused) => (Ink::Error, Verdict::Refused.word().to_owned()),
                });
            }
        }
        table.row(cells);
    }
    let mut out = table.finish(look);
    if all.hidden > 0 {
        out += &look.paint(Ink::Faint, &format!("… and {} more\n", all.hidden));
    }
    out
}
