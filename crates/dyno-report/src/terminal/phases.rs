//! The phases of a sequence side by side.

use dyno_core::summary::RunSummary;

use super::look::{Ink, Look};
use super::page::Page;
use crate::document::{Table, Value};
use crate::number::{length, percent};

/// A role that achieves less than this share of its requested rate is marked.
const ACHIEVED: f64 = 0.95;

/// A line for each phase, an empty line first and a line end last.
pub fn phases(runs: &[RunSummary], look: &Look) -> String {
    let table = Table::of(runs)
        .text("phase", 0, |run| (Ink::Strong, name(run).to_owned()))
        .figure("length", 0, |run| length(run.measured_s))
        .figure("rate", 0, |run| {
            let per_s = run.rates.events_per_s;
            Value::Rate(run.phase.as_ref().map_or(per_s, |phase| phase.rate(per_s)))
        })
        .word("", 0, |run| {
            let unit = run
                .phase
                .as_ref()
                .map_or("events", |phase| phase.unit.as_str());
            format!("{unit}/s")
        })
        .percentile(99.0, 0, RunSummary::latency)
        .longest(0, RunSummary::latency)
        .word("verdict", 0, |run| run.verdict)
        .source("");
    let mut page = Page::new(*look);
    for run in runs {
        let late = run.roles.iter().filter_map(|role| {
            let share = role.achieved_share().filter(|share| *share < ACHIEVED)?;
            let share = percent(share);
            Some(format!(
                "{}: {} did {share} of the requested work",
                name(run),
                role.name
            ))
        });
        late.for_each(|text| page.row("", Ink::Warning, &text));
    }
    if let Some(phase) = runs.first().and_then(|run| run.phase.as_ref()) {
        page.row("sequence", Ink::Plain, &phase.sequence);
    }
    format!("\n{}\n{}", table.finish(look), page.finish())
}

fn name(run: &RunSummary) -> &str {
    run.phase.as_ref().map_or("", |phase| phase.name.as_str())
}
