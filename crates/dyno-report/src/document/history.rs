//! The figures of one plan from run to run, with their lasting changes.

use dyno_core::figures::{MS, PER_SECOND};
use dyno_core::finding::Verdict;
use dyno_core::reported::Better;
use dyno_core::text::{number_of, shortened, verb};
use dyno_verdict::Difference;
use serde::Serialize;

use super::{Table, Value, mark};
use crate::number::{amount, latency, rate};
use crate::terminal::{Ink, rank};

/// The most differences shown at a change.
const DIFFERENCES_SHOWN: usize = 3;
/// Longer values are truncated.
const VALUE_MAX: usize = 40;

/// The runs of one plan in order, and their figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// What the runs have in common, e.g. `oltp_read_write on MariaDB, 8 sessions`.
    pub plan: String,
    /// What the runs are ordered by, e.g. `date`.
    pub by: String,
    /// The runs, in this order.
    pub runs: Vec<HistoryRun>,
    /// The number of these runs that are doubtful.
    pub doubtful: usize,
    /// The number of refused runs of the plan, which are left out.
    pub refused: usize,
    /// The figures that enough runs have.
    pub figures: Vec<FigureHistory>,
}

/// A run of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// Its number.
    pub id: i64,
    /// When it began, in seconds since the Unix epoch; `None` if an imported log has no time.
    pub started_unix_s: Option<f64>,
    /// Date, version and commit, as far as known, e.g. `2026-11-20, 11.4.2`; may be empty.
    pub about: String,
    /// Its verdict; `None` if it was not judged.
    pub verdict: Option<Verdict>,
}

/// A figure of each run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureHistory {
    /// The name, e.g. `rate`, `p95`, `server CPU`.
    pub name: String,
    /// The unit: `count/s`, `ms`, or that of a cost.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// The values by run; `None` where a run lacks it.
    pub values: Vec<Option<f64>>,
    /// Its lasting changes, in order.
    pub changes: Vec<HistoryChange>,
}

/// A lasting change of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryChange {
    /// The index of the first run after it, in [`History::runs`].
    pub index: usize,
    /// The number of that run.
    pub run: i64,
    /// The level since the previous change: a geometric mean.
    pub before: f64,
    /// The level up to the next change: a geometric mean.
    pub after: f64,
    /// `after` / `before`.
    pub ratio: f64,
    /// Lower end of the 95 % confidence interval of the ratio.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Whether the figure moved gradually, and not in one step.
    pub gradual: bool,
    /// How that run differs from those before it, e.g. `setting log_bin OFF → ON`, the most
    /// important first.
    pub differences: Vec<String>,
}

/// Recorded differences as text, the most important first.
pub fn history_differences(mut found: Vec<Difference>) -> Vec<String> {
    found.sort_by_key(|one| rank(&one.what));
    let text = |one: Difference| {
        let [before, after] = [one.base, one.new].map(|value| shortened(&value, VALUE_MAX));
        format!("{} {before} → {after}", one.what)
    };
    found.into_iter().map(text).collect()
}

impl History {
    /// The heading: the plan, its runs and their order.
    pub(crate) fn title(&self) -> String {
        let (first, last) = (self.runs.first(), self.runs.last());
        let ends = first.zip(last).map_or_else(String::new, |(first, last)| {
            format!(" ({} … {})", first.id, last.id)
        });
        format!(
            "{}: {} runs{ends} by {}",
            self.plan,
            self.runs.len(),
            self.by
        )
    }

    /// The numbers of doubtful and refused runs: `? 3 of 20 runs are doubtful`; empty without any.
    pub(crate) fn unfit(&self) -> String {
        let marked = |verdict: Verdict, text: String| format!("{} {text}", mark(verdict, false).1);
        let doubtful = (self.doubtful > 0).then(|| {
            let are = verb(self.doubtful, "is", "are");
            let all = number_of(self.runs.len(), "run");
            let text = format!("{} of {all} {are} doubtful", self.doubtful);
            marked(Verdict::Doubtful, text)
        });
        let refused = (self.refused > 0).then(|| {
            let are = verb(self.refused, "is", "are");
            let runs = number_of(self.refused, "refused run");
            marked(Verdict::Refused, format!("{runs} {are} left out"))
        });
        let parts: Vec<String> = doubtful.into_iter().chain(refused).collect();
        parts.join("; ")
    }

