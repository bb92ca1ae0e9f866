//! The phases of a sequence side by side.

use dyno_core::finding::Verdict;
use dyno_core::summary::RunSummary;

use super::look::{Ink, Look};
use super::page::Page;
use super::table::{Align, Table};
use crate::number::{latency, length, percent, rate};

/// A role that achieves less than this share of its requested rate is marked.
const ACHIEVED: f64 = 0.95;

/// A line for each phase, an empty line first and a line end last.
pub fn phases(runs: &[RunSummary], look: &Look) -> String {
    let mut table = Table::new(&[
        ("phase", Align::Left),
        ("length", Align::Right),
        ("rate", Align::Right),
        ("", Align::Whole),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("verdict", Align::Whole),
    ]);
    runs.iter().for_each(|run| table.row(row(run)));
    let mut page = Page::new(*look);
    for run in runs {
        let name = run.phase.as_ref().map_or("", |phase| phase.name.as_str());
        let late = run.roles.iter().filter_map(|role| {
            let share = role.achieved_share().filter(|share| *share < ACHIEVED)?;
            let share = percent(share);
            Some(format!(
                "{name}: {} did {share} of what was asked",
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

fn row(run: &RunSummary) -> Vec<(Ink, String)> {
    let phase = run.phase.as_ref();
    let per_s = phase.map_or(run.rates.events_per_s, |p| p.rate(run.rates.events_per_s));
    let unit = phase.map_or("events", |phase| phase.unit.as_str());
    let latencies = run.latency();
    let known = |ms: Option<f64>| (Ink::Plain, ms.map_or_else(|| "–".to_owned(), latency));
    let verdict = match run.verdict {
        Some(Verdict::Refused) => (Ink::Error, "refused"),
        Some(Verdict::Doubtful) => (Ink::Warning, "doubtful"),
        Some(Verdict::Valid) => (Ink::Good, "valid"),
        None => (Ink::Faint, "–"),
    };
    vec![
        (
            Ink::Strong,
            phase.map_or_else(String::new, |phase| phase.name.clone()),
        ),
        (Ink::Plain, length(run.measured_s)),
        (Ink::Plain, rate(per_s)),
        (Ink::Plain, format!("{unit}/s")),
        known(latencies.percentile_ms(99.0)),
        known(latencies.longest_ms()),
        (verdict.0, verdict.1.to_owned()),
    ]
}
