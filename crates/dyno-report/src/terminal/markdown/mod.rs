//! Runs, comparisons and tables as GitHub's Markdown, for pull requests and wikis.
//!
//! The sections are those of the terminal's text; their rows and tables become Markdown tables.

mod markup;
mod run;
#[cfg(test)]
mod tests;

use dyno_analysis::summary::rebuild;
use dyno_core::duet::DuetSummary;
use dyno_core::finding::{Tally, verdict};
use dyno_core::record::{Cost, RunRecord};
use dyno_core::summary::RunSummary;
use dyno_verdict::Comparison;

use super::pivot::{legend, texts, title};
use super::{brief, compare};
use crate::document::{self, marked};
use crate::html::ReportInput;
use crate::{History, Pivot};
use markup::{headed, joined, sections, table, tabulated, text};

/// The runs: verdict, figures, findings and settings; of several also how they compare.
pub fn report(input: &ReportInput<'_>) -> String {
    let runs = input.runs.iter().enumerate();
    let summaries: Vec<RunSummary> = runs
        .map(|(index, run)| whole(run, input.costs.get(index)))
        .collect();
    match summaries.as_slice() {
        [only] => {
            let title = match input.title {
                "" => brief::title(only),
                title => title.to_owned(),
            };
            let found = input.runs.first().and_then(document::duet_of);
            joined([
                run::one(&title, only),
                found.as_ref().map(duet).unwrap_or_default(),
            ])
        }
        several => run::several(input, several),
    }
}

/// The duet whose sides are reported.
fn duet(found: &DuetSummary) -> String {
    let content = [
        format!("{}\n", text(&document::duet_judged(found))),
        tabulated(document::duet_figures(&found.figures)),
        sections(|page| {
            page.show(document::duet_sides(found));
            page.show(document::duet_notes(found, false));
        }),
    ];
    headed("Duet", joined(content))
}

/// A run's summary with the parts that are kept separately.
fn whole(run: &RunRecord, costs: Option<&Vec<Cost>>) -> RunSummary {
    let summary = run.summary.clone();
    let mut summary = summary.unwrap_or_else(|| rebuild(run));
    summary.intervals.clone_from(&run.intervals);
    summary.findings.clone_from(&run.findings);
    summary.verdict = run.verdict;
    if summary.costs.is_empty() {
        summary.costs = costs.cloned().unwrap_or_default();
    }
    summary
}

/// The comparison: the answer, the verdict, the ratios, and the differences. Long lists of
/// differences are reduced to the most important, unless `all` are requested.
pub fn comparison(compared: &Comparison, all: bool) -> String {
    let answer = compare::answer(compared);
    joined([format!("## {}\n", text(&answer)), ratios(compared, all)])
}

/// A comparison without its answer.
fn ratios(compared: &Comparison, all: bool) -> String {
    let (_, word) = marked(verdict(&compared.findings), false);
    let tally = Tally::of(&compared.findings).words();
    let figures = document::headed(compare::metrics(compared, false), ["figure", "base", "new"]);
    joined([
        format!("**{}** – {}\n", text(&word), text(&tally)),
        sections(|page| compare::both(compared, page)),
        tabulated(figures),
        sections(|page| compare::rests(compared, all, page)),
    ])
}

/// The table of one or two factors.
pub fn pivot(of: &Pivot) -> String {
    joined([format!("## {}\n", text(&title(of))), cells(of)])
}

/// The figures of one plan from run to run: a row for each change.
pub fn history(of: &History) -> String {
    let unfit = match of.unfit() {
        words if words.is_empty() => words,
        words => format!("{}\n", text(&words)),
    };
    joined([
        format!("## {}\n", text(&of.title())),
        unfit,
        tabulated(of.table()),
    ])
}

/// A list.
pub fn list(items: &[String]) -> String {
    let items = items.iter().map(|item| format!("- {}\n", text(item)));
    items.collect()
}

/// A table of factors without its title.
fn cells(of: &Pivot) -> String {
    let count = of.columns.as_ref().map_or(1, |(_, levels)| levels.len());
    let mut columns = vec![(of.rows.0.clone(), false)];
    columns.extend((0..count).map(|column| {
        let name = match &of.columns {
            Some(_) => of.head(column),
            None => of.figure.clone(),
        };
        (name, true)
    }));
    let filled = texts(of);
    let cell = |row: usize, column: usize| {
        let mut all = filled.iter();
        match all.find(|cell| cell.row == row && cell.column == column) {
            None => "no run".to_owned(),
            Some(cell) => {
                let lines: Vec<&str> = cell.lines.iter().map(|(_, line)| line.as_str()).collect();
                lines.join("\n")
            }
        }
    };
    let rows = of.rows.1.iter().enumerate().map(|(row, level)| {
        let mut line = vec![level.clone()];
        line.extend((0..count).map(|column| cell(row, column)));
        line
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let below = |words: &str| format!("{}\n", text(words));
    joined([
        table(&columns, &rows),
        of.pooled.as_deref().map(below).unwrap_or_default(),
        below(&legend(of)),
    ])
}