    /// A row for each change, and one for each figure without any.
    pub(crate) fn table(&self) -> Table {
        let rows: Vec<(&FigureHistory, Option<&HistoryChange>)> = self
            .figures
            .iter()
            .flat_map(|figure| {
                let unchanged = figure.changes.is_empty().then_some((figure, None));
                let changes = figure.changes.iter().map(move |one| (figure, Some(one)));
                changes.chain(unchanged)
            })
            .collect();
        let level = |level: f64, figure: &FigureHistory| Value::Text(figure.shown(level));
        Table::of(&rows)
            .text("figure", 0, |(figure, _)| figure.name.clone())
            .figure("before", 0, |(figure, change)| {
                change.map(|change| level(change.before, figure))
            })
            .figure("after", 0, |(figure, change)| {
                let unchanged = || figure.values.iter().rev().flatten().next().copied();
                let after = change.map(|change| change.after).or_else(unchanged);
                after.map(|after| level(after, figure))
            })
            .figure("change", 0, |(figure, change)| match change {
                Some(change) => (figure.ink(change), percent(change.ratio)),
                None => (Ink::Faint, "none".to_owned()),
            })
            .text("95 % interval", 0, |(_, change)| {
                change.map(|change| Value::Text(change.interval()))
            })
            .text("from", 0, |(_, change)| {
                let from =
                    |change: &HistoryChange| self.beginning(change) + &change.first_differences();
                change.map(|change| Value::Text(from(change)))
            })
            .source("the runs' summaries")
    }

    /// Where a change begins: `run 41 (2026-11-20, 11.4.2)`.
    pub(crate) fn beginning(&self, change: &HistoryChange) -> String {
        let run = self.runs.get(change.index);
        let about = run.map_or("", |run| run.about.as_str());
        let about = match about.is_empty() {
            true => String::new(),
            false => format!(" ({about})"),
        };
        let how = if change.gradual { ", gradually" } else { "" };
        format!("run {}{about}{how}", change.run)
    }
}

impl FigureHistory {
    /// A value with its unit.
    pub(crate) fn shown(&self, value: f64) -> String {
        match self.unit.as_str() {
            PER_SECOND => format!("{}/s", rate(value)),
            MS => latency(value),
            other => amount(value, other),
        }
    }

    /// Whether a change is for the better.
    pub(crate) fn improves(&self, change: &HistoryChange) -> bool {
        match self.better {
            Better::Higher => change.ratio > 1.0,
            Better::Lower => change.ratio < 1.0,
        }
    }

    /// The colour of a change.
    pub(crate) fn ink(&self, change: &HistoryChange) -> Ink {
        match self.improves(change) {
            true => Ink::Good,
            false => Ink::Error,
        }
    }
}

impl HistoryChange {
    /// `; first differences: setting log_bin OFF → ON`; empty without any.
    pub(crate) fn first_differences(&self) -> String {
        let shown = self.differences.iter().take(DIFFERENCES_SHOWN);
        let shown: Vec<&str> = shown.map(String::as_str).collect();
        let more = match self.differences.len().saturating_sub(DIFFERENCES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match shown.as_slice() {
            [] => String::new(),
            shown => format!("; first differences: {}{more}", shown.join(", ")),
        }
    }

    /// The 95 % confidence interval: `−7.4 % to −5.0 %`.
    pub(crate) fn interval(&self) -> String {
        format!("{} to {}", percent(self.low), percent(self.high))
    }
}

/// A ratio as a change: `−6.2 %`.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0).replace('-', "−")
}
